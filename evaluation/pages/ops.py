"""`python -m evaluation.pages.ops`: writes docs/ops.md, with the attributes and shapes of all ops."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.modules import TABLE, Module, inputs, parameters, results
from autograd_conformance.ops.optimizers import OPTIMIZERS, Row
from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.ops.rows.row import Certainty, Op, arity, choices_of, rest_of, takes
from autograd_conformance.ops.tables import OPS
from autograd_conformance.printing.dialect import fill
from autograd_conformance.programs.language import Attrs, Shape
from autograd_conformance.reporting.render.markdown import environment

PAGE = Path(__file__).parents[2] / "docs" / "ops.md"

WIDTH, SAMPLES = 2, 4
"""For modules in the page: number of features; number of samples, steps of a sequence, and positions of a kernel."""

SIZES = dict.fromkeys(("inputs", "features", "width", "kernel"), WIDTH) | {
    "outputs": 3, "hidden": 3, "feedforward": 3, "keys": 5,
}  # fmt: skip
"""The sizes of modules in the page."""

SHOWN = 4
"""The most values of an attribute in the page."""


def page() -> str:
    """The page, in GitHub's Markdown, ending in a line end."""
    families: dict[str, list[Op]] = {}
    for row in (*OPS.values(), *WRITES.values(), *RANDOM_OPS.values()):
        families.setdefault(row.family, []).append(row)
    template = environment().get_template("ops.md.j2")
    rendered = template.render(
        families=families.items(), code=code, ranks=ranks, attributes=attributes, domains=domains, notes=notes,
        modules=TABLE.values(), settings=settings, operands=operands, sizes=SIZES,
        optimizers=OPTIMIZERS.values(), drawn=drawn, implementations=implementations,
    )  # fmt: skip
    return rendered.rstrip() + "\n"


def _operands(row: Op) -> Iterator[tuple[Shape, ...]]:
    """The combinations of operand shapes in programs."""
    return ((first, *rest) for first in row.fresh if takes(row, first) for rest in rest_of(row, first))


def drawn_attributes(row: Op) -> Iterator[Attrs]:
    """The attributes in programs, for each combination of operand shapes."""
    return (attrs for shapes in _operands(row) for attrs in choices_of(row, shapes))


def code(row: Op) -> str:
    """The op as PyTorch's code, for its first attributes."""
    names = [chr(ord("a") + k) for k in range(arity(row))]
    return fill(row.template, names, next(drawn_attributes(row))).replace("|", r"\|")


def ranks(row: Op) -> str:
    """The ranks of each operand, in the order of the operands."""
    found = list(_operands(row))
    return ", ".join(_span(sorted({len(shapes[k]) for shapes in found})) for k in range(len(found[0])))


def _span(numbers: list[int]) -> str:
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def attributes(row: Op) -> str:
    """Each attribute with some of its values."""
    values: dict[str, dict[str, None]] = {}
    for attrs in drawn_attributes(row):
        for name, value in attrs:
            values.setdefault(name, {})[repr(value)] = None
    return "; ".join(f"`{name}`: {_some(list(found))}" for name, found in values.items())


def _some(found: list[str]) -> str:
    shown = ", ".join(f"`{value}`" for value in sorted(found, key=len)[:SHOWN])
    return shown + (", …" if len(found) > SHOWN else "")


def domains(row: Op) -> str:
    """The domains of its operands; empty if they are unrestricted."""
    names = [row.domain(k).name for k in range(arity(row))]
    return "" if set(names) == {"any"} else ", ".join(names)


def notes(row: Op) -> str:
    """Properties of its results and operands: views, several results, dtypes."""
    results = {Certainty.ALWAYS: "a view", Certainty.MAYBE: "a view or not"}
    found = [results[row.aliases]] if row.aliases else []
    found += ["several results"] if row.sequence else []
    found += [f"{row.dtype} results"] if row.dtype else []
    found += ["operands of several dtypes"] if row.promotes else []
    return ", ".join(found)


def settings(module: Module) -> str:
    """The settings of a module for which the page lists its operands."""
    return _named(module.whole)


def _named(attrs: Attrs) -> str:
    return ", ".join(f"`{name}`: `{value!r}`" for name, value in attrs)


def operands(module: Module) -> str:
    """The operands of a module by name, each with its shape, and its number of results."""
    own = parameters(module.name, module.whole, SIZES)
    weight = dict(own).get("weight")
    in_space = () if weight is None else (SAMPLES,) * (len(weight) - 2)
    first = (SAMPLES, SAMPLES, WIDTH) if weight is None else (SAMPLES, WIDTH, *in_space)
    named = (*inputs(module.name, module.whole, SIZES, first), *own)
    many = results(module.name, module.whole)
    return ", ".join(f"`{name}` {shape}" for name, shape in named) + (f"; {many} results" if many > 1 else "")


def drawn(row: Row) -> str:
    """The settings of an optimizer in programs, each with its values."""
    values: dict[str, dict[str, None]] = {}
    for choice in row.choices:
        for name, value in choice:
            values.setdefault(name, {})[repr(value)] = None
    return "; ".join(f"`{name}`: {_some(list(found))}" for name, found in values.items())


def implementations(row: Row) -> str:
    """The settings that choose one of PyTorch's implementations of an optimizer."""
    return ", ".join(f"`{name}={value}`" for variant in row.variants for name, value in variant)


def main() -> int:
    """Write the page; 0."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
