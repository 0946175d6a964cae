"""The outcomes that the rules allow for each instruction, computed from the state of the tape."""
