"""The record of a run: what tests send, written to the report's folder as the run proceeds."""
