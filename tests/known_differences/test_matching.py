"""Known differences cover violations within their limits, and violations of more special rules than their own."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autograd_conformance.frameworks.blame.raised import REMARK
from autograd_conformance.known_differences import is_known
from autograd_conformance.known_differences.file import entry_of
from autograd_conformance.known_differences.update import Signature
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.programs.observations import Kind
from autograd_conformance.rules.violations.expected import ExpectedError, ExpectedReturn
from autograd_conformance.rules.violations.observed import OtherGradient, OtherValue, RaisedError
from autograd_conformance.rules.violations.pairs import SumsDiffer
from autograd_conformance.rules.violations.shared import NoGradient, Place
from autograd_conformance.rules.violations.violation import Allowed, Violation

SINE = parse("a = leaf [1, 2]; b = sin a; backward b with [1, 1]", VOCABULARY)
SQUARES = parse(
    "a = leaf [1, 2]; b = square a; backward b with [1, 1] create=True; c = held a; zero a; backward c with [1, 1]",
    VOCABULARY,
)


def covers(keys: dict[str, Any], program: Program, violation: Violation) -> bool:
    """Whether an entry with these keys covers a violation."""
    return is_known(entry_of({"reason": "r", "witness": program, **keys}), program, violation)


@pytest.mark.parametrize(
    ("got", "limits", "holds"),
    [
        ([1.0, 2.1], {"relative": 0.1}, True),
        ([1.0, 2.3], {"relative": 0.1}, False),
        ([1.0, 2.3], {"relative": 0.1, "absolute": 0.1}, True),
        ([1.0, 2.3], {"absolute": 0.1}, False),
        ([1.0, math.inf], {"relative": 1e300}, False),
        ([1.0, math.nan], {"relative": 1e300}, False),
        ([1.0, math.nan], {"nan": True}, True),
        ([1.5, math.nan], {"nan": True}, False),
        ([1.5, math.nan], {"nan": True, "relative": 0.5}, True),
        ([1.5, 2.0], {"nan": True, "relative": 0.5}, False),
        ([-7.0, math.inf], {"any_value": True}, True),
        ([1.0, 2.1], {}, False),
        ([1.0, 2.1], {"relative": 0.1, "dtype": "float64"}, True),
        ([1.0, 2.1], {"relative": 0.1, "dtype": "float32"}, False),
    ],
)
def test_wrong_values_are_waived_within_the_limits(got: list[float], limits: dict[str, Any], holds: bool) -> None:
    arrays = {"got": np.array(got), "want": np.array([1.0, 2.0]), "bound": np.array([1e-9, 1e-9])}
    violation = Violation("gradients/op", 2, OtherGradient(Place.LEAF), (), Ref(0), "sin", **arrays)
    assert covers({"rule": "gradients/op", "op": "sin", **limits}, SINE, violation) is holds


def test_any_value_waives_no_error() -> None:
    raised = Violation("gradients/op", 2, RaisedError(Kind.UNKNOWN, "RuntimeError", "no"), (), None, "sin")
    assert not covers({"rule": "gradients/op", "op": "sin", "any_value": True}, SINE, raised)


@pytest.mark.parametrize(
    ("rule", "observed", "holds"),
    [
        ("higher/differentiable", "higher/op", True),
        ("higher/differentiable", "higher/op-third", True),
        ("higher/differentiable", "gradients/op", False),  # a first derivative
        ("higher/op", "higher/differentiable", False),
        ("gradients/graph", "higher/op", True),
    ],
)
def test_an_entry_about_gradients_of_gradients_covers_each_order(rule: str, observed: str, holds: bool) -> None:
    arrays = {"got": np.array([2.1, 2.0]), "want": np.array([2.0, 2.0])}
    violation = Violation(observed, 5, OtherGradient(Place.LEAF), (), Ref(0), "square", **arrays)
    assert covers({"rule": rule, "op": "square", "relative": 0.1}, SQUARES, violation) is holds


@pytest.mark.parametrize(
    ("keys", "holds"),
    [
        ({"op": "sin"}, True),
        ({"root_without_inputs": True}, True),
        ({"duplicate_root": True}, False),  # not fulfilled
        ({"after": "sin"}, False),  # a key that covers no gradients of one op
    ],
)
def test_an_entry_about_gradients_covers_those_of_one_op(keys: dict[str, Any], holds: bool) -> None:
    program = parse(
        "a = leaf [1, 2]; b = leaf [3, 4]; c = sin a; d = sin b; e = grad c, d wrt a with [1, 1], [1, 1]", VOCABULARY
    )
    violation = Violation("gradients/op", 4, OtherGradient(Place.RESULT), (), Ref(4), "sin")
    assert covers({"rule": "gradients/graph", "any_value": True, **keys}, program, violation) is holds
    without = replace(violation, observed=NoGradient())
    assert not covers({"rule": "gradients/graph", "any_value": True, **keys}, program, without)


@pytest.mark.parametrize(("other", "holds"), [("hardsigmoid", True), ("sin", False)])
def test_an_entry_about_an_op_covers_a_graph_of_no_other(other: str, holds: bool) -> None:
    program = parse(f"a = leaf 1; b = hardsigmoid a; c = leaf 2; d = {other} c; backward b, d", VOCABULARY)
    keys = {"rule": "gradients/op", "op": "hardsigmoid", "relative": 1e-7}
    got, want = np.array(0.1666666716), np.array(1 / 6)
    violation = Violation("gradients/graph", 4, OtherGradient(Place.LEAF), (), Ref(0), got=got, want=want)
    assert covers(keys, program, violation) is holds
    assert not covers(keys, program, replace(violation, got=got + 0.1))


@pytest.mark.parametrize(("roots", "holds"), [("b, b with [1, 1], [1, 1]", True), ("b with [1, 1]", False)])
def test_a_duplicate_root_may_change_the_sum_of_two_calls(roots: str, holds: bool) -> None:
    program = parse(f"a = leaf [1, 2]; b = exp a; backward {roots}", VOCABULARY)
    keys = {"rule": "gradients/graph", "duplicate_root": True, "any_value": True}
    violation = Violation("relations/sum", 2, SumsDiffer("a", ("a",), None, None), (), Ref(0))
    assert covers(keys, program, violation) is holds
    assert not covers(keys, program, replace(violation, rule="relations/order"))


@pytest.mark.parametrize(
    ("keys", "kind", "allowed", "holds"),
    [
        ({"message": "no such leaf"}, Kind.UNKNOWN, (), True),
        ({"message": "no such leaf"}, Kind.NO_GRAD, (), False),
        ({"message": "no such leaf"}, Kind.NO_GRAD, (Allowed(ExpectedReturn(), "gradients/op"),), True),
        ({"raised": "no grad", "op": "sin"}, Kind.NO_GRAD, (Allowed(ExpectedReturn(), "gradients/op"),), True),
        ({"op": "sin"}, Kind.UNKNOWN, (Allowed(ExpectedReturn(), "gradients/op"),), False),
        ({"message": "no such leaf"}, Kind.RECOMPUTED, (Allowed(ExpectedError(Kind.GRAPH_FREED), "x"),), True),
    ],
)
def test_an_entry_about_an_error_covers_a_call_that_may_return(
    keys: dict[str, Any], kind: Kind, allowed: tuple[Allowed, ...], holds: bool
) -> None:
    violation = Violation("gradients/op", 2, RaisedError(kind, "E", "no such leaf here"), allowed, None, "sin")
    assert covers({"rule": "errors/legal-returns", **keys}, SINE, violation) is holds


@pytest.mark.parametrize(
    ("rule", "holds"),
    [("optimizers/skips", True), ("optimizers/keeps-gradients", False)],
)
def test_an_entry_with_an_optimizer_step_covers_all_rules_about_its_values(rule: str, holds: bool) -> None:
    program = parse("a = leaf [1]; backward a with [1]; step a sgd lr=0.5", VOCABULARY)
    keys = {"rule": "optimizers/formula", "step": "sgd", "any_value": True}
    assert covers(keys, program, Violation(rule, 2, OtherValue(), (), Ref(0))) is holds
    assert not covers({"rule": "optimizers/formula", "after": "backward", "any_value": True}, program,
                      Violation(rule, 2, OtherValue(), (), Ref(0)))  # fmt: skip


def test_a_written_message_is_the_frameworks_own() -> None:
    """The suite's remark on the adapter names a file, which is another one elsewhere."""
    said = f"there is no such leaf{REMARK}adapter.py, line 3, in f)"
    violation = Violation("errors/legal-returns", 2, RaisedError(Kind.UNKNOWN, "TypeError", said), (), None, "sin")
    assert Signature.of(SINE, violation).message == "there is no such leaf"
