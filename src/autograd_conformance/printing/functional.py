"""The dialect (templates for code) of functional frameworks, which differentiate functions, and the definitions of
these functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from autograd_conformance.printing.dialect import Dialect, function_name, line
from autograd_conformance.programs.differentiated_functions import body
from autograd_conformance.programs.language import Grad, Program, Ref

functional = partial(
    Dialect,
    differentiable="",
    detach="",
    backward="",
    backward_many="",
    retain="",
    clear_to_none="",
    clear_to_zeros="",
    gradient="",
    drop="# {values}: functions that come later may need them",
)
"""Makes the dialect (templates for code) of a functional framework, in which each call names the function to
differentiate and its inputs, and no leaf has a `.grad`.
"""


def definition(at: int, program: Program, name: Mapping[Ref, str], dialect: Dialect) -> list[str]:
    """Writes the lines that define the function which instruction `at` differentiates; empty if the instruction
    differentiates no function.
    """
    step = program[at]
    if not isinstance(step, Grad) or not dialect.vjp:
        return []
    lines = []
    for inner in body(program, step):
        lines += [*definition(inner, program, name, dialect), line(inner, program, name, dialect)]
    values = ", ".join(name[root] for root in step.roots)
    returned = values if len(step.roots) == 1 else dialect.together.format(values=values)
    head = f"def {function_name(at)}({', '.join(name[ref] for ref in step.inputs)}):"
    return [head, *(f"    {each}" for each in [*lines, f"return {returned}"])]
