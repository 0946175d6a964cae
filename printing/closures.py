"""The functions that a functional framework differentiates, as code: definitions in front of the calls."""

from __future__ import annotations

from collections.abc import Mapping

from autograd_conformance.printing.dialect import Dialect, closure_name, line
from autograd_conformance.programs.closures import body
from autograd_conformance.programs.language import Grad, Program, Ref


def definition(at: int, program: Program, name: Mapping[Ref, str], dialect: Dialect) -> list[str]:
    """The lines that define the function that instruction `at` differentiates; none where it differentiates none."""
    step = program[at]
    if not isinstance(step, Grad) or not dialect.vjp:
        return []
    lines = []
    for inner in body(program, step):
        lines += [*definition(inner, program, name, dialect), line(inner, program, name, dialect)]
    values = ", ".join(name[root] for root in step.roots)
    returned = values if len(step.roots) == 1 else dialect.together.format(values=values)
    head = f"def {closure_name(at)}({', '.join(name[ref] for ref in step.inputs)}):"
    return [head, *(f"    {each}" for each in [*lines, f"return {returned}"])]
