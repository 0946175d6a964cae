"""The model of the tape: for each instruction, the outcomes that the rules allow."""
