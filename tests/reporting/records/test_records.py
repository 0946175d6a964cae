"""Every record equals the decoded form of its JSON, and a killed writer loses no finished record."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from autograd_conformance.reporting.records.claims import ClaimProgram
from autograd_conformance.reporting.records.encoding import NAMES, decode, encode
from autograd_conformance.reporting.records.failure import (
    Allowed,
    Category,
    ErrorSize,
    ExplanationStep,
    LineGroup,
    PartViolation,
    Votes,
)
from autograd_conformance.reporting.records.flow import GradientFlow, SavedTensor, ValueGradient
from autograd_conformance.reporting.records.records import Framework, Record, Report
from autograd_conformance.reporting.records.stream import SCHEMA, Writer, load, read
from autograd_conformance.reporting.records.terms import Source
from tests.reporting.miniatures import CLAIM, EVERY, FAILURE, FOOTER, HEADER, KNOWN, OP, PASSES, RAISES, RULES

DIFFERS = replace(PASSES[0], verdict="known difference")
EVERYWHERE = replace(KNOWN, op=None, link=None, seen=0)
SOURCE = Source("scalars", "https://docs.example/values")
SCALARS = replace(HEADER, framework=replace(HEADER.framework, traits=("scalars",), trait_sources=(SOURCE,)))
SET = replace(HEADER, variables={"TORCHINDUCTOR_FREEZING": "1"})
ELSEWHERE = replace(HEADER, environment=("Python 3.9.18", "numpy 1.26.4"))
RELATED = replace(
    FAILURE, parts=(PartViolation(rule=RAISES, deviation=Category("value", "other gradient, leaf"), op="sin"),)
)
INFINITE = replace(FAILURE, error=ErrorSize(float("inf"), 1e-9, float("inf")))


@pytest.mark.parametrize(
    "record",
    [*EVERY, INFINITE, RELATED, replace(HEADER, seed=None), SCALARS, SET, ELSEWHERE, DIFFERS, EVERYWHERE],
    ids=lambda record: type(record).__name__,
)
def test_a_record_comes_back_as_it_was(record: Record) -> None:
    form = json.loads(json.dumps(encode(record), allow_nan=False))
    assert decode(form) == record
    assert encode(decode(form)) == form
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(form)


def test_the_form_of_a_result_is_this_and_nothing_else() -> None:
    assert encode(PASSES[0]) == {
        "record": "result",
        "test": "suites/test_lifetime.py::0",
        "rule": RAISES,
        "op": None,
        "verdict": "pass",
        "programs": 100,
        "exercised": {RAISES: 100},
        "left_open": 0,
        "seconds": 0.5,
        "reason": None,
    }


def test_the_form_of_a_known_difference_is_this_and_nothing_else() -> None:
    assert encode(KNOWN) == {
        "record": "known",
        "rule": OP,
        "op": "hardsigmoid",
        "reason": "its slope is 1/6 rounded to float32",
        "link": "https://issues.example/1",
        "seen": 12,
    }


def test_the_form_of_a_claim_is_this_and_nothing_else() -> None:
    assert encode(replace(CLAIM, programs=CLAIM.programs[:1])) == {
        "record": "claim",
        "key": "again-raises",
        "article": "How to avoid the error?",
        "section": "1. Understanding",
        "says": "A second `backward()` on a|b raises.",
        "truth": "Only where the op saved something.",
        "condition": "the op saved a tensor",
        "verdict": "holds under a condition",
        "observed": "mixed",
        "programs": [
            {
                "code": "b = a * a\nb.backward()\nb.backward()  # RuntimeError",
                "line": 3,
                "predicts": "line 3 raises",
                "came_true": True,
                "note": "a product",
            }
        ],
        "reason": None,
    }


def test_the_schema_knows_every_field_of_every_record() -> None:
    definitions = json.loads(SCHEMA.read_text())["$defs"]
    inner = {
        Framework: "framework",
        Source: "source",
        Allowed: "allowed",
        ExplanationStep: "step",
        ErrorSize: "error",
        Votes: "votes",
    }
    inner |= {ClaimProgram: "claim_program", LineGroup: "group", GradientFlow: "flow"}
    inner |= {ValueGradient: "value_gradient", SavedTensor: "saved_tensor"}
    for kind, name in (*NAMES.items(), *inner.items()):
        fields = {field.name for field in dataclasses.fields(kind)} | ({"record"} if kind in NAMES else set())
        later = {field.name for field in dataclasses.fields(kind) if field.metadata}
        assert fields == set(definitions[name]["properties"]), name
        assert fields - later == set(definitions[name]["required"]), name


def test_a_killed_writer_leaves_every_record_that_it_was_given(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "new folder" / "records.jsonl")
    for record in (HEADER, *RULES, PASSES[0]):
        writer.write(record)
    assert load(writer.path, allow_truncated=True) == Report(HEADER, RULES, PASSES[:1])
    writer.close()


def test_a_number_that_json_lacks_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with Writer(tmp_path / "r.jsonl") as writer:
        with pytest.raises(ValueError, match="not JSON compliant"):
            writer.write(replace(FAILURE, program={"value": float("nan")}))
        assert writer.path.read_bytes() == b""


def test_a_message_may_hold_any_character(tmp_path: Path) -> None:
    odd = replace(FAILURE, observed='two\nlines, a separator \u2028, half a pair \ud800, a quote "')
    with Writer(tmp_path / "r.jsonl") as writer:
        for record in (HEADER, *RULES, odd, FOOTER):
            writer.write(record)
    assert read(writer.path).failures == (odd,)
