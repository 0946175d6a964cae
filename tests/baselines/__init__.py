"""What people use today, on the same faults: gradcheck, gradgradcheck, PyTorch's own samples, and two fuzzers.

Each rival is a list of cases that runs on any member of the zoo (`tests.baselines.cases`); `tests.baselines.race`
runs them within a budget of CPU time, and `tests.kill_matrix` writes down what they found beside what the suite
found.
"""
