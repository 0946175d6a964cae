"""The texts for the tracker of a framework."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from autograd_conformance.reporting.analysis.causes import Cause, causes
from autograd_conformance.reporting.records.failure import Confirmation, Signature
from autograd_conformance.reporting.render import issue
from tests.reporting.miniatures import BROKEN, FAILURE, HEADER, unescaped

NOT_RUN = Confirmation(runs=0, failed=0)


def test_a_text_has_all_that_a_maintainer_needs() -> None:
    page = unescaped(issue.render(causes(BROKEN)[0], HEADER))
    order = [
        *("# lifetime: same root raises: saved values outlive", "Version: toytorch 1.2", "**Script**", "```python"),
        *("**Expected**: A second backward", "raises: graph freed", "**Observed**: returned; a.grad is [8.0]"),
        *("**Why**", "the product saves a", "times the bound", "the program passes with", "Source: "),
        *("**Environment**: Python ", "numpy 2.3.1", "device cpu"),
    ]
    at = 0
    for each in order:
        assert each in page[at:], each
        at = page.index(each, at)
    assert "None" not in page
    again = replace(FAILURE, alone=Confirmation(runs=5, failed=5))
    assert issue.render(Cause((again,)), HEADER).endswith("; it fails again in a fresh process.\n")
    assert issue.render(Cause((replace(again, alone=NOT_RUN),)), HEADER).endswith("same-root-raises.\n")


def test_each_cause_has_a_file_by_its_number(tmp_path: Path) -> None:
    found = causes(BROKEN)
    issue.write(found, HEADER, tmp_path)
    assert sorted(path.name for path in (tmp_path / "issues").iterdir()) == [
        "001-lifetime-same-root-raises.md",
        "002-gradients-op-exp.md",
    ]
    assert issue.paths(found)[0] == "issues/001-lifetime-same-root-raises.md"


def test_a_message_cannot_break_the_text() -> None:
    evil = replace(FAILURE, observed="<b>\x1b[31m|", script="'''\n```\n'''")
    page = issue.render(causes(replace(BROKEN, failures=(evil,)))[0], HEADER)
    assert "\x1b" not in page and r"\<b\>" in page and "````python\n'''\n```\n'''\n````" in page


def test_a_cause_of_several_ops_names_the_fault_and_all_of_them() -> None:
    raised = "raised an error that the adapter's `classify` does not know (ValueError: Expected 3D input (got 2D))"
    signature = Signature(stage="apply", general=True, got="v", meaning="an operand without a batch")
    one = replace(FAILURE, rule="errors/legal-returns", op="max_pool1d", diagnosis=None, observed=raised)
    two = replace(one, op="avg_pool1d")
    page = unescaped(
        issue.render(Cause((replace(one, signature=signature), replace(two, signature=signature))), HEADER)
    )
    assert page.startswith("# an operand without a batch, in 2 ops\n")
    assert "It is the same in 2 ops: " in page and "max" in page and "avg" in page
    alone = unescaped(issue.render(Cause((one,)), HEADER))
    assert "max" in alone.splitlines()[0] and ": raised ValueError: Expected 3D input (got 2D)\n" in alone
    assert "**Observed**: raised ValueError: Expected 3D input (got 2D)\n" in alone and "classify" not in alone
