"""Coverage: pairs are counted from programs, cross processes as JSON, and are shown together with pairs never drawn."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

from autograd_conformance.checking.counts.coverage import ACTIONS, Pair, actions, pairs
from autograd_conformance.checking.counts.tally import Tally
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.reporting.analysis.coverage import coverage_table
from autograd_conformance.reporting.render import markdown
from tests.reporting.miniatures import COVERAGE, RARE, SOUND


def test_an_action_meets_what_stands_before_it():
    program = parse(
        "a = leaf f32 [1]; b = sin a; backward b retain=True; c = cos a; no_grad: d = exp c; step a sgd lr=1.0"
    )
    found = {(each.op, each.dtype, each.recorded, each.action) for each in pairs(program)}
    assert found == {
        ("sin", "float32", True, "backward"),
        ("sin", "float32", True, "backward retaining"),
        ("sin", "float32", True, "step"),
        ("cos", "float32", True, "step"),
        ("exp", "float32", False, "step"),
    }


def test_writes_are_ops_and_actions():
    program = parse("a = leaf 2 const; b = sin a; write b exp_; zero a")
    assert {(each.op, each.action) for each in pairs(program)} == {("sin", "write"), ("sin", "zero"), ("exp_", "zero")}


def test_every_action_has_a_place_in_the_order():
    text = """
        a = leaf 2; b = sin a; backward b retain=True; backward b create=True; backward b inputs a; g = grad b wrt a
        h = grad b wrt a create=True; i = held a; zero a; assign a none; step a sgd; clip_grad a norm 1.0
        c = leaf 1 const; write c exp_; d = detach a; detach_ b; requires d True; e = sin a; retain e
        f = hook e observe; drop e
    """
    assert {word for step in parse(text) for word in actions(step)} == set(ACTIONS)


def test_counts_survive_plain_data():
    counts = Counter({Pair("sin", "float64", True, "step"): 3, Pair("cos", "float32", False, "grad"): 1})
    tally = Tally({"a-claim": "right"}, Counter({0: 2, 3: 1}), counts)
    assert Tally.from_json(json.loads(json.dumps(tally.to_json()))) == tally


def test_tallies_add_up():
    total = Tally()
    for _ in range(2):
        total.add(Tally({"a-claim": "right"}, pairs=Counter({Pair("sin", "float64", True, "step"): 3})))
    assert total == Tally({"a-claim": "right"}, pairs=Counter({Pair("sin", "float64", True, "step"): 6}))


def test_pairs_that_never_met_are_named():
    found = coverage_table(replace(SOUND, coverage=(COVERAGE, RARE)))
    assert found is not None
    assert (found.pairs, found.covered) == (4, 3)
    assert [(each.name, each.ops, each.fewest_programs, each.missing) for each in found.actions] == [
        ("optimizer step", 1, 1, ("kron",)),
        ("backward", 2, 1, ()),
    ]
    page = markdown.render(replace(SOUND, coverage=(COVERAGE, RARE)))
    assert "3 of 4 pairs" in page
    assert "| optimizer step | 1 | 1 | `kron` |" in page


def test_a_run_that_counted_nothing_says_nothing():
    assert coverage_table(SOUND) is None
    assert "## Coverage" not in markdown.render(SOUND)
