"""The fourth set: forty faults, by one author."""
