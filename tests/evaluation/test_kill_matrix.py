"""The matrix's pages report the results: survivors, rules without kills, and the finds of each baseline."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from autograd_conformance.rules.catalogue import RULES
from evaluation.kill_matrix import page
from evaluation.kill_matrix.rows import Cell, Row, append, decode, encode, records
from evaluation.kill_matrix.summary import Long, Results, RoundFigures, Whole, families, kinds, long, rule_kills, scores
from evaluation.kill_matrix.work import read, tasks

KILLED = Cell(
    True,
    3,
    0.5,
    "accumulation/test_adds",
    "accumulation/adds",
    None,
    "float64",
    4,
    ("accumulation/adds", "accumulation/first"),
)
PASSED = Cell(False, 40, 0.2)
HAND = Row("mutants/overwrites", False, "accumulation", None, "accumulation", ("accumulation/adds",), {
    "accumulation": KILLED, "views": PASSED,
})  # fmt: skip
SURVIVOR = Row(
    "mutants/unseen", False, "views", None, "views", ("views/shares",), {"accumulation": PASSED, "views": PASSED}
)
MADE = Row("mutants/sin_sign", True, "sign", "sin", "gradients", ("gradients/op",), {
    "gradients": Cell(True, 1, 0.1, "op_samples[sin]", "gradients/op", "sin", "float64", 3), "accumulation": PASSED,
})  # fmt: skip
FIND = {"baseline": "gradcheck", "mutant": "mutants/sin_sign", "could": True, "found": True, "cases": 7, "seconds": 2.0}


def results() -> Results:
    figures = RoundFigures("gradcheck", "what it is", 100, 6.0, 1, ["astype_float32"], 6.1)
    return Results(
        (HAND, SURVIVOR, MADE), {("gradcheck", "sin_sign"): {"name": "sin_sign", **FIND}}, {"gradcheck": figures}
    )


def test_a_row_survives_the_folder(tmp_path: Path) -> None:
    append(tmp_path / "1.jsonl", encode(HAND))
    append(tmp_path / "2.jsonl", {"record": "find", "name": "sin_sign", **FIND})
    with (tmp_path / "2.jsonl").open("a") as file:
        file.write(json.dumps(encode(SURVIVOR))[:50])  # cut short
    assert len(list(records(tmp_path))) == 2
    back = read(tmp_path)
    assert back.rows == (HAND,)
    assert decode({**encode(HAND)}) == HAND
    assert back.finds_by_name["gradcheck", "sin_sign"]["seconds"] == 2.0
    assert back.whole is None
    append(tmp_path / "whole.jsonl", {"record": "whole", "seconds": 1200, "jobs": 2})
    assert read(tmp_path).whole == Whole(1200, 2)


def test_finished_work_is_skipped(tmp_path: Path) -> None:
    first = tasks(2, read(tmp_path))
    killing = [task for task in first if task.baseline is None and len(task.mutants) == 1]
    append(tmp_path / "1.jsonl", {**encode(HAND), "mutant": killing[0].mutants[0]})
    assert killing[0] not in tasks(2, read(tmp_path))
    assert len(tasks(2, read(tmp_path))) == len(first) - 1


def test_families_count_what_they_kill() -> None:
    groups = {group.name: group for group in families([HAND, SURVIVOR])}
    assert (groups["accumulation"].mutants, groups["accumulation"].own, groups["accumulation"].right) == (1, 1, 1)
    assert groups["accumulation"].by_others == "0 of 1"
    assert groups["views"].killed == 0
    (kind,) = kinds([MADE], lambda name: 0)
    assert (kind.name, kind.own, kind.programs, kind.size, kind.by_others) == ("sign", 1, 1, 3, "0 of 1")


def test_the_wrong_op_is_not_right() -> None:
    assert MADE.right
    other = Row(**{**{name: getattr(MADE, name) for name in Row.__slots__}, "op": "cos"})
    assert other.own_cell.killed and not other.right


def test_pages_name_what_falls_short() -> None:
    text = page.page(results(), "abc")
    assert "Not killed by any test (1): `mutants/unseen`." in text
    assert "kill 0 of these, and not\n1: `mutants/unseen`." in text
    (powerless,) = [line for line in text.splitlines() if line.startswith("Rules that kill no mutant")]
    assert "`views/shares`" in powerless
    assert "`accumulation/adds`" not in powerless and "`accumulation/first`" not in powerless
    assert "| `accumulation/adds` | 1 | 1 |" in text and "| `accumulation/first` | 0 | 1 |" in text
    assert "| `mutants/overwrites` | **3** | · |" in text
    assert "| gradcheck | 100 | 6 | 1 | 1 of 1 | 1 | 2.0 | 0 of 0 | 0 |  |" in text
    assert "astype_float32" in text
    assert "All results on this page" not in text
    timed = page.page(replace(results(), whole=Whole(1200, 2)), "abc")
    assert "took\n20 minutes with 2 processes." in timed


def test_long_programs_have_a_reason() -> None:
    longer = replace(HAND, cells={"accumulation": replace(KILLED, size=11)})
    assert long([HAND, longer], lambda row: "because") == [Long("because", [("mutants/overwrites", 11)])]
    assert rule_kills([HAND])[0].rule in RULES


def test_baselines_are_counted_by_sort() -> None:
    (score,) = scores(results())
    assert score.generated.found == score.generated.could == 1
    assert score.by_hand.mutants == 0
    assert score.generated.each == 2.0
