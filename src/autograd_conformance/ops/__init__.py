"""The tables: every op, in-place form, module, random op and optimizer, a row each."""
