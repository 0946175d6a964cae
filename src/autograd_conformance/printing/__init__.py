"""Programs as code: in a framework's own words, with the loops that a person would write."""
