"""Failures that a run found and did not finish explaining."""
