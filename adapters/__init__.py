"""Adapters for frameworks other than PyTorch, one folder each."""
