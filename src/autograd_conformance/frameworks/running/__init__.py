"""Running a program on a framework: instruction by instruction, by regions, or as functions."""
