"""The kill matrix: which family of rules catches which faulty framework, and at what cost.

`python -m evaluation.kill_matrix` runs the suite on every mutant, handmade or generated, compares it with the tools
that people use today (`evaluation.baselines`), and writes `docs/results/matrix.md`.
"""
