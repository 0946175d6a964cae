"""Commands that write pages of `docs/` from tables and published runs."""
