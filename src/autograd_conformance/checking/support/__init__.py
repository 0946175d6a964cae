"""The support that a framework claims: the ops and dtypes to draw programs from, the unsupported parts of a program,
and the functions that the framework compiles for it.
"""
