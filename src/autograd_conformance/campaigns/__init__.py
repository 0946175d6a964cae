"""Campaigns: many runs, planned in a file and run as shards on one machine or a cluster; and bisecting."""
