"""Programs with training loops as text, and the comparison of a program with loops with its lines."""

from __future__ import annotations

import ast
import contextlib
import io
import warnings
from typing import Any

import torch

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.printing.dialect import code
from autograd_conformance.printing.loop_nodes import Element, interpret
from autograd_conformance.printing.loops import loop
from autograd_conformance.printing.module_objects import module_objects
from autograd_conformance.printing.reroll import reroll
from autograd_conformance.printing.variable_names import RESERVED
from autograd_conformance.printing.variable_names import names as variable_names
from autograd_conformance.programs.formats.text import names
from autograd_conformance.programs.language import Leaf, Program, Ref

DIALECT = Torch().dialect
assert DIALECT is not None


def ran(lines: list[str]) -> tuple[dict[str, Any], int, str]:
    """The variables after running code, the number of pieces that ran, and the error that stopped it."""
    scope: dict[str, Any] = {}
    done = 0
    usual = torch.get_default_dtype()
    try:
        with warnings.catch_warnings(action="ignore"), contextlib.redirect_stdout(io.StringIO()):
            exec(DIALECT.prelude, scope)
            for done, line in enumerate(lines):
                try:
                    exec(line, scope)
                except Exception as error:
                    return scope, done, f"{type(error).__name__}: {error}"
    finally:
        torch.set_default_dtype(usual)  # a program may set another one
    return scope, done + 1, ""


def alike(program: Program) -> str:
    """The form with loops, after running it and comparing it with the program's lines."""
    written = loop(program, DIALECT)
    assert written is not None
    ast.parse(written)
    by_lines, done, error = ran(code(program, DIALECT))
    by_loops, _, its_error = ran([written])
    assert its_error == error
    rerolled = reroll(program)
    assert rerolled is not None
    name = variable_names(rerolled, module_objects(rerolled, DIALECT))
    assert name is not None
    given = {its for ref, its in name.items() if not isinstance(ref, Element)}
    assert all(part.isidentifier() and part not in RESERVED for its in given for part in its.split("."))
    until = next(
        (k for k, line in enumerate(rerolled.lines) if (line.at or 0) >= done and not isinstance(line.step, Leaf)), None
    )
    called = names(program)
    meant = {
        its: ref for its, ref in interpret(rerolled, name, until).items() if isinstance(ref, Ref) and ref in called
    }
    assert meant
    for its, ref in meant.items():
        ours, theirs = eval(str(its), by_loops), by_lines.get(called[ref])
        if isinstance(theirs, torch.Tensor):
            assert same(ours, theirs), its
            held = (ours.grad, theirs.grad) if theirs.is_leaf or theirs.retains_grad else (None, None)
            assert same(*held), its
    return written


def same(one: torch.Tensor | None, other: torch.Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    return torch.equal(torch.nan_to_num(one, 0.125), torch.nan_to_num(other, 0.125))


def repeated(body: str, times: int, before: str = "", after: str = "") -> str:
    """A text repeated per iteration: `@` is replaced by the number of the iteration, and `^` by that of the previous
    one.
    """
    iterations = [body.replace("@", str(k)).replace("^", str(k - 1)) for k in range(times)]
    return "; ".join(part for part in (before, *iterations, after) if part)


W = "w = leaf [[1, 2]]; b = leaf [0.5]"
"""Two parameters."""
