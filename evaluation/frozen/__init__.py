"""Frozen judgements: programs with the suite's judgements, stored to compare them after a change that must not alter
any.
"""
