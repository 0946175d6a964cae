"""Measurements of the suite: mutants, fresh faults, the kill matrix, baselines, benchmarks, frozen judgements."""
