"""Runs programs on a framework: by instruction, by region, or as functions for a functional framework."""
