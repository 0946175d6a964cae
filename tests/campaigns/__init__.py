"""Campaigns: plans, stored records, and killed processes."""
