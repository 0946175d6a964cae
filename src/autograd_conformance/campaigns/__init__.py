"""Campaigns: many runs, planned in a TOML file and run one seed at a time on one machine or a cluster; and bisecting
findings over versions of a framework.
"""
