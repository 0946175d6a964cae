"""A record file is valid, or is rejected with a message that names the error."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from autograd_conformance.reporting.records.encoding import encode
from autograd_conformance.reporting.records.stream import InvalidReport, parse, read
from tests.reporting.miniatures import (
    CLAIM,
    CLAIMS,
    FAILURE,
    FOOTER,
    HEADER,
    KNOWN,
    OP,
    PASSES,
    RAISES,
    RULES,
    SOUND,
    invalid,
    lines,
)

INVALID = {
    "empty": (b"", "f: the file has no header: it is empty"),
    "a page on one line": (b"<html>", "f, line 1: malformed JSON at column 1: Expecting value"),
    "another kind of file": (b"<html>\n", "f, line 1: malformed JSON at column 1: Expecting value"),
    "a comma too many": (lines(HEADER) + b'{"record":"footer",}\n', "f, line 2: malformed JSON at column 20"),
    "NaN": (lines(HEADER) + b'{"record":NaN}\n', "f, line 2: malformed JSON: NaN is not valid JSON"),
    "not an object": (b"[1]\n", "f, line 1: a record is a JSON object"),
    "unknown record": (
        b'{"record":"x"}\n',
        "f, line 1: $.record: 'x' is none of header, rule, result, failure, known, claim, coverage, behaviour, "
        "interactions, footer",
    ),
    "a later version": (
        invalid(HEADER, version=2),
        "f, line 1: $.version: this program reads version 1 of the records",
    ),
    "no header": (lines(*RULES, FOOTER), "f, line 1: the file has no header: its first record must be one"),
    "two runs in one file": (lines(HEADER, HEADER), "f, line 2: there is a second header"),
    "a rule twice": (lines(HEADER, RULES[0], RULES[0]), f"f, line 3: rule '{RAISES}' has two records"),
    "an unlisted rule": (lines(HEADER, PASSES[0]), f"f, line 2: this line names rule '{RAISES}', which has no record"),
    "a failure of an unlisted rule": (
        lines(HEADER, FAILURE),
        f"f, line 2: this line names rule '{RAISES}', which has no record",
    ),
    "a known difference of an unlisted rule": (
        lines(HEADER, *RULES[:2], KNOWN),
        f"f, line 4: this line names rule '{OP}', which has no record",
    ),
    "a known difference seen less than never": (
        lines(HEADER, *RULES) + invalid(KNOWN, seen=-1),
        "f, line 5: $.seen: -1 is less than the minimum of 0 (a known record)",
    ),
    "a known difference without reason": (
        lines(HEADER, *RULES) + invalid(KNOWN, reason=None),
        "f, line 5: $.reason: None is not of type 'string' (a known record)",
    ),
    "a known difference after the end": (
        lines(HEADER, *RULES, FOOTER, KNOWN),
        "f, line 6: there is a record after the footer",
    ),
    "a claim twice": (lines(HEADER, CLAIM, CLAIM), "f, line 3: claim 'again-raises' has two records"),
    "a claim after the end": (lines(HEADER, FOOTER, CLAIM), "f, line 3: there is a record after the footer"),
    "a claim judged in other words": (
        lines(HEADER) + invalid(CLAIM, verdict="true"),
        "f, line 2: $.verdict: 'true' is not one of ['holds', 'holds under a condition', 'false as written', 'false', "
        "'not testable']",
    ),
    "a claim seen in other words": (
        lines(HEADER) + invalid(CLAIM, observed="yes"),
        "f, line 2: $.observed: 'yes' is not one of ['right', 'wrong', 'mixed', 'unknown', 'not run'] (a claim record)",
    ),
    "a claim about line nought": (
        lines(HEADER) + invalid(CLAIM, programs=[encode(CLAIM)["programs"][0] | {"line": 0}]),
        "f, line 2: $.programs[0].line: 0 is less than the minimum of 1 (a claim record)",
    ),
    "no footer": (lines(HEADER, *RULES), "f, line 4: the file ends without a footer: the run was killed here"),
    "killed as it wrote": (lines(HEADER, *RULES)[:-9], "f, line 4: the line is incomplete: the run was killed"),
    "more after the end": (lines(HEADER, FOOTER, RULES[0]), "f, line 3: there is a record after the footer"),
    "unknown verdict": (
        lines(HEADER, *RULES) + invalid(PASSES[0], verdict="ok"),
        "f, line 5: $.verdict: 'ok' is not one of ['pass', 'fail', 'known difference', 'not applicable', 'vacuous',",
    ),
    "a field inside a field": (
        lines(HEADER, *RULES) + invalid(FAILURE, why=[{"line": 0, "text": ""}]),
        "f, line 5: $.why[0].line: 0 is less than the minimum of 1 (a failure record)",
    ),
    "a field left out": (
        b'{"record":"header","version":1}\n',
        "f, line 1: $: 'suite' is a required property (a header",
    ),
    "a field too many": (
        invalid(HEADER, colour="red"),
        "f, line 1: $: Additional properties are not allowed ('colour'",
    ),
    "local time": (
        invalid(HEADER, started="2026-01-02T03:04:05+02:00"),
        "f, line 1: $.started: '2026-01-02T03:04:05+02",
    ),
}


@pytest.mark.parametrize("how", INVALID)
def test_each_way_to_be_invalid_has_its_own_message(how: str) -> None:
    content, message = INVALID[how]
    with pytest.raises(InvalidReport, match="^" + re.escape(message)):
        parse(content, "f")


def test_a_known_difference_may_be_anywhere_between_the_rules_and_the_footer() -> None:
    stale = replace(KNOWN, rule=RAISES, op=None, link=None, seen=0)
    first = parse(lines(HEADER, *RULES, KNOWN, *PASSES, stale, FOOTER), "f")
    assert first == replace(SOUND, known=(KNOWN, stale))
    assert parse(lines(HEADER, *RULES, *PASSES, KNOWN, stale, FOOTER), "f") == first


def test_claims_may_be_anywhere_before_the_footer_and_keep_their_order() -> None:
    first = parse(lines(HEADER, *RULES, CLAIMS[0], *PASSES, *CLAIMS[1:], FOOTER), "f")
    assert first == replace(SOUND, claims=CLAIMS)
    assert parse(lines(HEADER, *RULES, *PASSES, *CLAIMS, FOOTER), "f") == first


def test_a_file_that_is_not_there_is_invalid_too(tmp_path: Path) -> None:
    with pytest.raises(InvalidReport, match=r"absent\.jsonl: No such file"):
        read(tmp_path / "absent.jsonl")


def test_a_truncated_run_can_be_read_on_request() -> None:
    whole = lines(HEADER, *RULES, *PASSES)
    assert parse(whole[:-1], "f", allow_truncated=True) == replace(SOUND, footer=None)
    assert parse(whole[:-5], "f", allow_truncated=True) == replace(SOUND, results=PASSES[:-1], footer=None)
    with pytest.raises(InvalidReport, match="line 2: malformed"):
        parse(b"\n".join([lines(HEADER).strip(), b"{", lines(FOOTER)]), "f", allow_truncated=True)


def test_what_a_run_found_missing_is_no_op_of_the_framework() -> None:
    ops = HEADER.framework.ops
    report = parse(lines(HEADER, *RULES, *PASSES, replace(FOOTER, missing_ops=("cummax", "median"))), "f")
    assert report.header.framework.ops == ops - 2
    assert report.header.framework.missing_ops == (*HEADER.framework.missing_ops, "cummax", "median")
    again = parse(lines(report.header, *RULES, *PASSES, report.footer), "f")
    assert again.header == report.header
