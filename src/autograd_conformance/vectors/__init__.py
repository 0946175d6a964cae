"""Test vectors: programs with the expected numbers as data, which a runner in any language runs without Python."""
