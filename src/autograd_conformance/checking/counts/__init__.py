"""Counts that tests collect beside their records: pair coverage, known differences, choices, remarks for the adapter's
author.
"""
