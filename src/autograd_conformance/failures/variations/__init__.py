"""Changed versions of a failing program that locate its fault: the first similar program that passes, and the ops
without which the failure disappears.
"""
