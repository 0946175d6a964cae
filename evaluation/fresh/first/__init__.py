"""The first set: eighty-four faults, by two authors."""
