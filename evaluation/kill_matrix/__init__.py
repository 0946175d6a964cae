"""The kill matrix: which family of rules catches which faulty framework, and what that takes.

`python -m evaluation.kill_matrix` tries to kill every mutant, made by hand or generated, runs what people use today
beside it (`evaluation.baselines`), and writes `docs/results/matrix.md`.
"""
