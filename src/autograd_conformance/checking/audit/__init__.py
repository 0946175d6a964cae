"""Ops that are wrong by themselves, found before the tests begin."""
