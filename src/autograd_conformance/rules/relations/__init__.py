"""Relations: pairs of programs that must agree with each other, so that no reference is needed."""
