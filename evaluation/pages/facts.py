"""``python -m evaluation.pages.facts``: write docs/results/facts.md from the table of facts."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

from autograd_conformance.claims.facts import FACTS, GROUPS
from autograd_conformance.claims.facts.fact import RETURNS, FactProgram
from autograd_conformance.frameworks.loading.registry import load
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.printing.dialect import code
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Kind, Raised
from autograd_conformance.reporting.render.markdown import environment
from evaluation.pages.articles import plain

PAGE = Path(__file__).parents[2] / "docs" / "results" / "facts.md"
STATUSES = ("rule", "rule in part", "no rule")


def main() -> int:
    """Write the page; 0."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.name)
    return 0


def page() -> str:
    """The page, in GitHub's Markdown, with a final newline."""
    counts = Counter(fact.status for fact in FACTS.values())
    template = environment().get_template("facts.md.j2")
    text = template.render(
        facts=FACTS,
        counts={status: counts[status] for status in STATUSES},
        groups=GROUPS.items(),
        written=written,
    )
    return text.rstrip() + "\n"


def written(shown: FactProgram) -> str:
    """A program as PyTorch code, with comments for the errors that it raises and for the outcome of the last line.

    Other allowed outcomes of the last line follow in parentheses.
    """
    torch = load("torch")
    assert torch.dialect is not None
    short = replace(torch.dialect, tensor="torch.tensor({data}{flags})", empty="torch.zeros({shape}{flags})")
    program = parse(shown.text)
    lines = plain("\n".join(code(program, torch.dialect if "f32" in shown.text else short))).split("\n")
    with warnings.catch_warnings(action="ignore"):
        outcomes = [observed.outcome for observed in run(program, torch)]
    for at, outcome in enumerate(outcomes):
        did = outcome.kind.value if isinstance(outcome, Raised) else RETURNS
        if isinstance(outcome, Raised):
            error = "ZeroDivisionError" if outcome.kind is Kind.HOOK_RAISED else outcome.type  # the printed hook's own
            lines[at] += f"  # {error}: {did}"
        elif at == len(program) - 1:
            lines[at] += f"  # {did}"
    others = " or ".join(sorted(shown.outcomes - {did}))
    return "\n".join(lines) + (f" (allowed, too: {others})" if others else "")


if __name__ == "__main__":
    sys.exit(main())
