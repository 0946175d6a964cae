"""The rules: the catalogue, the judge, violations, diagnoses, relations between programs, and explanations."""
