"""Replay files: the program of a failure in the form that ``--replay`` reads."""

from __future__ import annotations

import json

from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Header


def replay_text(failure: Failure, header: Header) -> str:
    """Text of a replay file: JSON with the program, its rule, and the framework and seed of the run."""
    framework = {"name": header.framework.name, "version": header.framework.version}
    form = {"rule": failure.rule, "framework": framework, "seed": header.seed, **failure.program}
    return json.dumps(form, indent=1) + "\n"
