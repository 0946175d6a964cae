"""Hypothesis strategies that draw programs: for each rule, programs that test it, and networks, training loops and
random programs. Every drawn program is valid.
"""
