"""Baselines: the tools that people use today, run on the same faults (gradcheck, gradgradcheck, OpInfo, two fuzzers).

Each baseline is a sequence of cases that run on any mutant (`evaluation.baselines.cases`).
`evaluation.baselines.comparison` runs them within a budget of CPU time, and `evaluation.kill_matrix` publishes their
results beside those of the suite.
"""
