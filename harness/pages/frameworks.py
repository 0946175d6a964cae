"""`python -m autograd_conformance.harness.pages.frameworks`: write docs/frameworks.md, a row for each framework that
the suite comes with; all of them have to be installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from autograd_conformance.frameworks.registry import FRAMEWORKS, load
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.harness.known import known
from autograd_conformance.ops.tables import OPS
from autograd_conformance.reports.render.markdown import environment
from autograd_conformance.rules.catalogue import RULES, Level

PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"


def page() -> str:
    """The page, in GitHub's Markdown, ending in a line end."""
    template = environment().get_template("frameworks.md.j2")
    return template.render(rows=[row(name) for name in FRAMEWORKS]).rstrip() + "\n"


def row(name: str) -> str:
    """A framework's row; `BrokenAdapter` where it is not installed."""
    target = InProcess(load(name))
    must = [rule for rule in RULES.values() if rule.level is Level.MUST]
    counter = target.saved_tensor_counter
    claimed = target.capabilities | (counter.capabilities if counter else frozenset())
    applicable = sum(rule.needs <= claimed for rule in must)
    own = [entry for entry in known(name) if name == "torch" or entry not in known("torch")]
    cells = (
        f"`{name}`", f"`{FRAMEWORKS[name][1]}`", f"{len({*target.ops}.intersection(OPS))}", ", ".join(target.dtypes),
        f"{applicable} of {len(must)}", ", ".join(target.traits.named) or "as PyTorch", f"{len(own)}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Write the page; 0."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
