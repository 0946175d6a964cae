"""Tests of the commands for the author of an adapter."""
