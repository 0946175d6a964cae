"""Plans of campaigns, read from a TOML file."""
