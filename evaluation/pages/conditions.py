"""`python -m evaluation.pages.conditions`: writes docs/conditions.md, with the meaning of each condition of a known
difference.
"""

from __future__ import annotations

import sys
from pathlib import Path

from autograd_conformance.known_differences.condition import Condition
from autograd_conformance.known_differences.table import CONDITIONS
from autograd_conformance.reporting.render.markdown import environment

PAGE = Path(__file__).parents[2] / "docs" / "conditions.md"


def page() -> str:
    """The page, in GitHub's Markdown, ending in a line end."""
    template = environment().get_template("conditions.md.j2")
    return template.render(conditions=CONDITIONS, meaning=meaning).rstrip() + "\n"


def meaning(condition: type[Condition]) -> str:
    """The description of a condition, as one line."""
    return " ".join((condition.__doc__ or "").split())


def main() -> int:
    """Write the page; 0."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
