"""Loads adapters by name, from entry points, and checks that they have what an adapter must have."""
