"""Makes a framework's ops and in-place ops from the templates of its dialect, so that printed failures contain the
code that ran.
"""

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
"""The templates of the ops that have a Python operator, by the op's name, for frameworks whose tensors support
operators.
"""


@dataclass(frozen=True)
class Templates:
    """The ops of a dialect as functions, each made when it is first used."""

    dialect: Dialect
    scope: dict[str, Any] = field(default_factory=dict)
    """Values of the names in the dialect's code."""
    made: dict[tuple[str, Attrs, int], Callable[..., Any]] = field(default_factory=dict)
    """Functions that were made so far, by the name of the op, its attributes and its number of operands."""

    @classmethod
    def of(cls, dialect: Dialect) -> Templates:
        """Run the prelude of a dialect, which defines the names in the dialect's code, and return the dialect's ops."""
        scope: dict[str, Any] = {}
        exec(dialect.prelude, scope)
        return cls(dialect, scope)

    def op(self, name: str, attrs: Attrs, operands: int) -> Callable[..., Any]:
        """Returns an op with some attributes as a function of its operands."""
        key = (name, attrs, operands)
        if key not in self.made:
            given = [f"x{k}" for k in range(operands)]
            self.made[key] = eval(
                f"lambda {', '.join(given)}: {fill(self.dialect.ops[name], given, attrs)}", self.scope
            )
        return self.made[key]

    def write(self, name: str, attrs: Attrs, operands: int) -> Callable[..., None]:
        """Returns an in-place op with some attributes as a function of its target and its other operands."""
        key = (name, attrs, operands)
        if key not in self.made:
            given = [f"x{k}" for k in range(operands)]
            made: dict[str, Callable[..., None]] = {}
            exec(f"def write({', '.join(given)}): {fill(self.dialect.writes[name], given, attrs)}", self.scope, made)
            self.made[key] = made["write"]
        return self.made[key]


def indices(dim: int, code: str) -> str:
    """Returns the subscript that applies `code` to one dimension, and takes all of the others: ``:, 2`` for the code
    ``2`` and dimension 1.
    """
    if dim < 0:
        return ", ".join(["...", code, *[":"] * (-dim - 1)])
    return ", ".join([*[":"] * dim, code])


def offsets(sizes: tuple[int, ...]) -> list[int]:
    """Returns the positions at which to split a dimension into parts of these sizes: ``[2, 5]`` for the sizes 2, 3 and
    1.
    """
    return [sum(sizes[: k + 1]) for k in range(len(sizes) - 1)]


def select(operands: Sequence[str], attrs: Mapping[str, Any]) -> str:
    """Returns the code of a slice along one dimension, in NumPy's indexing: ``x[:, 2]``."""
    return f"{operands[0]}[{indices(attrs['dim'], str(attrs['index']))}]"


def narrow(operands: Sequence[str], attrs: Mapping[str, Any]) -> str:
    """Returns the code of a part of one dimension, in NumPy's indexing: ``x[:, 1:3]``."""
    part = f"{attrs['start']}:{attrs['start'] + attrs['length']}"
    return f"{operands[0]}[{indices(attrs['dim'], part)}]"


def over(function: str, more: str = "", keeps: str = "keepdims") -> Template:
    """Returns a template for a reduction over some dimensions; no dimensions mean all of them. `keeps` is the name of
    the argument that keeps the dimensions.
    """

    def code(operands: Sequence[str], attrs: Mapping[str, Any]) -> str:
        given = more.format(**attrs)
        return f"{function}({operands[0]}, axis={attrs['dim'] or None}, {keeps}={attrs['keepdim']}{given})"

    return code


def split(function: str) -> Template:
    """Returns a template for splitting a dimension, with a function that takes the positions of the splits."""

    def code(operands: Sequence[str], attrs: Mapping[str, Any]) -> str:
        return f"{function}({operands[0]}, {offsets(attrs['sizes'])}, axis={attrs['dim']})"

    return code


def complex_functions(module: str, number: str, pairs: Callable[[str], str]) -> dict[str, Template]:
    """Returns the templates of functions of complex numbers, which are pairs of real ones, for a module with NumPy's
    names. `number` is the code of an operand's complex numbers, with {x} for the operand, and `pairs` writes the code
    that makes pairs of them.
    """
    first, second = (number.replace("{x}", f"{{{k}}}") for k in range(2))
    return {
        "complex_multiply": pairs(f"{first} * {second}"),
        "complex_multiply_conj": pairs(f"{first} * {module}.conj({second})"),
        "complex_divide": pairs(f"{first} / {second}"),
        "complex_pow": pairs(f"{first} ** {second}"),
        "complex_pow_integer": pairs(f"{first} ** {{exponent}}"),
        **{
            f"complex_{name}": pairs(f"{module}.{name}({first})")
            for name in ("reciprocal", "exp", "log", "sqrt", "sin", "cos", "tanh")
        },
        "complex_abs": f"{module}.abs({first})",
        "complex_angle": f"{module}.angle({first})",
        "complex_sgn": pairs(f"{module}.sign({first})"),
        "complex_matmul": pairs(f"{first} @ {second}"),
        "complex_matmul_adjoint": pairs(f"{first} @ {module}.conj({second}).T"),
        "complex_inv": pairs(f"{module}.linalg.inv({first})"),
        "complex_det": pairs(f"{module}.linalg.det({first})"),
        "complex_solve": pairs(f"{module}.linalg.solve({first}, {second})"),
        "complex_prod": pairs(f"{module}.prod({first})"),
        "complex_norm": f"{module}.linalg.norm({module}.ravel({first}))",
        "ifft": pairs(f"{module}.fft.ifft({first})"),
    }
