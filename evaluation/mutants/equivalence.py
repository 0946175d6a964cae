"""`python -m evaluation.mutants.equivalence`: finds the generated mutants that are equivalent to PyTorch.

Each pair of op and kind runs beside PyTorch on sample programs, and the equivalent ones are written to `equivalent.py`.

A mutant whose gradients never differ is equivalent. The programs are drawn as the audit draws its own, with other
seeds, so that what is kept was not chosen by what the audit will find.
"""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from autograd_conformance.checking.audit import corners
from autograd_conformance.checking.audit import programs as audit
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.ops.rows.row import choices_of
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import DTYPES, Apply, Backward, Program, Ref
from autograd_conformance.programs.observations import Gradient
from evaluation.mutants import generated

TRIES = range(1000, 1120)
"""Seeds of the programs; the audit's begin at zero."""

AGAIN = range(1000, 1006)
"""Seeds of those that differentiate twice, which take longer."""

APART = {"float64": 1e-8, "float32": 2e-5}
"""Relative differences that are no rounding."""

HEAD = '''"""Generated mutants that are equivalent to PyTorch: made by `evaluation.mutants.equivalence`, not by
hand."""

OPS_OF: dict[str, str] = {'''


CORNERS = frozenset({"strided", "expanded", "shifted", "turned", "tile"})
"""The kinds that show in how values lie in memory, and in how long they are."""


@lru_cache(maxsize=2)
def programs(op: str, kind: str) -> tuple[Program, ...]:
    """The programs that an op is tried on."""
    match kind:
        case "bent":
            return tuple(_drawn(op, True))
        case "short":
            return tuple(map(_full, _drawn(op, False)))
        case "remembered":
            return tuple(_twice(op))
        case _ if kind in CORNERS:
            return (*corners.programs(op, ("float64", "float32")), *_drawn(op, False))
        case _:
            return tuple(_drawn(op, False))


def _full(program: Program) -> Program:
    """A program whose cotangents need every digit."""
    call = program[-1]
    assert isinstance(call, Backward)
    thirds = [
        replace(c, data=tuple(np.asarray(np.array(c.data) / 3, c.dtype).tolist())) if c else None
        for c in call.cotangents
    ]
    return Program((*program.instructions[:-1], replace(call, cotangents=tuple(thirds))))


def _twice(op: str) -> Iterator[Program]:
    """Programs of an op on the same operands with two choices of attributes, of which the second is differentiated."""
    row = OPS[op]
    for seed in TRIES:
        sampler = audit.Sampler(seed, "float64")
        made = sampler.op(op, fresh=True)
        step = sampler.reference.steps[made[0].at]
        if not isinstance(step, Apply) or step.op != op:
            continue
        operands = tuple(sampler.shape(r) for r in step.args)
        others = [attrs for attrs in choices_of(row, operands) if attrs != step.attrs]
        if others:
            again = sampler.checked(row, step.args, others[seed % len(others)])
            program = audit.called(sampler, again, op)
            if program is not None:
                yield program


def _drawn(op: str, twice: bool) -> Iterator[Program]:
    for dtype in DTYPES[::-1]:
        for seed in AGAIN if twice else TRIES:
            program = audit.curvature(op, seed, dtype, bool(seed % 2)) if twice else audit.sample(op, seed, dtype)
            if program is not None:
                yield program


def is_equivalent(name: str) -> bool:
    """Whether a mutant's gradients are PyTorch's on every program that it is tried on."""
    return witness(name, programs(*generated.candidates()[name])) is None


def witness(name: str, tried: tuple[Program, ...]) -> Program | None:
    """The first program on which a mutant's gradients are not PyTorch's."""
    mutant, torch = generated.GENERATED[name](), Torch()
    return next((program for program in tried if differ(program, mutant, torch)), None)


def differ(program: Program, one: Torch, other: Torch) -> bool:
    """Whether two frameworks end a program with gradients that differ by more than rounding."""
    seen, right = run(program, one)[-1], run(program, other)[-1]
    assert type(seen.outcome) is type(right.outcome), f"{one.name} was to be wrong in gradients alone: {seen.outcome}"
    mine, theirs = seen.gradients, right.gradients
    return any(_apart(mine[ref], theirs[ref]) for ref in theirs if _is_leaf(program, ref))


def _is_leaf(program: Program, ref: Ref) -> bool:
    return ref in program.leaves


def _apart(mine: Gradient | None, theirs: Gradient | None) -> bool:
    if mine is None or theirs is None:
        return mine is not theirs
    if not np.isfinite(theirs.value).all():
        return False
    scale = np.abs(theirs.value).max(initial=0.0)
    return mine.value.shape != theirs.value.shape or bool(
        not np.allclose(mine.value, theirs.value, rtol=0, atol=APART[theirs.dtype] * max(scale, 1e-3))
    )


def main() -> int:
    """Try every pair and write the equivalent ones down; 0."""
    equivalent: dict[str, list[str]] = {}
    tried = Counter(kind for _, kind in generated.candidates().values())
    for name, (op, kind) in generated.candidates().items():
        if is_equivalent(name):
            equivalent.setdefault(kind, []).append(op)
    Path(__file__).with_name("equivalent.py").write_text(written(equivalent), encoding="utf-8")
    for kind, count in tried.items():
        print(f"{kind}: {count} tried, {len(equivalent.get(kind, ()))} equivalent")
    print(f"{sum(tried.values())} tried, {sum(map(len, equivalent.values()))} equivalent")
    return 0


def written(equivalent: dict[str, list[str]]) -> str:
    """The module that holds the equivalent pairs."""
    lines = [HEAD]
    for kind, ops in equivalent.items():
        wrapped = textwrap.wrap(" ".join(ops), 110)
        lines += [f'    "{kind}": """', *(f"        {line}" for line in wrapped), '    """,']
    return "\n".join([*lines, "}", '"""Op names by kind."""', ""])


if __name__ == "__main__":
    sys.exit(main())
