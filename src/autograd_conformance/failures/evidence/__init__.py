"""Evidence for a failure: the gradients along the graph of the failing call, and three independent computations of the
wrong gradient.
"""
