"""Situations: one strategy for each precondition of a rule. The precondition is fixed and everything else is drawn.

A situation is a few lines that call a builder. Ops, shapes, values, depths and unrelated instructions between the calls
vary. The precondition does not: that backward was called on the root before, that the graph was retained, that two
leaves are equal.
"""
