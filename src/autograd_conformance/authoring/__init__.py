"""Commands for the author of an adapter: `probe`, `check` and `new-adapter`."""
