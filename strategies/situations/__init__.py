"""One strategy for each situation that a rule is about: what makes the rule bite is built in, the rest is drawn.

A situation is a few lines that call a builder. Ops, shapes, values, depths and the noise between the calls vary; that
backward was called on the root before, that the graph was retained, that two leaves are equal, does not.
"""
