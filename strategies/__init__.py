"""Hypothesis strategies for programs and for the situations that rules are about. Every drawn program is valid."""
