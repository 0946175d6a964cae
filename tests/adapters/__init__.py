"""Tests of adapters for frameworks other than PyTorch; a test is skipped where its framework is not installed."""
