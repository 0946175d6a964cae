"""The reference: computes every value and gradient of a program with JAX's definitions, independent of any framework
under test.
"""
