"""`python -m evaluation.pages.functions`: writes docs/functions.md, which says for each differentiable function of
PyTorch which ops call it, or why none does.

The functions are those that PyTorch's own tests differentiate (`torch.testing`).
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.ops.tables import OPS
from autograd_conformance.reporting.render.markdown import environment
from evaluation.pages.ops import code

PAGE = Path(__file__).parents[2] / "docs" / "functions.md"

REASONS = Path(__file__).with_name("functions.toml")

CALL = re.compile(r"(?:torch\.|F\.|[\w)]\.)((?:linalg\.|special\.|fft\.)?[a-z]\w*)")
"""A call in the code of an op, with the name of the function or method."""


@dataclass(frozen=True)
class Function:
    """A differentiable function, the ops that call it, and the reason why there are none."""

    name: str
    ops: tuple[str, ...]
    why: str = ""


def calls() -> Mapping[str, tuple[str, ...]]:
    """The ops that call each function or method, by its name without its package and without a final underscore."""
    found: dict[str, dict[str, None]] = {}
    for row in (*OPS.values(), *WRITES.values(), *RANDOM_OPS.values()):
        for call in CALL.finditer(code(row)):
            found.setdefault(short(call[1]), {})[row.name] = None
    return {name: tuple(ops) for name, ops in found.items()}


def short(name: str) -> str:
    """A function's name without the package `nn.functional`, `linalg` or `special`, and without a final underscore."""
    return re.sub(r"^(nn\.functional|linalg|special)\.", "", name).rstrip("_")


def reasons() -> Mapping[str, str]:
    """The reason why no op calls a function, by the function's name."""
    rows = tomllib.loads(REASONS.read_text(encoding="utf-8"))["reason"]
    return {name: row["text"] for row in rows for name in row["names"].split()}


def functions() -> tuple[Function, ...]:
    """The functions that PyTorch's tests differentiate, in alphabetical order."""
    from torch.testing._internal.common_methods_invocations import op_db

    called, whys = calls(), reasons()
    aliases = {info.name: [alias.name for alias in info.aliases] for info in op_db if info.supports_autograd}
    made = []
    for name in sorted(aliases, key=str.lower):
        ops = next((called[s] for s in map(short, [name, *aliases[name]]) if s in called), ())
        plain = name.removeprefix("nn.functional.")
        made.append(Function(plain, ops, "" if ops else whys[plain]))
    return tuple(made)


def page() -> str:
    """The page, in GitHub's Markdown, ending in a line end."""
    found = functions()
    groups: dict[str, list[str]] = {why: [] for why in reasons().values()}
    for each in found:
        if each.why:
            groups[each.why].append(each.name)
    there = [each for each in found if each.ops]
    template = environment().get_template("functions.md.j2")
    return template.render(functions=found, there=there, groups=groups.items()).rstrip() + "\n"


def main() -> int:
    """Write the page; 0."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
