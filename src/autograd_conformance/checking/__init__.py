"""Runs programs on a framework and judges the outcomes: the framework and settings of a process, the check of one
program, the audit (which runs each op alone before the tests), and the budget of programs or seconds.
"""
