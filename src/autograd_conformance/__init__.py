"""A conformance suite for reverse-mode automatic differentiation."""
