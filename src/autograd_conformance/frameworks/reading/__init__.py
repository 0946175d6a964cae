"""Reads values from a framework; every return value of an adapter is validated here, once."""
