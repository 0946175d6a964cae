"""Failures of two frameworks, recorded in whole runs and shortened, each with the cause that was found by hand: those
of one cause are put together, and those of different causes are not.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autograd_conformance.reporting.analysis.causes import causes_of
from autograd_conformance.reporting.records.encoding import error_size
from autograd_conformance.reporting.records.failure import Category, Failure, Signature
from autograd_conformance.reporting.render.failures import cause_title
from tests.reporting.miniatures import FAILURE

RECORDS = [
    json.loads(line)
    for line in (Path(__file__).parent / "outside_failures.jsonl").read_text(encoding="utf-8").splitlines()
]


def _failure(record: Mapping[str, Any]) -> Failure:
    bare = replace(FAILURE, op=None, error=None, votes=None, diagnosis=None, deviation=None, signature=None, script="")
    fields = {name: value for name, value in record.items() if name != "cause"}
    fields["cured"] = tuple(fields.get("cured", ()))
    fields["error"] = error_size(fields.get("error"))
    for name, kind in (("deviation", Category), ("signature", Signature)):
        fields[name] = kind(**fields[name]) if name in fields else None
    return replace(bare, **fields)


FAILURES = [_failure(record) for record in RECORDS]
CAUSE = {id(failure): record["cause"] for failure, record in zip(FAILURES, RECORDS, strict=True)}


@pytest.mark.parametrize("order", [1, -1], ids=["as recorded", "reversed"])
def test_the_causes_are_those_that_were_found_by_hand(order: int) -> None:
    found = causes_of(tuple(FAILURES[::order]), {})
    together = [sorted({CAUSE[id(failure)] for failure in cause.failures}) for cause in found]
    assert [names for names in together if len(names) > 1] == [], "joined wrongly"
    apart: dict[str, int] = defaultdict(int)
    for (name,) in together:
        apart[name] += 1
    assert {name: count for name, count in apart.items() if count > 1} == {}, "split"


def test_a_cause_of_several_ops_is_named_by_what_is_wrong() -> None:
    titles = {CAUSE[id(cause.shown)]: cause_title(cause) for cause in causes_of(tuple(FAILURES), {})}
    assert titles["no batch"] == "an operand without a batch (errors/legal-returns, in 5 ops)"
    assert titles["cholesky"] == "op cholesky breaks gradients/op"
