"""Gradients: of each op in isolation, and of whole graphs."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograd_conformance.checking.audit import cancellation, corners, elements, kinks, shared, tails, uses
from autograd_conformance.checking.audit import programs as audit
from autograd_conformance.checking.audit.batches import check_all
from autograd_conformance.checking.check import RuleViolated
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.random_programs import programs
from autograd_conformance.strategies.situations import accumulation, gradients

rule = pytest.mark.rule

FEW = max(4, settings().max_examples // 10)
"""Number of programs that are drawn for one op, besides the fixed ones. There are many ops, and each has few shapes and
attributes.
"""

WHOLLY = settings().max_examples > 100
"""Whether each op is tested with every combination of shapes and attributes: not in the quick profile."""


def _affordable(prepared, programs):
    """Returns programs of one op, each of which needs a compiled region; only the first where compiling is costly."""
    return islice(programs, 1 if prepared.target.programs_each > 0 else None)


@rule("gradients/op")
def test_op_samples(check, prepared, op):
    is_costly = prepared.target.programs_each > 0
    check_all(check, audit.programs(op, prepared.drawable))
    check_all(check, corners.programs(op, prepared.drawable) if op not in prepared.faulty_ops else ())
    check_all(check, uses.programs(op, prepared.drawable, is_costly) if op not in prepared.faulty_ops else ())
    check_all(check, shared.programs(op, prepared.drawable[0]) if op not in prepared.faulty_ops else ())
    check_all(check, audit.under_another_default(op, prepared.drawable))
    check_all(check, audit.forms(op, prepared.drawable[0]) if WHOLLY else ())


@rule("gradients/op")
@settings(max_examples=FEW)
@given(data=st.data())
def test_op(check, op, data):
    check(data.draw(gradients.single_ops(op)))


@rule("gradients/forward")
@given(drawn=programs())
def test_forward(check, drawn: Drawn):
    check(drawn)


@rule("gradients/graph")
@given(drawn=gradients.whole_graphs())
def test_graph(check, drawn: Drawn):
    check(drawn)


@rule("gradients/graph")
@given(drawn=gradients.chains())
def test_chain(check, drawn: Drawn):
    check(drawn)


@rule("gradients/op")
@given(drawn=gradients.one_op_again())
def test_again(check, drawn: Drawn):
    check(drawn)


@rule("gradients/fan-out")
@given(drawn=gradients.fan_outs())
def test_fan_out(check, drawn: Drawn):
    check(drawn)


@rule("gradients/same-argument")
@given(drawn=gradients.same_arguments())
def test_same_argument(check, drawn: Drawn):
    check(drawn)


@rule("gradients/several-results")
@given(drawn=gradients.several_results())
def test_several_results(check, drawn: Drawn):
    check(drawn)


@rule("gradients/several-roots")
@given(drawn=gradients.several_roots())
def test_several_roots(check, drawn: Drawn):
    check(drawn)


@rule("gradients/cotangent")
@given(drawn=gradients.weighted_roots())
def test_cotangent(check, drawn: Drawn):
    check(drawn)


@rule("gradients/cotangent-kept")
@given(drawn=gradients.weighted_roots())
def test_cotangent_kept(check, drawn: Drawn):
    check(drawn)


@rule("gradients/equal-leaves")
@given(drawn=gradients.equal_leaves())
def test_equal_leaves(check, drawn: Drawn):
    check(drawn)


@rule("gradients/form")
@given(drawn=gradients.forms())
def test_form(check, drawn: Drawn):
    check(drawn)


@rule("gradients/requires-grad")
@given(drawn=accumulation.constant_leaves())
def test_requires_grad(check, drawn: Drawn):
    check(drawn)


@rule("gradients/tails")
@pytest.mark.parametrize("op", tails.FUNCTIONS)
def test_tails(check, prepared, op):
    for program in tails.programs(op, prepared.drawable, alphabet.current()):
        try:
            check(program)
        except RuleViolated:
            check_all(check, tails.single(program))
            raise


@rule("gradients/digits")
@given(drawn=gradients.lone_ops())
def test_digits(check, drawn: Drawn):
    check(drawn)


@rule("gradients/elements")
@pytest.mark.parametrize("op", elements.functions())
def test_elements(check, prepared, op):
    for program in _affordable(prepared, elements.programs(op, prepared.drawable, alphabet.current())):
        check(program)  # the first number is NaN, on which kernels differ most


@rule("gradients/kinks")
@pytest.mark.parametrize("op", kinks.functions())
def test_kinks(check, prepared, op):
    for program in _affordable(prepared, kinks.programs(op, prepared.drawable, alphabet.current())):
        check(program)


@rule("gradients/cancellation")
@pytest.mark.parametrize("op", cancellation.functions())
def test_cancellation(check, prepared, op):
    dtypes, is_costly = prepared.drawable, prepared.target.programs_each > 0
    works = op not in prepared.faulty_ops
    close = cancellation.programs(op, dtypes[:1] if is_costly else dtypes) if works else ()
    check_all(check, close, cancellation.plain)
