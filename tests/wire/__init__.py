"""Files as users have them: replays, records and known differences of an earlier version, read as they were."""
