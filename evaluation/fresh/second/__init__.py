"""The second set: forty faults, by one author."""
