"""What people use today, on the same faults: gradcheck, gradgradcheck, PyTorch's own samples, and two fuzzers.

Each baseline is a list of cases that runs on any mutant (`evaluation.baselines.cases`).
`evaluation.baselines.comparison` runs them within a budget of CPU time, and `evaluation.kill_matrix` writes what they
found beside what the suite found.
"""
