"""Runs after runs: many programs, one report."""
