"""Names of the pytest user properties with which a test sends records and counts to the controlling process."""

from __future__ import annotations

from typing import Final

from autograd_conformance.plugin.run_plan import PLAN

PROPERTY = "conformance"
"""Name of the property that contains a record of the report, such as a result or a failure."""

TALLY = "conformance tally"
"""Name of the property that contains the counts of a test, which are added up over all tests."""

ADAPTER = "conformance adapter error"
"""Name of the property that contains the message of an error of the adapter, which ends the run."""

UNDECIDED: Final = "cannot be told"
"""Verdict in records if a failure may be the framework's or not, such as a process that something else may have
killed.
"""
UNWRITABLE = "conformance unwritable"
"""Name of the property that contains the path of a file of the report that the test's process could not write, and
why."""

SENT = frozenset((PROPERTY, TALLY, ADAPTER, UNWRITABLE, PLAN))
"""Names of all properties that a test sends to the controlling process."""
