"""Failures of frameworks, as cases."""

from __future__ import annotations

from autograd_conformance.checking.check import first_violation
from autograd_conformance.failures.case import Case
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse


def failing(framework: Torch, text: str) -> Case:
    """The failure of a framework on a program."""
    program, target = parse(text, VOCABULARY), InProcess(framework)
    observation = target.observe(program)
    violation = first_violation(program, observation, target)
    assert violation is not None
    return Case(program, observation, violation, target)
