"""Confirming a failure: runs its program again in a fresh process, within the time limit of the run."""
