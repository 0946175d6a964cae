"""The parts of the modules' table: rows, and the code of calls.

A call can be written in two ways. A drawn program passes the parameters to the call, through
`torch.func.functional_call`; the constructed module only provides the settings. A person constructs a module that owns
its parameters, and calls it by name. Both are written from one `Call`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from autograd_conformance.ops.rows.row import Certainty, Op
from autograd_conformance.programs.language import Attrs, Literal, Shape

Settings = Mapping[str, Any]
Sizes = Mapping[str, int]
Named = tuple[tuple[str, Shape], ...]
"""Names and shapes of operands: ``(("weight", (3, 2)), ("bias", (3,)))``."""

Given = Mapping[str, str]
"""The operands of a call in code, by name: `given["x"]`, `given["weight_ih_l0"]`."""


@dataclass(frozen=True, slots=True)
class Size:
    """A constructor argument that is the size of an operand in one dimension."""

    operand: str
    """The operand's name."""
    dim: int
    """The dimension; negative numbers count from the end."""
    onwards: bool = False
    """Whether the sizes of all later dimensions are included."""

    def code(self, given: Given) -> str:
        """The code that reads the size from the operand."""
        return f"{given[self.operand]}.shape[{self.dim}{':' * self.onwards}]"

    def of(self, shape: Shape) -> object:
        """The size for an operand of this shape."""
        return shape[self.dim :] if self.onwards else shape[self.dim]


@dataclass(frozen=True, slots=True)
class Construction:
    """The construction of a module, in code; its dtype is that of the input."""

    kind: str
    """The module's class in `torch.nn`."""
    sizes: tuple[object, ...]
    """The positional arguments, each a `Size` or a value."""
    settings: Mapping[str, str]
    """The keyword arguments, as code."""
    evaluates: bool = False
    """Whether the module is set to evaluation mode."""

    def code(self, given: Given) -> str:
        """Writes the construction for operands of any shape and dtype; sizes are read from the operands, as in
        ``x.shape[-1]``.
        """
        sizes = [size.code(given) if isinstance(size, Size) else str(size) for size in self.sizes]
        return self._code(sizes, f"{given['x']}.dtype")

    def code_for(self, known: Mapping[str, Literal], dtype: str) -> str | None:
        """Writes the construction for operands whose literals are known, with sizes as numbers; returns None if the
        size of an unknown operand is needed.
        """
        if any(isinstance(size, Size) and size.operand not in known for size in self.sizes):
            return None
        sizes = [
            str(size.of(known[size.operand].shape)) if isinstance(size, Size) else str(size) for size in self.sizes
        ]
        return self._code(sizes, f"torch.{dtype}")

    def _code(self, sizes: Sequence[str], dtype: str) -> str:
        settings = (f"{name}={value}" for name, value in {**self.settings, "dtype": dtype}.items())
        return f"torch.nn.{self.kind}({', '.join((*sizes, *settings))}){'.eval()' * self.evaluates}"


def made(kind: str, *sizes: object, **settings: object) -> Construction:
    """Makes the construction of a module of `torch.nn`; settings that are None keep their defaults."""
    return Construction(kind, sizes, {name: str(value) for name, value in settings.items() if value is not None})


def unless(default: object, value: object) -> object:
    """Returns a setting's value as code; None if the value is the default."""
    return None if value == default else repr(value)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a module in code, for operands with given names."""

    made: Construction
    """The construction of the called module."""
    inputs: tuple[str, ...]
    """The positional arguments."""
    keywords: Mapping[str, str] = field(default_factory=dict)
    """The keyword arguments."""
    result: str = "{call}"
    """Template of the expression for the results, from the call's code in {call}: ``{call}[0]`` if only the first is a
    result.
    """
    nested: bool = False
    """Whether the call returns the output and a pair of states, which are three results."""

    def by_name(self, module: str) -> str:
        """Writes the call of the module object named `module`, which owns its parameters: ``linear(x)``."""
        arguments = (*self.inputs, *(f"{name}={value}" for name, value in self.keywords.items()))
        return self.result.format(call=f"{module}({', '.join(arguments)})")

    def functional(self, given: Given, parameters: Sequence[str]) -> str:
        """Writes the call as ``torch.func.functional_call``, with the parameters as arguments; several results are
        returned as one flat sequence.
        """
        named = ", ".join(f'"{name}": {given[name]}' for name in parameters)
        positional = f"{self.inputs[0]}," if len(self.inputs) == 1 else ", ".join(self.inputs)
        keywords = ", ".join(f'"{name}": {value}' for name, value in self.keywords.items())
        further = f", {{{keywords}}}" if keywords else ""
        call = f"torch.func.functional_call({self.made.code(given)}, {{{named}}}, ({positional}){further})"
        return f"(lambda y, s: (y, *s))(*{call})" if self.nested else self.result.format(call=call)


@dataclass(frozen=True, slots=True)
class Module:
    """A network module, such as a linear layer or an LSTM: its row in the op tables, and functions that compute
    operands, results and code from the settings.
    """

    row: Op
    parameters: Callable[[Settings, Sizes], Named]
    """The names and shapes of parameters and buffers, in the order of the operands, named as in `state_dict`."""
    further: Callable[[Settings, Sizes, Shape], Named]
    """The names and shapes of the operands between the input and the parameters; its last argument is the input's
    shape."""
    results: Callable[[Settings], int]
    """Returns the number of the module's results, given the settings."""
    sizes: tuple[str, ...]
    """The names of the sizes, such as ``inputs`` and ``hidden``, that `parameters` and `further` read."""
    call: Callable[[Given, Settings], Call]
    """Returns the call of the module in code, given the names of the operands and the settings."""
    whole: Attrs
    """All settings, for a call with every operand that the module can have."""

    @property
    def name(self) -> str:
        """The name of the op that calls the module, such as ``nn_linear``."""
        return self.row.name

    def operands(self, settings: Settings) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Returns the names of the inputs and the names of the parameters, in the order of the operands: ``(("x",),
        ("weight", "bias"))``.
        """
        return _operands(self.parameters, self.further, settings)


def _operands(
    parameters: Callable[[Settings, Sizes], Named],
    further: Callable[[Settings, Sizes, Shape], Named],
    settings: Settings,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    any_size: Sizes = defaultdict(lambda: 1)
    inputs = ("x", *(name for name, _ in further(settings, any_size, (1, 1, 1))))
    return inputs, tuple(name for name, _ in parameters(settings, any_size))


def module(
    name: str,
    call: Callable[[Given, Settings], Call],
    reference: Callable[..., Any],
    parameters: Callable[[Settings, Sizes], Named],
    sizes: tuple[str, ...],
    whole: Attrs,
    further: Callable[[Settings, Sizes, Shape], Named] = lambda settings, sizes, first: (),
    results: Callable[[Settings], int] = lambda settings: 1,
    others: tuple[Attrs, ...] = (),
    **fields: Any,
) -> Module:
    """Makes a module of the table, whose code in drawn programs is a functional call. `others` are valid values of
    settings that have another type than in `whole`, such as ``("mask", "causal")``.
    """

    def functional(operands: Sequence[str], settings: Settings) -> str:
        inputs, own = _operands(parameters, further, settings)
        given = dict(zip((*inputs, *own), operands, strict=True))
        return call(given, settings).functional(given, own)

    row = Op(
        name, "", reference, Certainty.ALWAYS, accepts=lambda shape: False, fresh=(), family="modules", code=functional,
        examples=(whole, *others),
    )  # fmt: skip
    return Module(replace(row, **fields), parameters, further, results, sizes, call, whole)
