"""From a broken rule to the record that tells of it."""
