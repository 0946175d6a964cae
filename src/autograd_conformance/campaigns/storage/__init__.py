"""The storage of a campaign: files that are created once, in a folder or an object store."""
