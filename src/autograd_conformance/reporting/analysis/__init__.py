"""Conclusions from the records of a run: verdicts, causes of failures, known differences and coverage."""
