"""The third set: forty faults, by one author."""
