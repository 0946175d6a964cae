"""The pages of `docs/results/`, made from tables and runs."""
