"""Running a failing program again, in isolation and within the time that is left."""
