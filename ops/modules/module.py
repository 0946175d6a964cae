"""What a row of the modules' table is made from, and how a call of a module is written.

A module of PyTorch is called with parameters that are given, through `torch.func.functional_call`: the module is made
for its settings alone, and what its parameters hold is the program's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autograd_conformance.ops.row import Certainty, Op
from autograd_conformance.programs.language import Shape

Settings = Mapping[str, Any]
Sizes = Mapping[str, int]
Named = tuple[tuple[str, Shape], ...]
"""Operands by their names, with their shapes."""


@dataclass(frozen=True, slots=True)
class Module:
    """A module: its row, and what its settings decide.

    `parameters` gives, for settings and sizes, the names and shapes of its parameters and buffers, in the order of the
    operands and named as in `state_dict`; `further` those of the operands between the input, whose shape it is told,
    and the parameters; `results` how many results there are. `sizes` are the names of the sizes that these read.
    """

    row: Op
    parameters: Callable[[Settings, Sizes], Named]
    further: Callable[[Settings, Sizes, Shape], Named]
    results: Callable[[Settings], int]
    sizes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The op's name."""
        return self.row.name


class Given(dict[str, str]):
    """The operands of a call in code, by their names: `given["x"]`, `given["weight_ih_l0"]`."""

    def call(self, made: str, inputs: Sequence[str], *arguments: str) -> str:
        """The call of a module that the code `made` makes, with `inputs` and further `arguments`."""
        held = ", ".join(f'"{name}": {code}' for name, code in self.items() if name not in self.inputs)
        positional = "".join(f"{code}, " for code in inputs).rstrip() if len(inputs) == 1 else ", ".join(inputs)
        keywords = f", {{{', '.join(arguments)}}}" if arguments else ""
        return f"torch.func.functional_call({made}, {{{held}}}, ({positional}){keywords})"

    inputs: tuple[str, ...] = ()


Code = Callable[[Given, Settings], str]


def module(
    name: str,
    code: Code,
    reference: Callable[..., Any],
    parameters: Callable[[Settings, Sizes], Named],
    sizes: tuple[str, ...],
    further: Callable[[Settings, Sizes, Shape], Named] = lambda settings, sizes, first: (),
    results: Callable[[Settings], int] = lambda settings: 1,
    **fields: Any,
) -> Module:
    """A module whose code is written from the names of its operands."""

    def written(operands: Sequence[str], settings: Settings) -> str:
        sizes: Sizes = defaultdict(lambda: 1)
        before = ("x", *(name for name, _ in further(settings, sizes, (1, 1, 1))))
        names = (*before, *(name for name, _ in parameters(settings, sizes)))
        given = Given(zip(names, operands, strict=True))
        given.inputs = before
        return code(given, settings)

    row = Op(
        name, "", reference, Certainty.ALWAYS, accepts=lambda shape: False, fresh=(), family="modules", code=written
    )
    return Module(replace(row, **fields), parameters, further, results, sizes)


def made(kind: str, *sizes: object, **settings: object) -> str:
    """The code that makes a module; settings that are None are left to their defaults."""
    given = [str(size) for size in sizes]
    given += [f"{name}={value}" for name, value in settings.items() if value is not None]
    return f"torch.nn.{kind}({', '.join(given)})"


def unless(default: object, value: object) -> object:
    """A setting as code, or None where it has its default."""
    return None if value == default else repr(value)
