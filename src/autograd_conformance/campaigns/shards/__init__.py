"""Shards: runs with one seed each, and the series that they belong to."""
