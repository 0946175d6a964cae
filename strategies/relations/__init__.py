"""Pairs of programs that must agree."""
