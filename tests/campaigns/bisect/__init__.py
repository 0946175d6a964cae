"""In which version a finding began: the search, what is looked for, and whole commands."""
