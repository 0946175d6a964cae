"""Drafts (programs under construction), and the parts of a draft: choices, the script so far, operands, ops, writes and
actions.
"""
