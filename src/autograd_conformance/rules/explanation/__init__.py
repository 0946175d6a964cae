"""Why the failing line had to do what it did not, and what the lines before have to do with it."""
