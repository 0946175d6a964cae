"""Runs a program's printed code in place of an adapter's calls: what both get wrong is the framework's own.

The adapter still looks at the values and tells the kinds of errors apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_conformance.frameworks.base import Adapter, Value
from autograd_conformance.frameworks.runner import Run, some
from autograd_conformance.printing.dialect import Dialect, code
from autograd_conformance.programs.language import Delete, Hook, Instruction, Program, ReadGrad, Ref
from autograd_conformance.programs.observations import Observation
from autograd_conformance.programs.operands import results
from autograd_conformance.programs.text import names


def seen_in_code(program: Program) -> bool:
    """Whether all that a program does can be seen in its printed code: what a hook is given is printed there."""
    return not any(isinstance(step, Hook) for step in program)


def run_printed(program: Program, adapter: Adapter) -> Observation:
    """What a framework does with a program's printed code; the adapter needs a dialect."""
    assert adapter.dialect is not None
    return _Printed(program, adapter, adapter.dialect).observed()


class _Printed(Run):
    """One run of one program's code, a line an instruction."""

    def __init__(self, program: Program, adapter: Adapter, dialect: Dialect) -> None:
        super().__init__(program, adapter)
        self.lines, self.names = code(program, dialect), names(program)
        self.scope: dict[str, Any] = {}
        exec(dialect.prelude, self.scope)
        if dialect.saved:
            self.saved = lambda: eval(dialect.saved, self.scope)

    def do(self, at: int, step: Instruction) -> Sequence[Value | None]:
        """Run a line, and give the values that it names."""
        exec(self.lines[at], self.scope)
        if isinstance(step, Delete):
            for ref in step.values:
                del self.values[ref]
        made = tuple(self.scope[self.names[Ref(at, k)]] for k in range(results(step)))
        return tuple(map(some, made)) if isinstance(step, ReadGrad) else made
