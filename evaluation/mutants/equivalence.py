"""`python -m evaluation.mutants.equivalence`: finds the generated mutants that are equivalent to PyTorch.

Each pair of op and kind runs beside PyTorch on sample programs, and the equivalent ones are written to `equivalent.py`.

A mutant is equivalent if its gradients never differ from PyTorch's. The programs are drawn like those of the audit, but
with other seeds, so that the selection does not depend on what the audit finds.
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
from autograd_conformance.programs.dtypes import USUAL
from autograd_conformance.programs.language import Apply, Backward, Program, Ref
from autograd_conformance.programs.observations import Gradient
from evaluation.mutants import generated

TRIES = range(1000, 1120)
"""Seeds of the sample programs; the audit's seeds start at zero."""

AGAIN = range(1000, 1006)
"""Seeds of the sample programs that differentiate twice, which take longer."""

APART = {"float64": 1e-8, "float32": 2e-5, "float16": 1e-2, "bfloat16": 1e-1}
"""Relative differences, by dtype, that exceed rounding."""

HEAD = '''"""Generated mutants that are equivalent to PyTorch, written by `python -m evaluation.mutants.equivalence`."""

OPS_OF: dict[str, str] = {'''


CORNERS = frozenset({"strided", "expanded", "shifted", "turned", "tile"})
"""The kinds whose fault depends on memory layout or on the sizes of dimensions."""


@lru_cache(maxsize=2)
def programs(op: str, kind: str) -> tuple[Program, ...]:
    """The sample programs for an op and a kind of fault."""
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
    """The program with its cotangents divided by three, so that they use every digit of their dtype."""
    call = program[-1]
    assert isinstance(call, Backward)
    thirds = [
        replace(c, data=tuple(np.asarray(np.array(c.data) / 3, c.dtype).tolist())) if c else None
        for c in call.cotangents
    ]
    return Program((*program.instructions[:-1], replace(call, cotangents=tuple(thirds))))


def _twice(op: str) -> Iterator[Program]:
    """Programs that apply an op twice to the same operands with different attributes and differentiate the second
    result.
    """
    row = OPS[op]
    for seed in TRIES:
        sampler = audit.sampling(seed, "float64")
        made = sampler.ops.draw(op, fresh=True)
        step = sampler.reference.steps[made[0].at]
        if not isinstance(step, Apply) or step.op != op:
            continue
        operands = tuple(sampler.shape(r) for r in step.args)
        others = [attrs for attrs in choices_of(row, operands) if attrs != step.attrs]
        if others:
            again = sampler.ops.checked(row, step.args, others[seed % len(others)])
            program = audit.called(sampler, again, op)
            if program is not None:
                yield program


def _drawn(op: str, twice: bool) -> Iterator[Program]:
    for dtype in USUAL[::-1]:
        for seed in AGAIN if twice else TRIES:
            program = audit.curvature(op, seed, dtype, bool(seed % 2)) if twice else audit.sample(op, seed, dtype)
            if program is not None:
                yield program


def is_equivalent(name: str) -> bool:
    """Whether a mutant's gradients equal PyTorch's on every sample program."""
    return witness(name, programs(*generated.candidates()[name])) is None


def witness(name: str, tried: tuple[Program, ...]) -> Program | None:
    """The first program on which a mutant's gradients differ from PyTorch's."""
    mutant, torch = generated.GENERATED[name](), Torch()
    return next((program for program in tried if differ(program, mutant, torch)), None)


def differ(program: Program, one: Torch, other: Torch) -> bool:
    """Whether the final gradients of two frameworks on a program differ by more than rounding."""
    seen, right = run(program, one)[-1], run(program, other)[-1]
    assert type(seen.outcome) is type(right.outcome), (
        f"{one.name} must differ in gradients only, but observed: {seen.outcome}"
    )
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
    """Test every pair of op and kind, and write the equivalent ones to `equivalent.py`; returns 0."""
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
    """The source of `equivalent.py`."""
    lines = [HEAD]
    for kind, ops in equivalent.items():
        wrapped = textwrap.wrap(" ".join(ops), 110)
        lines += [f'    "{kind}": """', *(f"        {line}" for line in wrapped), '    """,']
    return "\n".join([*lines, "}", '"""Names of ops, by kind of fault."""', ""])


if __name__ == "__main__":
    sys.exit(main())
