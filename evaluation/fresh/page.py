"""`python -m evaluation.fresh.page`: write docs/results/fresh.md from the results in the folder `finds`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import FileSystemLoader
from scipy.stats import binomtest

from autograd_conformance.reporting.render.markdown import environment
from autograd_conformance.rules.catalogue import RULES, Level
from evaluation.fresh.fault import Fault
from evaluation.fresh.sets import faults_of
from evaluation.mutants.probes import QUICK

FINDS = Path(__file__).parent / "finds"
"""Folder with the results of each set's first hunts, before the authors of the strategies saw the set."""

PAGE = Path(__file__).parents[2] / "docs" / "results" / "fresh.md"

Find = Mapping[str, Any]

SINCE = {
    "ReshapeOfExpanded": "Not each shape of a reshape had an operand that must be copied. Now each has.",
    "BatchedProductTwice": "No second derivative of this op had square matrices. Now each op of matrices has.",
    "RetainedStaysBehind": "No view was written to whose base retains its gradient. Now each attribute's view is.",
    "DecayForEachDtype": "No optimizer had leaves of several dtypes in each setting. Now each has.",
    "JoinedKeepsWider": "No op of two dtypes had a functional call for the narrower operand alone. Now each has.",
    "PoolReadsStorage": "No op was applied to constants in other memory layouts. Now each is.",
    "RoundsCotangent": "Fixed programs of two dtypes had cotangents that no dtype rounds. Now they have others.",
    "EluTakesResult": "No fixed program differentiated a write twice. Now each nonlinear write is.",
    "EvaluationTwice": "The hunt left out the tests of ops that PyTorch itself computes wrongly. A run finds it.",
    "PlanKeepsOperands": "Programs about memory had five ops. Now they have all.",
    "FailureEndsNoGrad": "A program leaves a grad mode if a call in it fails, as `with` without `try` does. Still so.",
    "DecayStays": "It is reported as a violated SHOULD, `optimizers/keeps-gradients`, which fails no run.",
    "SlicesNorm": "No gradient of an embedding was clipped. Now each op's gradient is.",
    "LastIsFirst": "Not each choice of a view's attributes was written through. Now each is.",
    "UnusedSkipsFreeing": "No functional call had an unused input if its graph was walked again. Now some do.",
    "SoftplusSecond": "The fixed second derivatives had one choice of attributes. Now each dtype has another one.",
    "CastOfNoGrad": "No op was applied under no_grad and again after it. Now each op is, on the same operands.",
    "ZeroByProduct": "No gradient was infinite. Now infinite gradients are cleared too.",
    "FlagOnly": "Values detached in place were seldom made to require grad again. Now they are.",
    "ZerosByShape": "Unused inputs of one shape had one dtype. Now they may have several.",
    "CreateSticks": "No refused call had create_graph. Now some do.",
    "SlotUsedAgain": "No hook was registered after the removal of another one. Now some are.",
    "CopiedFlag": "Under no_grad, values that require grad were seldom written to constants. Now they are.",
    "NormOfLastDtype": "Clipped gradients had one dtype. Now they may have several.",
    "GapsFilled": "Single writes changed whole values. Now they also change parts with gaps.",
}
"""For each surviving fault, why it was not found and what changed since."""

SHOWN = ("sixth", "fifth", "fourth", "third")
"""The sets whose first results are stored, the latest first."""


@dataclass(frozen=True, slots=True)
class SetResult:
    """The results of the first hunts of a set."""

    name: str
    """The set's name."""
    count: int
    """Number of faults in the set."""
    killed: int
    """Number of faults that a quick run finds."""
    later: int | None
    """Number of faults that a quick or a standard run finds; None if there were no standard hunts."""
    survivors: tuple[type[Fault], ...]
    """Faults that a quick run does not find."""
    longer: Mapping[str, Find]
    """Results of longer hunts for these, by name."""


def set_result(name: str) -> SetResult:
    """Compute the results of a set from its stored hunts."""
    found = list(_finds(name))
    quick = {find["fault"]: find for find in found if find["examples"] == QUICK}
    longer = {find["fault"]: find for find in found if find["examples"] > QUICK}
    survivors = tuple(fault for fault in faults_of(name) if not _breaks_a_must(quick[fault.__name__]))
    late = sum(_breaks_a_must(longer[fault.__name__]) for fault in survivors) if longer else None
    killed = len(quick) - len(survivors)
    return SetResult(name, len(quick), killed, None if late is None else killed + late, survivors, longer)


def share(found: int, count: int) -> str:
    """Returns how many faults were found, with the share and its 95 % interval: `43 found (81 %, 69 to 89)`."""
    interval = binomtest(found, count).proportion_ci(method="wilson")
    low, high = round(100 * interval.low), round(100 * interval.high)
    return f"{found} found ({round(100 * found / count)} %, {low} to {high})"


def page() -> str:
    """The page, in GitHub's Markdown, ending in a line end."""
    templates = environment()
    templates.loader = FileSystemLoader(Path(__file__).with_name("templates"))
    rendered = templates.get_template("fresh.md.j2").render(
        sets=[set_result(name) for name in SHOWN],
        since=SINCE,
        must=_breaks_a_must,
        share=share,
        words=lambda fault: " ".join((fault.__doc__ or "").split()),
    )
    return rendered.rstrip() + "\n"


def _breaks_a_must(find: Find) -> bool:
    """Whether a run would have failed: violating a SHOULD is reported, but fails no run."""
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
