"""The parts that rows of the op tables are made of: the row itself, shapes, domains, dtypes, index selections."""
