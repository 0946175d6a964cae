"""The parts of the reference: tape, storages, pullbacks, `.grad` and in-place writes. Each builds on the one before."""
