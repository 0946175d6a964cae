"""Confirming a failure: its program runs again in a fresh process, within the time that is left."""
