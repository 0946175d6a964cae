"""What a framework supports: the alphabet of its programs, unsupported parts of a program, compiled regions."""
