"""Programs as source code of a framework, line by line or with loops, as a person would write them."""
