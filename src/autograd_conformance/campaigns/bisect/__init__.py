"""Bisecting: finds the framework version in which a finding (a program that breaks a rule) began or ended, by running
its program in several versions.
"""
