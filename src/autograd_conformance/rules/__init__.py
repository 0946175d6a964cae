"""What may happen: the rule catalogue, the judge, diagnosis, relations, explanations."""
