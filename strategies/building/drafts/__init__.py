"""Programs under construction: a draft, with its script so far, operands, ops, writes and actions."""
