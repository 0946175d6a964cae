"""Names of the user properties with which a test sends records and counts to the controlling process."""

from __future__ import annotations

from typing import Final

from autograd_conformance.plugin.run_plan import PLAN

PROPERTY = "conformance"
"""Records."""

TALLY = "conformance tally"
"""Counts."""

ADAPTER = "conformance adapter error"
"""An error of the adapter, which ends the run."""

UNDECIDED: Final = "cannot be told"
"""Verdict, as published in records, if a failure may not be the framework's."""
UNWRITABLE = "conformance unwritable"
"""A file of the report that the test's process could not write."""

SENT = frozenset((PROPERTY, TALLY, ADAPTER, UNWRITABLE, PLAN))
"""All properties that a test sends to the controlling process."""
