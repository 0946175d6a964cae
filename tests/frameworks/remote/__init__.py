"""Tests of frameworks in other processes."""
