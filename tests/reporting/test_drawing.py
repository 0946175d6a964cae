"""Drawings of programs show the order of instructions, are legible, and can be made from any record."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from autograd_conformance.reporting.drawing.flow import with_gradients
from autograd_conformance.reporting.drawing.graph import Edge, ProgramGraph, graph, programs, sentences
from autograd_conformance.reporting.drawing.groups import group_sentences, with_groups
from autograd_conformance.reporting.drawing.svg import FailingLine, svg
from autograd_conformance.reporting.records.failure import LineGroup
from autograd_conformance.reporting.records.flow import GradientFlow, SavedTensor, ValueGradient

LEAF = {"do": "leaf", "shape": [2], "dtype": "float64", "data": [1.5, 2.0]}
BACKWARD = {"do": "backward", "roots": ["%1"], "cotangents": [None]}
WRITTEN = [
    LEAF,
    {"do": "apply", "op": "multiply", "args": ["%0", "%0"]},
    {"do": "write", "op": "square_", "target": "%1"},
    {"do": "apply", "op": "exp", "args": ["%1"], "modes": ["no_grad"]},
    BACKWARD,
    {"do": "zero_grad", "leaves": ["%0"]},
    {"do": "backward", "roots": ["%3"], "cotangents": [None], "retain_graph": True},
]
CODE = "a = leaf()\nb = a * a\nb.square_()\nc = exp(b)\nb.backward()\na.grad = None\nc.backward(retain_graph=True)"

Rect = tuple[float, float, float, float]


def boxes(picture: str) -> list[Rect]:
    found = re.findall(r'<rect x="([-\d.]+)" y="([-\d.]+)" width="([\d.]+)" height="([\d.]+)"', picture)
    return [(float(x), float(y), float(x) + float(w), float(y) + float(h)) for x, y, w, h in found]


def edges(drawn: ProgramGraph, link: str) -> set[tuple[int, int]]:
    return {(edge.tail, edge.head) for edge in drawn.edges if edge.kind == link}


def test_a_value_read_after_a_write_is_the_result_of_the_write() -> None:
    drawn = graph(WRITTEN, CODE)
    assert Edge(1, 2, "data", 2) in drawn.edges
    assert edges(drawn, "acts") == {(2, 3), (1, 6)}
    assert edges(drawn, "data") == {(1, 2), (3, 4), (3, 5), (4, 7)}


def test_calls_without_another_path_are_joined_in_order() -> None:
    assert edges(graph(WRITTEN, CODE), "then") == {(5, 6), (6, 7)}


def test_values_have_the_names_of_the_code_or_numbers() -> None:
    assert [node.makes for node in graph(WRITTEN, CODE).nodes] == ["a", "b", "", "c", "", "", ""]
    assert [node.makes for node in graph(WRITTEN, "a crash left no code").nodes][:2] == ["%0", "%1"]
    split = [LEAF, {"do": "apply", "op": "split", "args": ["%0"], "results": 2}]
    assert graph(split, "a = leaf()\nb, c = split(a)").nodes[1].makes == "b, c"
    grad = [LEAF, {"do": "grad", "roots": ["%0"], "inputs": ["%0"], "cotangents": [None]}]
    assert graph(grad, "a = leaf()\n(b,) = torch.autograd.grad(a, a)").nodes[1].makes == "b"


def test_the_words_say_what_the_picture_does() -> None:
    assert list(sentences(graph(WRITTEN, CODE), 7)) == [
        "Line 1: a leaf, which makes a ([1.5, 2]; shape 2, float64).",
        "Line 2: multiply of a, which makes b.",
        "Line 3: square_ of b.",
        "Line 4: exp of b, which makes c (under no_grad).",
        "Line 5: backward of b.",
        "Line 6: clear gradients of a (1 value).",
        "Line 7: backward of c (retain_graph=True). This line fails.",
    ]


@pytest.mark.parametrize("count", [3, 5, 10, 20, 40])
@pytest.mark.parametrize("seed", range(4))
def test_no_box_overlaps_another_and_nothing_leaves_the_picture(count: int, seed: int) -> None:
    picture = svg(graph(drawn_program(count, seed), ""), "d", "a program", FailingLine(count, ("observed", "x" * 34)))
    size = re.search(r'viewBox="0 0 (\d+) (\d+)"', picture)
    assert size is not None
    found = boxes(picture)
    assert len(found) == count
    for left, top, right, bottom in found:
        assert left >= 0 and top >= 0 and right <= int(size[1]) and bottom <= int(size[2])
    for along in re.findall(r'<path d="([^"]+)"', picture):
        for x, y in re.findall(r"([-\d.]+),([-\d.]+)", along):
            assert 0 <= float(x) <= int(size[1]) and 0 <= float(y) <= int(size[2])
    for (left, top, right, bottom), (other_left, other_top, other_right, other_bottom) in combinations(found, 2):
        apart = right <= other_left or other_right <= left or bottom <= other_top or other_bottom <= top
        assert apart


def drawn_program(count: int, seed: int) -> list[dict[str, Any]]:
    """A random program with this number of instructions: leaves, ops, writes, calls."""
    rng = random.Random(seed)
    steps: list[dict[str, Any]] = [LEAF]
    values = ["%0"]
    while len(steps) < count:
        at, kind = len(steps), rng.choice(["leaf", "op", "op", "op", "write", "backward", "zero"])
        match kind:
            case "leaf":
                steps.append(LEAF)
            case "op":
                steps.append({"do": "apply", "op": "add", "args": rng.choices(values[-6:], k=2)})
            case "write":
                steps.append({"do": "write", "op": "mul_", "target": rng.choice(values), "args": [rng.choice(values)]})
            case "backward":
                steps.append({"do": "backward", "roots": [rng.choice(values)], "cotangents": [None]})
            case _:
                steps.append({"do": "zero_grad", "leaves": rng.choices(values, k=2)})
        if kind in ("leaf", "op"):
            values.append(f"%{at}")
    return steps


FLOW = GradientFlow(
    gradients=(
        ValueGradient(name="c", line=4, through=(), expected="1", observed="1", right=True),
        ValueGradient(name="b", line=3, through=(4,), expected="2", observed="3", right=False),
        ValueGradient(name="a", line=1, through=(2,), expected="5", observed="6", right=False),
    ),
    saved=(
        SavedTensor(line=2, name="a", version=0, now=0),
        SavedTensor(line=2, name="b", version=0, now=1),
        SavedTensor(line=4, name="b", version=1, now=1, freed_by=5),
    ),
)


def test_the_first_wrong_gradient_is_a_box_on_its_way() -> None:
    drawn = with_gradients(graph(WRITTEN, CODE), FLOW, 7)
    assert edges(drawn, "wrong") == {(3, 0), (0, 4)} and (3, 4) not in edges(drawn, "data")
    signs = {(edge.tail, edge.head): edge.right for edge in drawn.edges if edge.right is not None}
    assert signs == {(4, 7): True, (1, 2): False}
    picture = svg(drawn, "d", "a program", FailingLine(7))
    assert all(text in picture for text in ("gradient of b", "expected 2", "observed 3"))
    assert len(boxes(picture)) == len(WRITTEN) + 1


def test_a_held_gradient_hangs_on_its_leaf() -> None:
    held = GradientFlow(gradients=(replace(FLOW.gradients[2], held=True),))
    drawn = with_gradients(graph(WRITTEN, CODE), held, 7)
    assert edges(drawn, "wrong") == {(1, 0)} and drawn.nodes[-1].title == "a.grad"


def test_saved_tensors_are_in_the_box_and_in_the_sentences() -> None:
    drawn = with_gradients(graph(WRITTEN, CODE), FLOW, 7)
    assert drawn.nodes[1].saved == ("saves a (version 0)",) and drawn.nodes[1].warnings == (
        "saved version 0 of b; now 1",
    )
    assert drawn.nodes[3].warnings == ("saved b, which line 5 freed",)
    assert "saves a (version 0); saved version 0 of b; now 1" in list(sentences(drawn, 7))[1]


def test_groups_have_a_ground_and_a_name_in_their_first_line() -> None:
    groups = (LineGroup("iteration", (2, 3)), LineGroup("iteration", (4, 5)), LineGroup("iteration", (90,)))
    drawn = with_groups(graph(WRITTEN, CODE), groups)
    assert [node.notes[:1] for node in drawn.nodes][1:5] == [("iteration 1",), (), ("iteration 2",), ()]
    picture = svg(drawn, "d", "a program")
    assert picture.count('class="group') == 2
    assert list(group_sentences(groups))[:1] == ["Iteration 1: lines 2, 3."]


def test_one_program_is_drawn_once_for_ever() -> None:
    first, second = (svg(graph(WRITTEN, CODE), "d", "t", FailingLine(7)) for _ in range(2))
    assert first == second


def test_two_related_programs_are_two_drawings() -> None:
    form = {"relation": "r", "first": {"instructions": WRITTEN}, "second": {"instructions": [LEAF, BACKWARD]}}
    assert [len(steps) for steps in programs(form)] == [7, 2]
    assert programs({}) == programs({"instructions": []}) == programs({"instructions": [{"no": "do"}]}) == ()


def test_what_a_record_holds_cannot_break_the_picture() -> None:
    odd: list[dict[str, Any]] = [
        {"do": "leaf", "shape": 5, "dtype": "<b>", "data": {"x": 1}, "modes": 7},
        {"do": "<script>", "target": "%99", "leaves": ["%1", "%0", 3, None], "roots": "%0.99999999"},
        {"do": "apply", "op": {"a": 1}, "args": [["%0"], "%2"], "attrs": [1], "results": 10**9},
        {"do": "apply", "op": "a\x00\u202eb" * 50, "args": "%1", "results": "two", "attrs": {"</svg>": {"x": "&"}}},
    ]
    drawn = graph(odd, "a\nb\nc\nd")
    picture = svg(drawn, "d", '<i>"title"</i>', FailingLine(2, ("</text><script>",)), (1, 99))
    assert "<script" not in picture and "\x00" not in picture and "\u202e" not in picture
    assert len(list(sentences(drawn, None))) == len(boxes(picture)) == 4
