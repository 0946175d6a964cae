"""Names of the pytest user properties with which a test sends records and counts to the controlling process."""

from __future__ import annotations

from typing import Final

from autograd_conformance.plugin.run_plan import PLAN

PROPERTY = "conformance"
"""A record of the report, such as a result or a failure."""

TALLY = "conformance tally"
"""The counts of a test, which are added up over all tests."""

ADAPTER = "conformance adapter error"
"""An error of the adapter, which ends the run."""

UNDECIDED: Final = "cannot be told"
"""Verdict in records if a failure may be the framework's or not, such as a process that something else may have
killed.
"""
UNWRITABLE = "conformance unwritable"
"""A file of the report that the test's process could not write."""

SENT = frozenset((PROPERTY, TALLY, ADAPTER, UNWRITABLE, PLAN))
"""Names of all properties that a test sends to the controlling process."""
