"""Adapters with one fault or bug each, for tests of the command line: the worked example with one change."""
