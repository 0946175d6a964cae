"""Programs as drawings: a program's JSON form as nodes and edges, laid out, and written as SVG or in words."""
