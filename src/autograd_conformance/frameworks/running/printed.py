"""Runs the printed code of a program in place of adapter calls. A failure that occurs with the printed code and with
adapter calls is the framework's.

The adapter still reads the values and classifies the errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from autograd_conformance.frameworks.adapter import Adapter, Value
from autograd_conformance.frameworks.running.regions import RegionRun
from autograd_conformance.frameworks.running.runner import required_gradient
from autograd_conformance.printing.cast_blocks import cast_blocks, without_casts
from autograd_conformance.printing.dialect import Dialect, code
from autograd_conformance.printing.functional import definition
from autograd_conformance.printing.regions import call, function
from autograd_conformance.programs.formats.text import names
from autograd_conformance.programs.language import Delete, Hook, Instruction, Program, ReadGrad, Ref
from autograd_conformance.programs.observations import Observation
from autograd_conformance.programs.operands import results
from autograd_conformance.programs.regions import Region


def is_observable_in_code(program: Program) -> bool:
    """Whether a run of the printed code can observe all that a program does. It cannot observe hooks, which only
    print.
    """
    return not any(isinstance(step, Hook) for step in program)


def run_printed(program: Program, adapter: Adapter) -> Observation:
    """Run the printed code of a program on a framework whose adapter has a dialect."""
    assert adapter.dialect is not None
    return _Printed(program, adapter, adapter.dialect).observe()


class _Lines:
    """The lines of code of a program, which run one after the other, with the values of the names in the code."""

    def __init__(self, program: Program, dialect: Dialect) -> None:
        self.program, self.dialect = program, dialect
        self.code, self.names = code(without_casts(program), dialect), names(program)
        self.blocks = list(cast_blocks(program, dialect))
        """The lines that enter and leave blocks of autocast, before each instruction and at the end; once they ran,
        they are empty.
        """
        self.scope: dict[str, Any] = {"__name__": "program"}  # some frameworks read the module name of functions
        exec(dialect.prelude, self.scope)

    def do(self, at: int, values: dict[Ref, Value]) -> Sequence[Value | None]:
        """Run the line of an instruction, and return the values that it names; deleted values are dropped."""
        step = self.program[at]
        self.enter(at)
        exec("\n".join([*definition(at, self.program, self.names, self.dialect), self.code[at]]), self.scope)
        if isinstance(step, Delete):
            for ref in step.values:
                del values[ref]
        made = self._named(Ref(at, k) for k in range(results(step)))
        return tuple(map(required_gradient, made)) if isinstance(step, ReadGrad) else made

    def enter(self, at: int) -> None:
        """Leave and enter blocks of autocast, up to those of an instruction."""
        for k in range(at + 1):
            exec("\n".join(self.blocks[k]), self.scope)
            self.blocks[k] = ()

    def computed(self, region: Region) -> Sequence[Value]:
        """Define the function of a region, call it, and return its results."""
        called = f"compute{region.first}"
        head = f"{self.dialect.unit_head}\n" if self.dialect.unit_head else ""
        text = head + function(self.program, region, self.dialect, called, self.names)
        exec(compile(text, f"<{called}>", "exec"), self.scope)
        exec(call(region, self.dialect, called, self.names), self.scope)
        return self._named(region.results)

    def saved(self) -> int:
        """Returns the number of saved tensors that are alive."""
        return int(eval(self.dialect.saved, self.scope))

    def _named(self, refs: Iterable[Ref]) -> tuple[Value, ...]:
        return tuple(self.scope[self.names[ref]] for ref in refs)


class _Printed(RegionRun):
    """One run of a program's printed code: a line for each instruction, and a function for each region."""

    def __init__(self, program: Program, adapter: Adapter, dialect: Dialect) -> None:
        super().__init__(program, adapter)
        self.lines = _Lines(program, dialect)
        if dialect.saved:
            self.saved = self.lines.saved

    def ended(self) -> Observation:
        """Run the whole program, leave all blocks, and end the program."""
        try:
            return super().ended()
        finally:
            self.lines.enter(len(self.program))

    def do(self, at: int, step: Instruction) -> Sequence[Value | None]:
        """Run the printed line of an instruction, and return the values that it makes."""
        return self.lines.do(at, self.values)

    def computed(self, region: Region) -> Sequence[Value]:
        """Run the printed function of a region, and return its results."""
        return self.lines.computed(region)
