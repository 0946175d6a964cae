"""Small example records for the tests of reports: one of each type, and two whole runs made of them."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from autograd_conformance.reporting.analysis.summary import summarize
from autograd_conformance.reporting.records.claims import ClaimProgram, ClaimRecord
from autograd_conformance.reporting.records.encoding import encode
from autograd_conformance.reporting.records.failure import (
    Allowed,
    ErrorSize,
    ExplanationStep,
    Failure,
    LineGroup,
    Votes,
)
from autograd_conformance.reporting.records.flow import GradientFlow, SavedTensor, ValueGradient
from autograd_conformance.reporting.records.records import (
    Behaviour,
    Coverage,
    CoverageSetting,
    Footer,
    Framework,
    Header,
    KnownRecord,
    Record,
    Report,
    Result,
    RuleRecord,
)
from autograd_conformance.reporting.records.terms import Source
from autograd_conformance.reporting.render.terminal import print_summary

RAISES, AGAIN, OP = "lifetime/same-root-raises", "lifetime/retained-works", "gradients/op"

HEADER = Header(
    suite="0.1",
    framework=Framework("toytorch", "1.2", ("retain",), 60, ("topk", "cumprod")),
    seed=7,
    profile="quick",
    dtypes=("float32", "float64"),
    device="cpu",
    started="2026-01-02T03:04:05Z",
    python="3.11.9",
    platform="Linux x86_64",
    packages={"numpy": "2.3.1"},
    workers=8,
)
RULES = (
    RuleRecord(
        rule=RAISES,
        family="lifetime",
        level="MUST",
        sentence="A second backward call on a freed graph MUST raise.",
        sources=(
            Source("torch.Tensor.backward", "https://docs.example/backward_pass.html"),
            Source("Article", "part 1"),
        ),
    ),
    RuleRecord(rule=AGAIN, family="lifetime", level="MUST", sentence="A retained graph MUST be walkable again."),
    RuleRecord(rule=OP, family="gradients", level="MUST", sentence="The gradient of a|b MUST be right."),
)
PASSES = tuple(
    Result(test=f"suites/test_{rule.family}.py::{n}", rule=rule.rule, verdict="pass", programs=100,
           exercised={rule.rule: 100}, seconds=0.5)
    for n, rule in enumerate(RULES)
)  # fmt: skip
FOOTER = Footer(
    verdict="complete", finished="2026-01-02T03:05:05.5+00:00", seconds=60.0, tests=3, programs=300, exit_code=0
)
FAILURE = Failure(
    verdict="fail",
    rule=RAISES,
    level="MUST",
    sentence=RULES[0].sentence,
    sources=RULES[0].sources,
    test="suites/test_lifetime.py::test_history[float64]",
    program={"version": 1, "instructions": [{"do": "leaf", "value": [2.0]}]},
    at=3,
    observed="returned; a.grad is [8.0]",
    allowed=(Allowed("raises: graph freed", RAISES), Allowed("raises: no grad", "errors/no-grad-root")),
    code="a = torch.tensor([2.0], requires_grad=True)\nb = a * a\nb.backward()\nb.backward()",
    why=(
        ExplanationStep(2, "the product saves a for its backward"),
        ExplanationStep(4, "line 3 freed it, so this call must raise"),
    ),
    error=ErrorSize(4.0, 1.6e-15, 2.5e15),
    votes=Votes("[8.0]", "[4.0]", "[4.0]", "the framework is wrong: the other two agree"),
    diagnosis="saved values outlive the call that should free them",
    variation="passes with retain_graph=True in line 3",
    script="import torch\n\n\na = torch.tensor([2.0], requires_grad=True)\n",
    replay="report/1.json",
    command="pytest --replay report/1.json",
    flow=GradientFlow(
        gradients=(
            ValueGradient(name="b", line=2, through=(), expected="[1.0]", observed="[1.0]", right=True),
            ValueGradient(name="a", line=1, through=(2,), expected="[4.0]", observed="[4.0]", right=True),
            ValueGradient(name="a", line=1, through=(2,), expected="[4.0]", observed="[8.0]", right=False, held=True),
        ),
        saved=(SavedTensor(line=2, name="a", version=0, now=1, freed_by=3),),
    ),
    groups=(LineGroup("iteration", (3,)), LineGroup("iteration", (4,))),
)
CRASH = Failure(
    verdict="crash",
    rule=OP,
    level="MUST",
    sentence=RULES[2].sentence,
    test="suites/test_gradients.py::test_op[exp]",
    op="exp",
    program={},
    observed="the process died of signal 11",
    code="exp(a)",
    script="",
)
KNOWN = KnownRecord(
    rule=OP,
    op="hardsigmoid",
    reason="its slope is 1/6 rounded to float32",
    link="https://issues.example/1",
    seen=12,
)
CLAIM = ClaimRecord(
    key="again-raises",
    article="How to avoid the error?",
    section="1. Understanding",
    says="A second `backward()` on a|b raises.",
    truth="Only where the op saved something.",
    condition="the op saved a tensor",
    verdict="holds under a condition",
    observed="mixed",
    programs=(
        ClaimProgram(
            code="b = a * a\nb.backward()\nb.backward()  # RuntimeError",
            line=3,
            predicts="line 3 raises",
            came_true=True,
            note="a product",
        ),
        ClaimProgram(code="b = a + a\nb.backward()\nb.backward()  # works", predicts="line 3 raises", came_true=False),
    ),
)
COSTLY = ClaimRecord(
    key="memory-is-significant",
    article="What does retain_graph control?",
    section="Explanation",
    says="Retaining costs a <lot> of memory.",
    truth="It depends.",
    verdict="not testable",
    reason="nothing says how much a lot is",
)
DEPARTING = ClaimRecord(
    key="detached-raises",
    article="How to avoid the error?",
    section="2b",
    says="Backward on a detached tensor raises nothing.",
    truth="It raises.",
    verdict="false",
    observed="right",
    programs=(ClaimProgram(code="b = a.detach()\nb.backward()", line=2, predicts="line 2 works"),),
)
CLAIMS = (CLAIM, COSTLY, DEPARTING)
COVERAGE = Coverage(
    op="sin",
    met=(
        CoverageSetting("float32", False, {"backward": 2}),
        CoverageSetting("float64", True, {"backward": 5, "step": 1}),
    ),
)
BEHAVIOUR = Behaviour(
    instruction="backward",
    allowed=(Allowed("returns", AGAIN), Allowed("graph freed", RAISES)),
    seen={"returns": 12, "graph freed": 3},
)
RARE = Coverage(op="kron", met=(CoverageSetting("float64", True, {"backward": 1}),))
SOUND = Report(HEADER, RULES, PASSES, (), FOOTER)
BROKEN = replace(SOUND, failures=(FAILURE, CRASH), footer=replace(FOOTER, exit_code=1))
EVERY: tuple[Record, ...] = (HEADER, *RULES, *PASSES, FAILURE, CRASH, KNOWN, *CLAIMS, COVERAGE, RARE, BEHAVIOUR, FOOTER)


def lines(*records: Record) -> bytes:
    return b"".join(json.dumps(encode(record)).encode() + b"\n" for record in records)


def invalid(record: Record, **changes: object) -> bytes:
    return json.dumps(encode(record) | changes).encode() + b"\n"


def verdicts(report: Report) -> dict[str, str]:
    return {each.rule.rule: each.verdict for each in summarize(report).rules}


def shown(report: Report, width: int = 100, in_full: int = 0, articles: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_summary(report, console, "report/index.html", in_full, articles)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def unescaped(page: str) -> str:
    return re.sub(r"\\([^\w\s])", r"\1", page)


def written(path: Path, *records: Record) -> Path:
    path.write_bytes(lines(*records))
    return path
