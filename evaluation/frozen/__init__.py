"""Frozen behaviour: programs, and all that the suite says of them, kept to be compared after a change that must change
nothing.
"""
