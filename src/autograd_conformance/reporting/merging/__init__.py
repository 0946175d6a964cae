"""Adds up several runs of one framework into one report, or sorts reports of several runs to show them side by side."""
