"""Plans of campaigns: what is to run, read from a TOML file."""
