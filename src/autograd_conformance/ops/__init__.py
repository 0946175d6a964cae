"""Tables with one row per op, in-place form, module, random op and optimizer."""
