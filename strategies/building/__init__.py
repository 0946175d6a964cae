"""Programs under construction, and the choices that they are made by."""
