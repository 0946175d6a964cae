"""Runs programs on a framework and judges them: a session, the check of one program, the audit of ops, the budget."""
