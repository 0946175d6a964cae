"""Bisecting: finds the framework version in which a finding began or ended, by running its program in several
versions.
"""
