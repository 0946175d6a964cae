"""Changed versions of a failing program that locate its fault: the nearest version that passes, and the ops without
which the failure disappears.
"""
