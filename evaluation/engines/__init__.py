"""Mutants of whole autograd engines: changes to their source text that a tool makes, not a person."""
