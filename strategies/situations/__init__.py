"""Situations: Hypothesis strategies, each of which draws programs for one rule, such as a second backward call on a
freed graph.

A situation fixes the precondition of its rule: that backward was called on the root before, that the graph was
retained, that two leaves are equal. Ops, shapes, values, depths and unrelated instructions are drawn.
"""
