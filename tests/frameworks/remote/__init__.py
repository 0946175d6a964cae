"""Tests of frameworks in server processes."""
