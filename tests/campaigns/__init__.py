"""Campaigns: plans, what is kept, and what is lost when processes are killed."""
