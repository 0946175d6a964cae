"""Reading values from a framework: each answer of an adapter is validated once, here."""
