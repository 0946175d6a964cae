"""Runs the plan of a campaign: its schedule, its progress, its events and its results."""
