"""One module per family of rules: draw a program that brings a rule's situation about, run it, judge it."""
