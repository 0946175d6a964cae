"""Facts about instructions of programs, and which facts occur together: the measure of what drawn programs cover."""
