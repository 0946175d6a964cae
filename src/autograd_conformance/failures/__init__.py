"""Failures: a violation of a rule is reduced, explained, run again in a fresh process, and written as a failure
record.
"""
