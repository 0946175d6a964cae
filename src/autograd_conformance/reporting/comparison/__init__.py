"""Comparison of runs: changes between two runs, and the history of a framework over many."""
