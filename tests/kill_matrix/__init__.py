"""The kill matrix: which family of rules catches which faulty framework, and what that takes.

`python -m tests.kill_matrix` tries to kill every mutant, made by hand or generated, runs what people use today
beside it (`tests.baselines`), and writes `docs/results/matrix.md`.
"""
