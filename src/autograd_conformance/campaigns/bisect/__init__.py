"""In which version of a framework a finding began, or ended: its program is run again in some of them."""
