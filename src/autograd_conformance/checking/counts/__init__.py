"""Counts that tests collect beside their records: pairs of ops and later instructions, programs with known differences,
chosen outcomes, and remarks for the adapter's author.
"""
