"""The checks of the judge: one module for each kind of effect that an instruction can have."""
