"""Adapters for frameworks other than PyTorch: one folder for each framework."""
