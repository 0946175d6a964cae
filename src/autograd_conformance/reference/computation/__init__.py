"""The parts of the reference: tape, storages, pullbacks, `.grad` and in-place writes."""
