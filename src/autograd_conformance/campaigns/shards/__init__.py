"""Shards: one run of one seed each, and the series that they belong to."""
