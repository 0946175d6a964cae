"""In-place forms of ops: methods, and assignments to parts."""
