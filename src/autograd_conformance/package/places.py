"""Paths of the suite's files, in a checkout and in an installed package."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
"""Folder of the package."""

ROOT = PACKAGE.parents[1]
"""Root folder of the checkout, which has `docs/`. Meaningless if the package was installed from a wheel."""

SUITES = (PACKAGE / "suites").resolve()
"""Folder of the tests that run against a framework."""

PLUGIN = "autograd_conformance.plugin.hooks"
"""The module that pytest loads as the suite's plugin."""
