"""Tests of searches on a cluster."""
