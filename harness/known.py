"""Known differences: what a framework is known to do otherwise, as data beside its adapter, with the reason and a link.

A difference that is listed is reported, not failed; an entry that a run no longer sees is reported as stale.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograd_conformance.ops.catalogue import APPLIED
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.text import parse
from autograd_conformance.programs.validation import MalformedProgram
from autograd_conformance.rules.catalogue import RULES

FOLDER = Path(__file__).parents[1] / "frameworks" / "known"


class MalformedExpectations(Exception):
    """An expectations file that cannot be used; the message names the file and the entry."""


@dataclass(frozen=True, slots=True)
class Known:
    """One known difference: a rule, the op it is about (None: the rule as such), why, and where it is discussed.

    `witness` is a program that shows it: each run tries it, and an entry whose witness no longer does is stale.

    `relative` limits the entry to values that are off by no more than this part of the largest, and `absolute` more,
    `elements` to leaves of that many elements, `nan` to values that are no numbers, `zero` to ops of which that operand
    may hold a zero: a leaf that does, or something computed, `views` to ops that make views, and, where it is about no
    op, to programs with such ops, `raised` to errors of that kind, `message` to errors whose message has that in it,
    `after` to programs in which that op, or such a step, stands before, `step` to steps of an optimizer with some
    settings, as the text form writes them: anything else is a failure.
    """

    rule: str
    op: str | None
    reason: str
    witness: Program
    link: str | None = None
    relative: float | None = None
    absolute: float = 0.0
    elements: int | None = None
    nan: bool = False
    zero: int | None = None
    views: bool = False
    raised: str | None = None
    message: str | None = None
    after: str | None = None
    step: str | None = None


def known(framework: str, folder: Path = FOLDER) -> tuple[Known, ...]:
    """The known differences of a framework; none where it has no expectations file."""
    path = folder / f"{framework}.toml"
    if not path.exists():
        return ()
    try:
        found = tuple(_entry(form) for form in tomllib.loads(path.read_text(encoding="utf-8")).get("known", []))
    except tomllib.TOMLDecodeError as error:
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
    witness = parse(form["witness"], APPLIED)
    return Known(
        form["rule"],
        form.get("op"),
        form["reason"],
        witness,
        form.get("link"),
        form.get("relative"),
        form.get("absolute", 0.0),
        form.get("elements"),
        form.get("nan", False),
        form.get("zero"),
        form.get("views", False),
        form.get("raised"),
        form.get("message"),
        form.get("after"),
        form.get("step"),
    )
