"""The audit: finds ops that violate a rule on their own, before the tests begin."""
