"""Runs a program's printed code in place of an adapter's calls: what both get wrong is the framework's own.

The adapter still looks at the values and tells the kinds of errors apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from autograd_conformance.frameworks.adapter import Adapter, Value
from autograd_conformance.frameworks.running.regions import RegionRun
from autograd_conformance.frameworks.running.runner import required_gradient
from autograd_conformance.printing.dialect import Dialect, code
from autograd_conformance.printing.functional import definition
from autograd_conformance.printing.regions import call, function
from autograd_conformance.programs.formats.text import names
from autograd_conformance.programs.language import Delete, Hook, Instruction, Program, ReadGrad, Ref
from autograd_conformance.programs.observations import Observation
from autograd_conformance.programs.operands import results
from autograd_conformance.programs.regions import Region


def is_observable_in_code(program: Program) -> bool:
    """Whether all that a program does can be seen in its printed code: what a hook is given is printed there."""
    return not any(isinstance(step, Hook) for step in program)


def run_printed(program: Program, adapter: Adapter) -> Observation:
    """What a framework does with a program's printed code; the adapter needs a dialect."""
    assert adapter.dialect is not None
    return _Printed(program, adapter, adapter.dialect).observe()


class _Lines:
    """A program's code, and the names in it with what they stand for."""

    def __init__(self, program: Program, dialect: Dialect) -> None:
        self.program, self.dialect = program, dialect
        self.code, self.names = code(program, dialect), names(program)
        self.scope: dict[str, Any] = {"__name__": "program"}  # some frameworks ask functions which module they are of
        exec(dialect.prelude, self.scope)

    def do(self, at: int, values: dict[Ref, Value]) -> Sequence[Value | None]:
        """Run the line of an instruction, and give the values that it names; those that it deletes are let go of."""
        step = self.program[at]
        exec("\n".join([*definition(at, self.program, self.names, self.dialect), self.code[at]]), self.scope)
        if isinstance(step, Delete):
            for ref in step.values:
                del values[ref]
        made = self._named(Ref(at, k) for k in range(results(step)))
        return tuple(map(required_gradient, made)) if isinstance(step, ReadGrad) else made

    def computed(self, region: Region) -> Sequence[Value]:
        """Define the function of a region, call it, and give its results."""
        called = f"compute{region.first}"
        head = f"{self.dialect.unit_head}\n" if self.dialect.unit_head else ""
        text = head + function(self.program, region, self.dialect, called, self.names)
        exec(compile(text, f"<{called}>", "exec"), self.scope)
        exec(call(region, self.dialect, called, self.names), self.scope)
        return self._named(region.results)

    def saved(self) -> int:
        """How many saved tensors are alive."""
        return int(eval(self.dialect.saved, self.scope))

    def _named(self, refs: Iterable[Ref]) -> tuple[Value, ...]:
        return tuple(self.scope[self.names[ref]] for ref in refs)


class _Printed(RegionRun):
    """One run of one program's code: a line an instruction, and a function a region."""

    def __init__(self, program: Program, adapter: Adapter, dialect: Dialect) -> None:
        super().__init__(program, adapter)
        self.lines = _Lines(program, dialect)
        if dialect.saved:
            self.saved = self.lines.saved

    def do(self, at: int, step: Instruction) -> Sequence[Value | None]:
        """Run a line."""
        return self.lines.do(at, self.values)

    def computed(self, region: Region) -> Sequence[Value]:
        """Run a region's function."""
        return self.lines.computed(region)
