"""Attributes and settings are validated against their rows: other names, types and texts are refused, in JSON and in
text.
"""

from __future__ import annotations

from typing import Any

import pytest

from autograd_conformance.ops.catalogue import ROWS, VOCABULARY
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.ops.rows.row import choices_of, rest_of
from autograd_conformance.programs.formats.codec import attrs_to_json, from_json, to_json
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import VERSION
from autograd_conformance.programs.validation import MalformedProgram

CODE = "__import__('os').system('touch PWNED')"
LEAF: dict[str, Any] = {"do": "leaf", "shape": [2], "dtype": "float64", "data": [1.0, 2.0]}


def applied(op: str, **attrs: Any) -> dict[str, Any]:
    return {"do": "apply", "op": op, "args": ["%0"], "attrs": attrs}


def step(**more: Any) -> dict[str, Any]:
    return {"do": "step", "leaves": ["%0"], "optimizer": "sgd", **more}


BAD = [
    (applied("select", dim=0, index=CODE), "is not a valid attribute value"),
    (applied("select", dim=CODE, index=0), "is not a valid attribute value"),
    (applied("take", dim=0, index=[0, CODE]), "is not a valid attribute value"),
    (applied("take", dim=0, index=[[CODE]]), "is not a valid attribute value"),
    (applied("select", dim=0, index="exit"), "attribute index of select is a whole number, not 'exit'"),
    (applied("select", dim=0, index={"float": 1.5}), "attribute index of select is a whole number, not 1.5"),
    (applied("select", dim=0, index=True), "attribute index of select is a whole number, not True"),
    (applied("select", dim=0, index=None), "attribute index of select is a whole number, not None"),
    (applied("select", dim=0, index=[0]), "attribute index of select is a whole number, not (0,)"),
    (applied("take", dim=0, index=0), "attribute index of take is a tuple of a whole number, not 0"),
    (applied("take", dim=0, index=[{"float": 0.0}]), "attribute index of take is a tuple of a whole number"),
    (applied("select", dim=0), "select needs the attribute index"),
    (applied("select", dim=0, index=0, step=1), "select has no attribute 'step'; it has dim, index"),
    (applied("exp", base=2), "exp has no attribute 'base'; it has none"),
    (applied("exp", **{CODE: 2}), "is not the name of an attribute"),
    (applied("exp", **{"a=1, b": 2}), "'a=1, b' is not the name of an attribute"),
    (applied("sum", dim=[0], keepdim=0), "attribute keepdim of sum is True or False, not 0"),
    (applied("multiply_scalar", scalar="nan"), "attribute scalar of multiply_scalar is a whole number or a number"),
    (applied("einsum", equation="ij,jk"), "is not a valid attribute value"),
    (applied("einsum", equation="system"), "attribute equation of einsum is an equation, not 'system'"),
    (applied("pad_border", pad=[1, 1], mode="wrap"), "is 'circular' or 'reflect' or 'replicate', not 'wrap'"),
    (applied("nn_linear", bias=CODE), "is not a valid attribute value"),
    (applied("nn_linear", bias=1), "attribute bias of nn_linear is True or False, not 1"),
    (applied("nn_attention", heads=1, bias=True, batch_first=True, memory=False, mask="all", padding=None,
             need_weights=True), "attribute mask of nn_attention is None or a tuple of True or False or 'causal'"),
    (applied("dropout", p="half", seed=0), "attribute p of dropout is a number, not 'half'"),
    ({"do": "write", "op": "add_scalar_", "target": "%0", "attrs": {"scalar": CODE}}, "is not a valid attribute value"),
    ({"do": "write", "op": "add_scalar_", "target": "%0", "attrs": {"scalar": "pi"}}, "scalar of add_scalar_"),
    ({"do": "write", "op": "fill_", "target": "%0"}, "fill_ needs the attribute value"),
    (step(settings={"lr": CODE}), "is not a valid attribute value"),
    (step(settings={"lr": "fast"}), "setting lr of sgd is a number, not 'fast'"),
    (step(settings={"lr": True}), "setting lr of sgd is a number, not True"),
    (step(settings={"beta": 1}), "sgd has no setting 'beta'; it has lr, "),
    (step(settings={f"lr={CODE}, momentum": 1}), "is not the name of an attribute"),
    (step(settings={"foreach": "yes"}), "setting foreach of sgd is True or False, not 'yes'"),
    (step(groups=[{"leaves": 1, "settings": {"lr": CODE}}]), "is not a valid attribute value"),
    (step(groups=[{"leaves": 1, "settings": {"nesterov": True}}]), "a group of sgd has no setting 'nesterov'"),
    ({"do": "optimizer", "leaves": ["%0"], "optimizer": "adam", "settings": {"betas": [CODE]}}, "attribute value"),
    ({"do": "optimizer", "leaves": ["%0"], "optimizer": "adam", "settings": {"betas": {"float": 0.5}}},
     "setting betas of adam is a tuple of a number, not 0.5"),
    ({"do": "hook", "target": "%0", "effect": CODE}, "unknown effect"),
    ({"do": "clip_grad", "leaves": ["%0"], "kind": CODE, "bound": 1.0}, "unknown"),
    ({"do": "clip", "leaves": ["%0"], "kind": CODE, "bound": 1.0}, "unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "part"), BAD, ids=str)
def test_what_no_row_offers_is_refused(bad: dict[str, Any], part: str) -> None:
    with pytest.raises(MalformedProgram) as error:
        from_json({"version": VERSION, "instructions": [LEAF, bad]}, VOCABULARY)
    assert part in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        f'a = leaf [1, 2]; b = select a dim=0 index="{CODE}"',
        "a = leaf [1, 2]; b = select a dim=0 index=b'1'",
        "a = leaf [1, 2]; b = select a dim=0 index={0:1}",
        "a = leaf [1, 2]; b = select a dim=0 index=[0]",
        "a = leaf [1, 2]; b = select a dim=0 index=1j",
        "a = leaf [1, 2]; b = select a dim=0 index=...",
        "a = leaf [1, 2]; write a fill_ value='x'",
        "a = leaf [1, 2]; step a sgd lr='x'",
        "a = leaf [1, 2]; step a sgd groups=((1,(('lr','x'),)),)",
    ],
)
def test_the_text_form_is_validated_in_the_same_way(text: str) -> None:
    with pytest.raises(MalformedProgram):
        parse(text, VOCABULARY)


