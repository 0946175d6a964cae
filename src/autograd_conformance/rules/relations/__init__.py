"""Two programs that must agree, whatever the right answer is."""
