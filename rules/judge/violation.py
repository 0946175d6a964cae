"""What the judge answers: the first difference between what was allowed and what was seen, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from autograd_conformance.programs.language import Apply, InPlace, Instruction, Ref


@dataclass(frozen=True, slots=True)
class Violation:
    """The first difference between what was allowed and what was seen.

    `subject` is the value or leaf that it is about, `held` the gradient that it held before, `got` and `want` the
    arrays where two were compared, `bound` how far apart rounding lets them be, `diagnosis` the mistake that would
    explain it, and `partner` the leaf that shares the subject's gradient.
    """

    rule: str
    at: int
    observed: str
    allowed: tuple[tuple[str, str], ...]
    subject: Ref | None = None
    op: str | None = None
    held: np.ndarray | None = None
    got: np.ndarray | None = None
    want: np.ndarray | None = None
    bound: np.ndarray | None = None
    diagnosis: str | None = None
    partner: Ref | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one program: the first violation, if any, and how often each rule was put to the test.

    `unspecified` says that judging ended before the program did, because it went on with something that the rules
    leave open.
    """

    violation: Violation | None
    exercised: Mapping[str, int]
    unspecified: bool = False


def op_of(step: Instruction) -> str | None:
    """The op that an instruction applies, if it does."""
    return step.op if isinstance(step, (Apply, InPlace)) else None
