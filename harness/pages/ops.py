"""`python -m autograd_conformance.harness.pages.ops`: write docs/ops.md from the tables of ops: what an adapter is
asked to compute, with which attributes, on which shapes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.row import Certainty, Op, arity, choices_of, rest_of, takes
from autograd_conformance.ops.tables import OPS
from autograd_conformance.printing.dialect import fill
from autograd_conformance.programs.language import Attrs, Shape
from autograd_conformance.reports.render.markdown import environment

PAGE = Path(__file__).parents[2] / "docs" / "ops.md"

SHOWN = 4
"""How many of an attribute's values, or of an operand's ranks, are shown."""


def page() -> str:
    """The page, in GitHub's Markdown, ending in a line end."""
    families: dict[str, list[Op]] = {}
    for row in (*OPS.values(), *WRITES.values()):
        families.setdefault(row.family, []).append(row)
    template = environment().get_template("ops.md.j2")
    rendered = template.render(
        families=families.items(), code=code, ranks=ranks, attributes=attributes, domains=domains, notes=notes
    )
    return rendered.rstrip() + "\n"


def _operands(row: Op) -> Iterator[tuple[Shape, ...]]:
    """The shapes that programs give all operands together."""
    return ((first, *rest) for first in row.fresh if takes(row, first) for rest in rest_of(row, first))


def _attributes(row: Op) -> Iterator[Attrs]:
    """The attributes that programs give, with each of the operands' shapes."""
    return (attrs for shapes in _operands(row) for attrs in choices_of(row, shapes))


def code(row: Op) -> str:
    """What it computes, as PyTorch's documentation writes it, for the first attributes that there are."""
    names = [chr(ord("a") + k) for k in range(arity(row))]
    return fill(row.template, names, next(_attributes(row))).replace("|", r"\|")


def ranks(row: Op) -> str:
    """The ranks of each operand, in the order of the operands."""
    found = list(_operands(row))
    return ", ".join(_span(sorted({len(shapes[k]) for shapes in found})) for k in range(len(found[0])))


def _span(numbers: list[int]) -> str:
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def attributes(row: Op) -> str:
    """Each attribute with some of its values."""
    values: dict[str, dict[str, None]] = {}
    for attrs in _attributes(row):
        for name, value in attrs:
            values.setdefault(name, {})[repr(value)] = None
    return "; ".join(f"`{name}`: {_some(list(found))}" for name, found in values.items())


def _some(found: list[str]) -> str:
    shown = ", ".join(f"`{value}`" for value in sorted(found, key=len)[:SHOWN])
    return shown + (", …" if len(found) > SHOWN else "")


def domains(row: Op) -> str:
    """Where its operands lie, where that is not everywhere."""
    names = [row.domain(k).name for k in range(arity(row))]
    return "" if set(names) == {"any"} else ", ".join(names)


def notes(row: Op) -> str:
    """What its results are, besides values of the operands' dtype."""
    results = {Certainty.ALWAYS: "a view", Certainty.MAYBE: "a view or not"}
    found = [results[row.aliases]] if row.aliases else []
    found += ["several results"] if row.sequence else []
    found += [f"{row.dtype} results"] if row.dtype else []
    found += ["operands of several dtypes"] if row.promotes else []
    return ", ".join(found)


def main() -> int:
    """Write the page; 0."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
