"""Runs programs on a framework and judges them: the session of a process, the check of one program, the audit of ops,
the budget.
"""
