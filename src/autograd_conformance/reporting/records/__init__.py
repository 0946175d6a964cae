"""Records: the typed values that a run writes, and their JSON form."""
