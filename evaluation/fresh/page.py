"""`python -m evaluation.fresh.page`: write docs/results/fresh.md from the finds that are kept beside this file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import FileSystemLoader

from autograd_conformance.reporting.render.markdown import environment
from autograd_conformance.rules.catalogue import RULES, Level
from evaluation.fresh.fault import Fault
from evaluation.fresh.sets import faults_of
from evaluation.mutants.probes import QUICK

FINDS = Path(__file__).parent / "finds"
"""For a set, what its first hunts came to, before its author's work was known to those who write what is drawn."""

PAGE = Path(__file__).parents[2] / "docs" / "results" / "fresh.md"

Find = Mapping[str, Any]

SINCE = {
    "UnusedSkipsFreeing": "Functional calls whose graph was walked again had no unused input. They may have one now.",
    "SoftplusSecond": "The fixed second derivatives had one choice of the attributes. Each dtype has its own now.",
    "CastOfNoGrad": "No op stood under no_grad and again behind it. Each does now, on the same operands.",
    "ZeroByProduct": "No gradient was infinite. Infinite ones are cleared now.",
    "FlagOnly": "What was detached in place was seldom switched to require grad again. It is now.",
    "ZerosByShape": "Unused inputs of one shape had one dtype. They may have several now.",
    "CreateSticks": "No refused call asked for a graph of itself. Some do now.",
    "SlotUsedAgain": "No hook was put on behind the removal of another. Some are now.",
    "CopiedFlag": "Under no_grad, constants were seldom written from what requires grad. They are now.",
    "NormOfLastDtype": "Gradients that were clipped had one dtype. They may have several now.",
    "GapsFilled": "Single writes went to whole values. They go to parts with gaps now, too.",
}
"""What kept a fault that survived from being found, and what was done about it since."""

SHOWN = ("fourth", "third")
"""The sets whose first hunts are kept, the latest first."""


@dataclass(frozen=True, slots=True)
class SetResult:
    """What the first hunts of a set came to."""

    name: str
    """The set's name."""
    count: int
    """How many faults it has."""
    killed: int
    """How many a quick run tells."""
    later: int
    """How many either that or a standard run tells."""
    survivors: tuple[type[Fault], ...]
    """Those that a quick run leaves."""
    longer: Mapping[str, Find]
    """What longer hunts of these came to."""


def set_result(name: str) -> SetResult:
    """What the first hunts of a set came to, by its name."""
    found = list(_finds(name))
    quick = {find["fault"]: find for find in found if find["examples"] == QUICK}
    longer = {find["fault"]: find for find in found if find["examples"] > QUICK}
    survivors = tuple(fault for fault in faults_of(name) if not _breaks_a_must(quick[fault.__name__]))
    late = sum(_breaks_a_must(longer[fault.__name__]) for fault in survivors)
    killed = len(quick) - len(survivors)
    return SetResult(name, len(quick), killed, killed + late, survivors, longer)


def page() -> str:
    """The page, in GitHub's Markdown, ending in a line end."""
    templates = environment()
    templates.loader = FileSystemLoader(Path(__file__).with_name("templates"))
    rendered = templates.get_template("fresh.md.j2").render(
        sets=[set_result(name) for name in SHOWN],
        since=SINCE,
        must=_breaks_a_must,
        words=lambda fault: " ".join((fault.__doc__ or "").split()),
    )
    return rendered.rstrip() + "\n"


def _breaks_a_must(find: Find) -> bool:
    """Whether a run would have failed: a broken SHOULD is told and fails none."""
    return find["rule"] is not None and RULES[find["rule"]].level is Level.MUST


def _finds(name: str) -> Iterator[Find]:
    return map(json.loads, (FINDS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())


def main() -> int:
    """Write the page; 0."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
