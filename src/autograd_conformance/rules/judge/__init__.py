"""The judge: compares an observation with the outcomes that the rules allow."""
