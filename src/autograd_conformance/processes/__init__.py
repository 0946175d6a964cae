"""Child processes: how they are started, watched, timed out and ended."""
