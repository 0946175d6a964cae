"""Campaigns: a plan of many runs, each a shard of its own, on the processes of one machine or of many."""
