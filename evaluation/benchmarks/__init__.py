"""Benchmarks: how many programs are checked per second, and where the time goes. Never part of a timed test."""
