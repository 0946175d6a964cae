"""Known differences: what a framework is known to do otherwise, as data beside its adapter, with the reason and a link.

A difference that is listed is reported, not failed; an entry that a run no longer sees is reported as stale.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from autograd_conformance.harness.places import PACKAGE
from autograd_conformance.ops.catalogue import APPLIED, VOCABULARY
from autograd_conformance.ops.tables import VIEWS
from autograd_conformance.programs.language import Apply, Instruction, Leaf, Program, Step
from autograd_conformance.programs.observations import Kind
from autograd_conformance.programs.operands import grouped
from autograd_conformance.programs.text import parse
from autograd_conformance.programs.validation import MalformedProgram
from autograd_conformance.reports.renamed import current_slug
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.judge.due import DueReturn
from autograd_conformance.rules.judge.observed import OtherGradient, RaisedError
from autograd_conformance.rules.judge.violation import Allowed, Violation

FOLDER = PACKAGE / "frameworks" / "known"


class MalformedExpectations(Exception):
    """An expectations file that cannot be used; the message names the file and the entry."""


@dataclass(frozen=True, slots=True)
class Known:
    """One known difference. Every condition that it names has to hold: anything else is a failure."""

    rule: str
    """The rule that the framework breaks, or a general one of which that is a special case."""
    op: str | None
    """The op that it is about; none: the rule as such."""
    reason: str
    """Why the framework differs."""
    witness: Program
    """A program that shows it: each run tries it, and an entry whose witness no longer does is stale."""
    link: str | None = None
    """Where it is discussed."""
    relative: float | None = None
    """Values are off by no more than this part of the largest value that is due."""
    absolute: float = 0.0
    """Values may be off by this much more."""
    elements: int | None = None
    """The difference is about a leaf of that many elements."""
    nan: bool = False
    """Values that are no numbers were seen."""
    zero: int | None = None
    """This operand of the op may hold a zero: it is a leaf that does, or computed."""
    views: bool = False
    """The op makes a view, or, where the failing instruction applies no op, some op of the program does."""
    raised: str | None = None
    """The kind of the error that was raised."""
    message: str | None = None
    """The message of the exception that was raised has that in it."""
    after: str | None = None
    """That op, or such a step, stands before."""
    step: str | None = None
    """The failing instruction is the step of an optimizer with these settings, as the text form writes them."""


ALWAYS = ("rule", "op", "reason", "witness")
"""What every entry says; the rest are conditions and a link."""


def known(framework: str, folder: Path = FOLDER) -> tuple[Known, ...]:
    """The known differences of a framework; none where it has no expectations file."""
    path = folder / f"{framework}.toml"
    return read(path) if path.exists() else ()


def read(path: Path) -> tuple[Known, ...]:
    """The known differences in a file; `MalformedExpectations` where it cannot be read or says what makes no sense."""
    try:
        found = tuple(_entry(form) for form in tomllib.loads(path.read_text(encoding="utf-8")).get("known", []))
    except OSError as error:
        raise MalformedExpectations(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MalformedExpectations(f"{path.name}: {error}") from error
    except MalformedProgram as error:
        raise MalformedExpectations(f"{path.name}: a witness is malformed: {error}") from error
    except (KeyError, TypeError) as error:
        needs = "every [[known]] needs rule, reason and witness"
        raise MalformedExpectations(f"{path.name}: {needs}; {error} is missing") from error
    for entry in found:
        if entry.rule not in RULES:
            raise MalformedExpectations(f"{path.name}: there is no rule {entry.rule!r}")
        if entry.op is not None and entry.op not in APPLIED:
            raise MalformedExpectations(f"{path.name}: there is no op {entry.op!r}")
    return found


def _entry(form: dict[str, Any]) -> Known:
    witness = parse(form["witness"], VOCABULARY)
    conditions = {f.name: form[f.name] for f in fields(Known) if f.name in form and f.name not in ALWAYS}
    return Known(current_slug(form["rule"]), form.get("op"), form["reason"], witness, **conditions)


MOVING = (
    "optimizers/formula", "optimizers/groups", "optimizers/skips", "optimizers/remembers", "optimizers/variants",
)  # fmt: skip
"""The rules that say where a step moves a leaf to."""


def is_known(entry: Known, program: Program, violation: Violation) -> bool:
    """Whether a violation is the difference that an entry lists."""
    ops = {violation.op} if violation.op else {step.op for step in program if isinstance(step, Apply)}
    if entry.rule not in (violation.rule, _general(entry, violation)) or entry.op not in (None, *ops):
        return False
    if entry.elements is not None:
        leaf = None if violation.subject is None else program[violation.subject.at]
        if not isinstance(leaf, Leaf) or len(leaf.value.data) != entry.elements:
            return False
    if entry.nan and (violation.got is None or not np.isnan(violation.got).any()):
        return False
    if entry.zero is not None and not _may_be_zero(program, entry.op, entry.zero):
        return False
    raised = violation.observed if isinstance(violation.observed, RaisedError) else None
    if entry.raised is not None and (raised is None or raised.kind.value != entry.raised):
        return False
    if entry.message is not None and (raised is None or entry.message not in raised.message):
        return False
    if entry.after is not None and not _stands_before(program, violation.at, entry.after):
        return False
    if entry.views and not _views(program, violation.at):
        return False
    if entry.step is not None and not _is_step(program[violation.at], entry.step):
        return False
    if entry.relative is None:
        return True
    if violation.got is None or violation.want is None:
        return False
    allowed = entry.relative * np.abs(violation.want).max() + entry.absolute
    return bool(np.abs(violation.got - violation.want).max() <= allowed)


def _general(entry: Known, violation: Violation) -> str | None:
    """The general rule of which the broken one is a special case: that a legal call returns, where the entry says which
    error it raises instead; that gradients are right, where it says which op's are not; where a step moves leaves to,
    where it says which step's.
    """
    if entry.step and violation.rule in MOVING:
        return entry.rule if entry.rule in MOVING else None
    observed = violation.observed
    unheard = entry.message and isinstance(observed, RaisedError) and observed.kind is Kind.UNKNOWN
    if unheard or (Allowed(DueReturn(), violation.rule) in violation.allowed and (entry.message or entry.raised)):
        return "errors/legal-returns"
    return "gradients/graph" if entry.op and isinstance(observed, OtherGradient) else None


def _may_be_zero(program: Program, op: str | None, operand: int) -> bool:
    """Whether an operand of one of an op's uses may hold a zero: a leaf that does, or something computed."""
    uses = (step.args[operand] for step in program if isinstance(step, Apply) and step.op == op)
    made = (program[ref.at] for ref in uses)
    return any(not isinstance(step, Leaf) or 0 in step.value.data for step in made)


def _stands_before(program: Program, at: int, what: str) -> bool:
    """Whether an op, or a step as `_is_step` describes it, stands before an instruction."""
    before = program.instructions[:at]
    return any((isinstance(step, Apply) and step.op == what) or _is_step(step, what) for step in before)


def _is_step(step: Instruction, described: str) -> bool:
    """Whether an instruction is the step of an optimizer that has all of some settings, for one of its leaves;
    `own:lr` stands for a parameter group with an lr of its own.
    """
    optimizer, *settings = described.split()
    if not isinstance(step, Step) or step.optimizer != optimizer:
        return False
    owned = {f"own:{key}" for _, own in step.groups for key, _ in own}
    return any(owned.union(f"{key}={value!r}" for key, value in all_).issuperset(settings) for _, all_ in grouped(step))


def _views(program: Program, at: int) -> bool:
    """Whether instruction `at` makes a view, or, where it applies no op, any other does."""
    steps = (program[at],) if isinstance(program[at], Apply) else program
    return any(isinstance(step, Apply) and step.op in VIEWS for step in steps)
