"""The program of a failure as a file that ``--replay`` runs."""

from __future__ import annotations

import json

from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Header


def replay_text(failure: Failure, header: Header) -> str:
    """What the file holds: the program, the rule that it breaks, the framework and the seed that it was found with."""
    framework = {"name": header.framework.name, "version": header.framework.version}
    form = {"rule": failure.rule, "framework": framework, "seed": header.seed, **failure.program}
    return json.dumps(form, indent=1) + "\n"
