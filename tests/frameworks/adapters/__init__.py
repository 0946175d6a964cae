"""Adapters that misbehave, one way each, for the tests of the command line: the worked example, one thing changed."""
