"""Where the suite lies, in a checkout or where it was installed."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of the package."""

SUITES = PACKAGE / "suites"
"""The tests that are run against a framework."""
