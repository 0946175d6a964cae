"""Refuses a run whose adapter has faults that can be found without running a program."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import pytest

from autograd_conformance.checking.session import Session
from autograd_conformance.checking.soundness.printed_code import Problem, problems
from autograd_conformance.reporting.analysis.verdicts import ADAPTER_ERROR
from autograd_conformance.reporting.prose import counted

SHOWN = 8
"""Largest number of faults that the message lists."""


def refuse_if_unsound(config: pytest.Config, session: Session) -> None:
    """Ends the run before it begins if the adapter's templates are empty or make no code, with a list of them."""
    found = list(problems(session.framework.target))
    if found:
        name, python = config.option.framework, config.option.framework_python
        given = [name] if python is None else [name, "--framework-python", python]
        pytest.exit(f"adapter error: {refusal(session.framework.target.name, given, found)}", returncode=ADAPTER_ERROR)


def refusal(name: str, given: Sequence[str], found: Sequence[Problem]) -> str:
    """Returns the message: the faults, and the command that shows more. `given` names the framework on a command
    line.
    """
    lines = [f"{name}: the run does not start, because its adapter has {counted(len(found), 'fault')}:"]
    lines += [f"- {each.about}: {each.text}" for each in found[:SHOWN]]
    lines += [f"- and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return "\n".join([*lines, f"To see more, type: autograd-conformance check {shlex.join(given)}"])
