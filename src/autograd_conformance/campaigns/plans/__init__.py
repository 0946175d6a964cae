"""Reads the plans of campaigns from TOML files."""
