"""A framework's ops made from its dialect's templates: what failures are printed with is the code that runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autograd_conformance.printing.dialect import Dialect, Template, fill
from autograd_conformance.programs.language import Attrs

OPERATORS: Mapping[str, Template] = {
    "negative": "-{0}",
    "add_scalar": "{0} + {scalar}",
    "subtract_scalar": "{0} - {scalar}",
    "scalar_subtract": "{scalar} - {0}",
    "multiply_scalar": "{0} * {scalar}",
    "divide_scalar": "{0} / {scalar}",
    "scalar_divide": "{scalar} / {0}",
    "pow_scalar": "{0} ** {exponent}",
    "pow_integer": "{0} ** {exponent}",
    "scalar_pow": "{base} ** {0}",
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "pow": "{0} ** {1}",
    "slice": "{0}[{start}:{stop}:{step}]",
}
"""The ops that Python has operators for, where a framework's tensors have them."""


@dataclass(frozen=True)
class Templates:
    """The ops of a dialect as functions."""

    dialect: Dialect
    scope: dict[str, Any] = field(default_factory=dict)
    """What the names in its code mean."""
    made: dict[tuple[str, Attrs, int], Callable[..., Any]] = field(default_factory=dict)
    """The functions so far."""

    @classmethod
    def of(cls, dialect: Dialect) -> Templates:
        """The functions of a dialect whose prelude makes its names known."""
        scope: dict[str, Any] = {}
        exec(dialect.prelude, scope)
        return cls(dialect, scope)

    def op(self, name: str, attrs: Attrs, operands: int) -> Callable[..., Any]:
        """An op with some attributes as a function of its operands."""
        key = (name, attrs, operands)
        if key not in self.made:
            given = [f"x{k}" for k in range(operands)]
            self.made[key] = eval(
                f"lambda {', '.join(given)}: {fill(self.dialect.ops[name], given, attrs)}", self.scope
            )
        return self.made[key]


def indices(dim: int, code: str) -> str:
    """The subscript that applies `code` to one dimension and takes all of those before it, or behind it."""
    if dim < 0:
        return ", ".join(["...", code, *[":"] * (-dim - 1)])
    return ", ".join([*[":"] * dim, code])


def offsets(sizes: tuple[int, ...]) -> list[int]:
    """Where the parts of these sizes end, but for the last."""
    return [sum(sizes[: k + 1]) for k in range(len(sizes) - 1)]


def select(operands: Sequence[str], attrs: Mapping[str, Any]) -> str:
    """One slice along a dimension, as NumPy's indexing writes it."""
    return f"{operands[0]}[{indices(attrs['dim'], str(attrs['index']))}]"


def narrow(operands: Sequence[str], attrs: Mapping[str, Any]) -> str:
    """A part along a dimension, as NumPy's indexing writes it."""
    part = f"{attrs['start']}:{attrs['start'] + attrs['length']}"
    return f"{operands[0]}[{indices(attrs['dim'], part)}]"


def over(function: str, more: str = "", keeps: str = "keepdims") -> Template:
    """A reduction over some dimensions, with more arguments; over none of them is over all. `keeps` is the name of the
    argument that keeps them.
    """

    def code(operands: Sequence[str], attrs: Mapping[str, Any]) -> str:
        given = more.format(**attrs)
        return f"{function}({operands[0]}, axis={attrs['dim'] or None}, {keeps}={attrs['keepdim']}{given})"

    return code


def split(function: str) -> Template:
    """Parts of some sizes along a dimension, by a function that is told where they end."""

    def code(operands: Sequence[str], attrs: Mapping[str, Any]) -> str:
        return f"{function}({operands[0]}, {offsets(attrs['sizes'])}, axis={attrs['dim']})"

    return code
