"""The audit: runs each op alone before the tests begin, and finds the ops that violate a rule."""
