"""Tests of adapters for frameworks other than PyTorch. A test is skipped if its framework is not installed."""