@pytest.mark.parametrize("text", ["a b", "a;b", "f()", "a.b", "a=b", "'a'", "a\nb", "", "1a", "a->b()", "ij,jk"])
def test_no_text_but_words_and_equations_passes_without_a_vocabulary(text: str) -> None:
    with pytest.raises(MalformedProgram, match="is not a valid attribute value"):
        from_json({"version": VERSION, "instructions": [LEAF, applied("select", dim=0, index=text)]})


@pytest.mark.parametrize("op", ROWS)
def test_all_that_a_row_offers_is_allowed(op: str) -> None:
    row = ROWS[op]
    shapes = [(first, *rest) for first in row.fresh for rest in rest_of(row, first)]
    for attrs in [*(attrs for each in shapes for attrs in choices_of(row, each)), *row.examples[:1]]:
        assert VOCABULARY.attributes(op, attrs) is None, attrs


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_all_settings_of_an_optimizer_are_allowed(name: str) -> None:
    row = OPTIMIZERS[name]
    for settings in (row.defaults, *row.choices, *row.variants):
        own = tuple((key, value) for key, value in settings if key in row.overrides)
        assert VOCABULARY.settings(name, settings, ((1, own),)) is None


def test_a_program_may_have_other_numbers_than_those_that_are_drawn() -> None:
    program = parse("a = leaf [1, 2]; b = multiply_scalar a scalar=7.25; c = pow_scalar b exponent=-9", VOCABULARY)
    assert from_json(to_json(program), VOCABULARY) == program
    assert attrs_to_json((("scalar", 7.25),)) == {"scalar": {"float": 7.25}}
