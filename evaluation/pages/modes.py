"""`python -m evaluation.pages.modes`: write docs/results/modes.md, with a row for PyTorch and for each of its modes
that has published records.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from autograd_conformance.reporting.analysis.summary import summarize
from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.records.stream import read
from autograd_conformance.reporting.render.markdown import environment

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "results" / "modes.md"
RECORDS = ROOT / "reports" / "published"


def page(folder: Path = RECORDS) -> str:
    """The page about the record files of a folder, in GitHub's Markdown, with a final newline."""
    files = sorted(folder.glob("torch*.jsonl.gz"), key=lambda path: path.name.partition(".")[0])
    runs = [cells(read(path)) for path in files]
    template = environment().get_template("modes.md.j2")
    return template.render(runs=runs, number=lambda n: f"{n:,.0f}").rstrip() + "\n"


def cells(run: Report) -> Mapping[str, object]:
    """The cells of a run's row, and the rules that the run exercised too rarely."""
    summary = summarize(run)
    passed = [rule for rule in summary.rules if rule.verdict == "pass"]
    return {
        "header": run.header,
        "summary": summary,
        "observed": sum(entry.observed for entry in summary.known),
        "least": min(passed, key=lambda rule: rule.exercised, default=None),
        "vacuous": [rule for rule in summary.rules if rule.verdict == "vacuous"],
    }


def main() -> int:
    """Write the page; 0."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
