"""Builds programs: drafts, the random choices they are drawn with, and the alphabet of the framework under test."""
