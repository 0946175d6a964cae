"""Files as users have them: replay files, record files and known differences of an earlier version, read as they were."""
