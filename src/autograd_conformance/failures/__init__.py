"""From a violation to the failure record that explains it."""
