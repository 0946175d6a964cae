"""Tests of the adapters for PyTorch and its modes."""
