"""Benchmarks: programs checked per second and the share of each stage. No test depends on these times."""
