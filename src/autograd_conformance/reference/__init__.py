"""The reference: every value and gradient of a program, computed with JAX, independent of any framework under test."""
