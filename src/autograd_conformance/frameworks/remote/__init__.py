"""Frameworks in another process, in any language: one JSON line a program, one an observation (docs/protocol.md)."""
