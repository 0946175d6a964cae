"""The suites: one module for each family of rules. A test draws a program for a rule, runs it and judges the result."""
