"""`python -m evaluation.pages.frameworks chainer=/its/python`: write docs/frameworks.md, with a row for each adapter of
the suite, and one for each framework of `outside.toml`, which has none.

A framework that cannot be installed beside others is queried through the interpreter that is given for it. A framework
that is neither given nor installed keeps its row.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograd_conformance.frameworks.loading.entry_points import frameworks
from autograd_conformance.frameworks.loading.registry import AdapterError, UnknownFramework, load
from autograd_conformance.frameworks.remote.command import served
from autograd_conformance.frameworks.target import InProcess, open_target
from autograd_conformance.known_differences import known
from autograd_conformance.ops.tables import OPS
from autograd_conformance.reporting.render.markdown import environment
from autograd_conformance.rules.catalogue import RULES, Level

PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"
OUTSIDE = Path(__file__).parent / "outside.toml"


@dataclass(frozen=True)
class Outside:
    """A framework that is tested without an adapter of the suite."""

    name: str
    """The framework, as `--framework` takes it."""
    install: str
    """The arguments of `pip install` that install it."""
    tox: str
    """The tox environment that tests it."""


def outside() -> Sequence[Outside]:
    """The frameworks of the table."""
    return [Outside(**each) for each in tomllib.loads(OUTSIDE.read_text(encoding="utf-8"))["framework"]]


def page(pythons: Mapping[str, str]) -> str:
    """The page, in GitHub's Markdown, with a final newline; `pythons` has interpreters by the names of frameworks."""
    template = environment().get_template("frameworks.md.j2")
    return (
        template.render(
            rows=[_row(name, pythons.get(name)) for name, entry in frameworks().items() if entry.is_ours],
            outside=[_row(each.name, pythons.get(each.name), each) for each in outside()],
        ).rstrip()
        + "\n"
    )


def _row(name: str, python: str | None, outside: Outside | None = None) -> str:
    try:
        return row(name, python, outside)
    except (AdapterError, UnknownFramework):
        kept = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{name}` |")]
        if not kept:
            raise
        return kept[0]


def row(name: str, python: str | None = None, outside: Outside | None = None) -> str:
    """A framework's row, as it is in this environment or that of an interpreter; `AdapterError` where it is not
    installed.
    """
    target = InProcess(load(name)) if python is None else open_target(served(name, python, None))
    must = [rule for rule in RULES.values() if rule.level is Level.MUST]
    counter = target.saved_tensor_counter
    claimed = target.capabilities | (counter.capabilities if counter else frozenset())
    applicable = sum(rule.needs <= claimed for rule in must)
    inherited = () if name == "torch" else known("torch")
    own = [entry for entry in known(target.name) if entry not in inherited]
    how = (f"`{outside.install}`", f"`tox -e {outside.tox}`") if outside else (f"`{frameworks()[name].install}`",)
    cells = (
        f"`{name}`", *how, f"{len({*target.ops}.intersection(OPS))}",
        ", ".join(target.dtypes),
        f"{applicable} of {len(must)}", ", ".join(target.traits.named) or "as PyTorch", f"{len(own)}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Write the page; 0."""
    pythons = dict(argument.split("=", 1) for argument in sys.argv[1:])
    PAGE.write_text(page(pythons), encoding="utf-8")
    print(PAGE.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
