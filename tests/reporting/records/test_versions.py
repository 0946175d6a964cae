"""Versions are sorted correctly."""

from __future__ import annotations

from autograd_conformance.reporting.records.versions import place


def test_versions_are_sorted():
    mixed = ["r10 of May", "1.10.0", "1.9.0", "2.13.0", "r9 of May", "1.9.0rc1"]
    assert sorted(mixed, key=place) == ["1.9.0rc1", "1.9.0", "1.10.0", "2.13.0", "r9 of May", "r10 of May"]
