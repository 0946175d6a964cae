"""Writes the script of a violation in the program in which it was found, without running any program."""

from __future__ import annotations

from autograd_conformance.checking.check import RuleViolated
from autograd_conformance.failures import related as relations
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.listing import listing
from autograd_conformance.failures.script import script


def unreduced_script(broken: RuleViolated) -> str:
    """Returns a script that prints what is observed and what is allowed, or, if the suite fails to write it, one that
    only runs the program.
    """
    try:
        case = Case.of(broken)
        return script(case) if broken.related is None else relations.script(case, runs=False)
    except Exception:  # a bug of the suite: the failure is true all the same
        return listing(broken.program, broken.target, broken.violation.at)
