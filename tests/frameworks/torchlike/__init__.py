"""Tests of frameworks with PyTorch's interface."""
