"""Where the suite's files are, in a checkout and in an installed package."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
"""The folder of the package."""

ROOT = PACKAGE.parents[1]
"""The folder of the checkout, which has `docs/`; meaningless where the package was installed from a wheel."""

SUITES = (PACKAGE / "suites").resolve()
"""The tests that run against a framework."""

PLUGIN = "autograd_conformance.plugin.hooks"
"""The module that pytest loads as the suite's plugin."""
