"""Searches for the version in which findings began, each version's verdict a task of its own on a cluster."""
