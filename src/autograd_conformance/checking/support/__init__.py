"""A framework's support of programs: the alphabet to draw from, the unsupported parts of a program, its compiled
regions.
"""
