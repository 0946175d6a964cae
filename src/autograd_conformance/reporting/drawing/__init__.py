"""Drawings of programs: graphs made from a program's JSON form, laid out, and written as SVG or as sentences."""
