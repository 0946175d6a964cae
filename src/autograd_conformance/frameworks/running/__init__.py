"""Runs programs on a framework: instruction by instruction, with several instructions as one function (a region), or as
functions that a functional framework differentiates.
"""
