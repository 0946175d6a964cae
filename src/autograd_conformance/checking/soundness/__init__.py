"""Finds faults of an adapter: in its templates and code before a run, in its methods during the audit."""
