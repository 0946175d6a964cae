"""The conditions of entries: for each key, programs with a violation that fulfils it, and others that do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autograd_conformance.known_differences import is_known
from autograd_conformance.known_differences.condition import Value
from autograd_conformance.known_differences.file import entry_of
from autograd_conformance.known_differences.table import CONDITIONS
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.observations import Kind
from autograd_conformance.rules.violations.observed import (
    OtherGradient,
    OtherValue,
    RaisedError,
    ReturnedUnexpectedly,
)
from autograd_conformance.rules.violations.shared import (
    Flag,
    GradientForm,
    NoGradient,
    OwnMemory,
    Place,
    ResultDtype,
    ResultShape,
)
from autograd_conformance.rules.violations.violation import Allowed, Violation

RULE = "accumulation/adds"
A = Ref(0)
NO = RaisedError(Kind.NO_GRAD, "RuntimeError", "no such leaf")
LOST = Flag(requires=False)
VALUES = {"observed": OtherValue(), "want": np.array([1.0, 2.0, 3.0]), "bound": np.full(3, 0.5)}
SHAPES = (Allowed(ResultShape((2, 0)), RULE),)
FORMS = (Allowed(GradientForm((), "float32"), RULE),)

SINE = "a = leaf [1, 2]; b = sin a"
GRAD = "a = leaf [1, 2]; c = grad a wrt a with [1, 1]"
STEP = "a = leaf [1]; backward a with [1]; step a sgd lr=0.5"
HOOK = "a = leaf [1, 2]; b = square a; c = hook b {}; backward b with [0, 0]"
AGAIN = "a = leaf 2; b = sin a; backward b; c = multiply b a; backward {}"
SET = "a = leaf 2; e = leaf 3; b = sin {}; backward b{}; c = cos a; backward c"
RETAINED = "a = leaf [1]; b = leaf [2]; c = sin b; d = sin a; backward d with [1] retain=True"
FREED = "a = leaf [1]; b = leaf [2]; c = sin b; d = sin a; backward d with [1]"
ROOTS = (
    "a = leaf f32 [1, 2]; b = square a; c = broadcast_to b shape=(2,); d = reshape b shape=(2,); e = sin b; "
    "f = abs b; g = grad {} wrt a with f32 [1, 10], f32 [1, 10]"
)
INPUTS = "a = leaf [1, 2]; b = leaf [3, 4]; c = sin a; d = sin b; e = grad c, d wrt {} with [1, 1], [1, 1]"
INTO = "a = leaf [0]; b = sigmoid a; c = expand_dims b dim=0; write {} exp_; d = multiply b b; backward d with [1]"
TOGGLE = "a = leaf [1] const; b = leaf [2]; {}; c = multiply a b; {}; backward c with [1]"
VIEWED = "a = leaf [1, 2] const; b = expand_dims a dim=0; c = leaf [[3, 4]]"
DETACHED = "a = leaf [1, 2] const; b = leaf [3, 4]; c = detach a"
HELD = "a = leaf [1, 2]; {}; assign a b; c = held a; write c sin_; d = tanh a"
OPERANDS = "a = leaf [[1, 2], [3, 4]] const; b = leaf [[1, 2], [3, 4]]; c = leaf [[1, 2], [3, 4]]"
OVERLAPS = "a = leaf [1, 2] const; b = broadcast_to a shape=(2, 2); c = detach b; requires c True"
VIEW_LEAF = "a = leaf [1, 2] const; b = expand_dims a dim=0; requires b True"
VIEW_OF_LEAF = f"{VIEW_LEAF}; c = expand_dims b dim=0"
VIEW_OF_RESULT = "a = leaf [1, 2]; b = expand_dims a dim=0; requires b True; c = expand_dims b dim=0"
IN = "a = leaf [0]; b = sigmoid a; write b exp_; c = multiply b b; d = sin a; backward {} with [1]"
GIVEN = "a = leaf [1, 2, 3]; b = square a; c = unfold b dimension=0 size=2 step=1; d = sin c; {}; backward d with {}"
MODES = "a = leaf [2]; no_grad: b = exp a; no_grad: {}; d = exp c"
OUT = "a = leaf [[1, 2], [3, 4]]; {}; hook b observe; hook c observe"
VIEW = "b = square a; c = matrix_transpose b"
TWICE = "a = leaf [1, 2]; b = leaf [1, 2]; c = max a; d = {}"
INNER = "a = leaf [[1, 2, 3]]; b = {}; c = inner a b"

Row = tuple[Value, str, bool, dict[str, Any]]
"""The value of a key, a program whose last instruction fails unless `at` says another, whether the condition holds, and
more about the violation or the entry's op (`of`).
"""


def row(value: Value, program: str, holds: bool, **more: Any) -> Row:
    return value, program, holds, more


def region(*steps: int) -> dict[int, tuple[int, ...]]:
    return dict.fromkeys(steps, steps)


ROWS: dict[str, list[Row]] = {
    "returned": [
        row(True, SINE, True, observed=ReturnedUnexpectedly()),
        *(row(True, SINE, False, observed=each) for each in (NO, NoGradient(), OtherGradient(Place.LEAF))),
    ],
    "raised": [
        row("no grad", SINE, True, observed=NO),
        row("unknown", SINE, False, observed=NO),
        row("no grad", SINE, False),
    ],
    "message": [
        row("such leaf", SINE, True, observed=NO),
        row("another leaf", SINE, False, observed=NO),
        row("such leaf", SINE, False),
    ],
    "result_dtype": [
        row("float64", SINE, True, observed=ResultDtype("float64")),
        row("float64", SINE, False, observed=ResultDtype("int8")),
        row("float64", SINE, True, observed=GradientForm((), "float64"), allowed=FORMS),
        row("float64", SINE, False, observed=GradientForm((1,), "float64"), allowed=FORMS),
        row("float64", SINE, False, observed=GradientForm((), "float16"), allowed=FORMS),
    ],
    "wrong_shape": [
        row(True, SINE, True, observed=ResultShape((2, 1))),
        row(True, SINE, False, observed=ResultDtype("float32")),
    ],
    "op": [
        row("sin", SINE, True),
        row("sin", SINE, True, op="sin"),
        row("sin", SINE, False, op="cos"),
        row("cos", SINE, False),
        row("mul_scalar_", "a = leaf 2 const; write a mul_scalar_ scalar=2", True),
    ],
    "elements": [
        row(2, SINE, True, subject=A),
        row(3, SINE, False, subject=A),
        row(1, SINE, False),
        row(0, SINE, True, observed=ResultShape((2, 1)), allowed=SHAPES),
        row(2, SINE, False, observed=ResultShape((2, 1)), allowed=SHAPES),
        row(3, SINE, True, subject=Ref(1), **VALUES, got=np.zeros(3)),
    ],
    "dimensions": [
        row(0, "a = leaf 2; write a zero_", True),
        row(0, "a = leaf [2]; write a zero_", False),
        row(0, "a = leaf [1, 2]; b, c = unstack a dim=0", True, subject=Ref(1), observed=OwnMemory()),
        row(0, "a = leaf [[1, 2]]; b = unstack a dim=0", False, subject=Ref(1), observed=OwnMemory()),
        row(0, "a = leaf [1, 2]; b, c = unstack a dim=0", True, subject=Ref(1), observed=LOST),
        row(0, "a = leaf [[1, 2]]; b = unstack a dim=0", False, subject=Ref(1), observed=LOST),
        row(0, "a = leaf 2; b = leaf 1 const; write b add_ a; backward b", True, observed=NO),
        row(0, "a = leaf 2; b = grad a wrt a with 1; write b add_ a; backward b", True, observed=NO),
        row(0, "a = leaf 2; b = leaf [1] const; write b add_ a; backward b", False, observed=NO),
        row(0, "a = leaf 2; b = leaf 1 const; write b add_ a; backward a, b", False, observed=NO),
    ],
    "dtype": [
        row("float64", "a = leaf f32 [1]; b = leaf 3 const; write b mul_scalar_ scalar=2", True),
        row("float64", "a = leaf f32 [1]; b = leaf f32 3; write b mul_scalar_ scalar=2", False),
        row("float64", "a = leaf f32 [1]; z = leaf 3; b = square z; write b mul_scalar_ scalar=2", True),
        row("float64", "a = leaf f32 [1]; z = leaf f32 3; b = square z; write b mul_scalar_ scalar=2", False),
    ],
    "wrong_elements": [
        row(1, SINE, True, **VALUES, got=np.array([1.0, 2.0, 7.0])),
        row(1, SINE, False, **VALUES, got=np.array([1.0, 6.0, 7.0])),
        row(1, SINE, True, **VALUES, got=np.array([1.0, 2.0])),
    ],
    "zero_operand": [
        row(1, "a = leaf [2]; b = leaf [0]; c = multiply a b", True, of="multiply"),
        row(0, "a = leaf [2]; b = leaf [0]; c = multiply a b", False, of="multiply"),
        row(0, "a = leaf [2]; b = sin a; c = multiply b a", True, of="multiply"),
        row(2, "a = leaf [0]; b = leaf [0]; c = multiply a b", False, of="multiply"),
    ],
    "edge_operand": [
        row(0, "a = leaf [[2, 1], [2, 1]]; b = det a", True, of="det"),
        row(0, "a = leaf [[2, 1], [1, 2]]; b = det a", False, of="det"),
        row(0, "a = leaf [0, 1]; b = leaf [1, 2]; c = polar a b", True, of="polar"),
        row(1, "a = leaf [0, 1]; b = leaf [1, 2]; c = polar a b", False, of="polar"),
        row(2, "a = leaf [0, 1]; b = leaf [1, 2]; c = polar a b", False, of="polar"),
    ],
    "after": [
        row("hook misshape", HOOK.format("misshape"), True),
        row("hook misshape", HOOK.format("observe"), False),
        row("square", HOOK.format("observe"), True),
        row("hook", HOOK.format("observe"), True),
        row("backward", HOOK.format("observe"), False),  # the failing call is not before itself
        row("sgd lr=0.5", f"{STEP}; zero a", True),
        row("sgd lr=0.25", f"{STEP}; zero a", False),
    ],
    "call": [
        row("grad", GRAD, True),
        row("backward", GRAD, False),
        row("backward", "a = leaf [1]; backward a with [1]", True),
    ],
    "under": [
        row("autocast", "a = leaf [1]; autocast: no_grad: b = sin a", True),
        row("no_grad", "a = leaf [1]; autocast: no_grad: b = sin a", True),
        row("autocast", "a = leaf [1]; autocast_uncached: b = sin a", False),
        row("no_grad", "a = leaf [1]; no_grad: b = sin a; c = sin b", False),
    ],
    "step": [
        row("sgd", STEP, True),
        row("sgd lr=0.5", STEP, True),
        row("sgd lr=0.25", STEP, False),
        row("adam", STEP, False),
        row("sgd", f"{STEP}; zero a", False),
    ],
    "makes_view": [
        row(True, "a = leaf [1]; b = expand_dims a dim=0", True),
        row(True, "a = leaf [1]; b = expand_dims a dim=0; c = sin b", False),
        row(True, "a = leaf [1]; b = expand_dims a dim=0; backward b with [[1]]", True),
        row(True, "a = leaf [1]; b = expand_dims a dim=0; c = sin b", True, regions=region(1, 2)),
        row(True, "a = leaf [1]; b = expand_dims a dim=0; c = sin b", False, regions=region(1, 2), subject=Ref(2)),
    ],
    "op_repeated": [
        row(True, TWICE.format("max a"), True, subject=Ref(3)),
        row(True, TWICE.format("max b"), False, subject=Ref(3)),
        row(True, TWICE.format("max_dim a dim=0 keepdim=False"), False, subject=Ref(3)),
        row(True, TWICE.format("min a"), False, subject=Ref(3)),
        row(True, TWICE.format("max a"), True, subject=Ref(2)),  # the second one comes after it
        row(True, TWICE.format("max a"), False),
    ],
    "operands_share_leaf": [
        row(True, "a = leaf [2]; b = concat a a dim=0; c = sin b", True),
        row(True, "a = leaf [2]; b = sin a; c = multiply b a; d = sin c", True),
        row(True, "a = leaf [2]; b = leaf [3]; c = multiply a b; d = sin c", False),
        row(True, "a = leaf [2]; b = sin a; c = multiply a a", False),  # the op is not before itself
    ],
    "operand_twice": [
        row(True, "a = leaf [2]; b = concat a a dim=0; c = sin b", True),
        row(True, "a = leaf [2]; b = sin a; c = multiply b b", True),
        row(True, "a = leaf [2]; b = sin a; c = multiply b a", False),
        row(True, "a = leaf [2]; b = sin a; c = multiply b b; d = sin a", False, at=1),  # a later op
    ],
    "requires_grad_toggled": [
        row(True, TOGGLE.format("hook b observe", "requires a True"), True),
        row(True, TOGGLE.format("requires a True", "hook b observe"), False),
        row(True, "a = leaf 2; backward a with 1; b = held a; c = sin b; requires b True; d = sin c", True),
        row(True, "a = leaf 2; b = sin a; c = detach b; d = sin c; requires c True; e = sin a", False),
    ],
    "graph_reused": [
        row(True, AGAIN.format("b"), True),
        row(True, AGAIN.format("c"), True),
        row(True, "a = leaf 2; b = sin a; backward b; c = cos a; backward c", False),  # only the leaf
        row(True, "a = leaf 2; backward a; backward a", True),  # a root counts
        row(True, "a = leaf 2; b = sin a; backward b; c = sin b", False),
    ],
    "graph_partly_reused": [
        row(True, f"{FREED}; e = add d c; backward e with [1]; drop c, d, e", True),
        row(True, f"{FREED}; e = sin d; backward e with [1]; drop c, d, e", False),
        row(True, f"{FREED}; backward c with [1]; drop c, d", False),
        row(True, f"{RETAINED}; backward c with [1]; e = add c d; backward e with [1]; drop c, d, e", True),
        row(True, f"{RETAINED}; e = add c d; backward e with [1]; drop c, d, e", False),  # nothing is freed
        row(True, f"{FREED}; backward d with [1]; drop c, d", False),
    ],
    "root_reused": [
        row(True, AGAIN.format("c, b"), True),
        row(True, AGAIN.format("b"), True),
        row(True, AGAIN.format("c"), False),  # the reused value is no root
        row(True, "a = leaf 2; b = sin a; c = multiply b a; backward b; backward c, b", False),  # an op before the call
        row(True, "a = leaf 2; b = sin a; backward b; backward b", False),
    ],
    "grad_already_set": [
        row(True, SET.format("a", ""), True, subject=A),
        row(True, SET.format("a", ""), False),
        row(True, SET.format("a", ""), True, subject=A, of="cos"),
        row(True, SET.format("a", "; backward a"), True, subject=A, of="cos"),
        row(True, SET.format("a", ""), False, subject=A, of="sin"),  # the call does not pass through it
        row(True, "a = leaf 2; backward a; b = exp a; c = cos b; backward c", False, subject=A, of="cos"),
        row(True, "a = leaf 2; c = cos a; backward c", False, subject=A),  # the failing call itself
        row(True, SET.format("a", "; zero a"), False, subject=A),
        row(True, SET.format("e", ""), False, subject=A),
    ],
    "grad_is_none": [
        row(True, "a = leaf 2; step a sgd lr=0.125", True, subject=A),
        row(True, "a = leaf 2; step a sgd lr=0.125", False),
        row(True, "a = leaf 2; backward a; zero a; step a sgd lr=0.125", True, subject=A),
        row(True, "a = leaf 2; b = leaf 3; backward b; step a sgd lr=0.125", True, subject=A),
        row(True, "a = leaf 2; backward a; step a sgd lr=0.125", False, subject=A),
        row(True, "a = leaf 2; b = leaf 3 const; assign a b; step a sgd lr=0.125", False, subject=A),
    ],
    "reaches_several_leaves": [
        row(True, "a = leaf 2; b = leaf 3; c = add a b; backward c", True, subject=Ref(1)),
        row(True, "a = leaf 2; b = leaf 3; c = add a b; backward c", False),
        row(True, "a = leaf 2; b = leaf 3; c = add a b; backward c; backward a", True, subject=Ref(1)),
        row(True, "a = leaf 2; b = leaf 3; c = add a b; backward a", False, subject=Ref(1)),
        row(True, "a = leaf 2; b = leaf 3; backward a; backward b", False, subject=Ref(1)),
    ],
    "root_without_inputs": [
        row(True, INPUTS.format("a"), True),
        row(True, INPUTS.format("b"), True),
        row(True, INPUTS.format("a, b"), False),
        row(True, SINE, False),
    ],
    "unused_input": [
        row(True, "a = leaf 2; b = leaf 3; c = sin a; d, e = grad c wrt a, b", True),
        row(True, "a = leaf 2; b = leaf 3; c = grad a wrt b", True),
        row(True, "a = leaf 2; b = sin a; c, d = grad b wrt a, b", False),
        row(True, SINE, False),
    ],
    "writes_non_leaf": [row(True, INTO.format("b"), True), row(True, INTO.format("a"), False)],
    "writes_shared_memory": [
        row(True, f"{VIEWED}; hook c observe; write b mul_ c; d = sin a", True),
        row(True, f"{DETACHED}; hook b observe; d = sin b; write c mul_ b", True),
        row(True, f"{VIEWED}; hook c observe; d = multiply b c; e = sin a", False),
        row(True, f"{DETACHED}; hook b observe; d = sin c; write b mul_ b", False),  # other memory
        row(True, f"{VIEWED}; write b mul_ c; hook c observe; d = sin a", False),  # the region made the view
        row(True, HELD.format("b = detach a"), True),
        row(True, HELD.format("b = leaf [1, 2] const"), False),
    ],
    "writes_constant": [
        row(True, "a = leaf [1, 2]; b = leaf [3, 4] const; write b copy_ a", True),
        row(True, "a = leaf [1, 2] const; b = square a; write b abs_", True),
        row(True, "a = leaf [1, 2]; b = square a; write b abs_", False),
        row(
            True, "a = leaf [1, 2]; b = leaf [3, 4] const; write b copy_ a; write b abs_", False
        ),  # b requires grad by now
        row(True, SINE, False),
    ],
    "writes_detached_memory": [
        row(True, f"{DETACHED}; write c abs_", True),
        row(True, f"{DETACHED}; d = expand_dims a dim=0; write d abs_; e = sin b", True),
        row(True, f"{DETACHED}; step a sgd lr=0.5; e = sin b", True),
        row(True, f"{DETACHED}; write b abs_", False),
        row(True, "a = leaf [1, 2] const; write a abs_; c = detach a", False),
    ],
    "operand_written": [
        row(True, f"{OPERANDS}; p = matmul a b; write a sin_; q = sum p; backward q", True, of="matmul"),
        row(True, f"{OPERANDS}; p = matmul a b; d = expand_dims a dim=0; write d sin_; q = sum p", True, of="matmul"),
        row(True, f"{OPERANDS}; p = matmul a b; step a sgd lr=0.5; q = sum p; backward q", True, of="matmul"),
        row(True, f"{OPERANDS}; p = matmul a b; write c sin_; q = sum p; backward q", False, of="matmul"),
        row(True, f"{OPERANDS}; write a sin_; p = matmul a b; q = sum p; backward q", False, of="matmul"),
    ],
    "writes_overlapping_leaf": [
        row(True, f"{OVERLAPS}; d = expand_dims c dim=0; write a sin_; e = sin c", True),
        row(True, f"{OVERLAPS}; d = expand_dims c dim=0; e = detach a; step e sgd lr=1.0; f = sin c", True),
        row(True, f"{OVERLAPS}; d = expand_dims c dim=0; e = flip a dims=(0,); write e sin_; f = sin c", False),
        row(True, f"{OVERLAPS}; write a sin_; d = expand_dims c dim=0; e = sin c", False),
        row(True, f"{OVERLAPS}; d = expand_dims b dim=0; write a sin_; e = sin c", False),  # not detached
        row(True, f"{OVERLAPS}; d = sin c; write a sin_; e = sin c", False),
    ],
    "writes_view_leaf": [
        row(True, f"{VIEW_OF_LEAF}; no_grad: write b sin_; e = sin c", True),
        row(True, f"{VIEW_OF_LEAF}; d = detach b; write d sin_; e = sin c", True),
        row(True, f"{VIEW_OF_LEAF}; d = detach b; requires d True; step d sgd lr=1.0; e = sin c", True),
        row(True, f"{VIEW_OF_LEAF}; d = expand_dims c dim=0; no_grad: write d sin_; e = sin d", True),
        row(True, f"{VIEW_LEAF}; no_grad: write b sin_; c = expand_dims b dim=0; e = sin c", False),  # made later
        row(True, f"{VIEW_LEAF}; c = sin b; no_grad: write b sin_; e = sin b", False),  # no view of the leaf
        row(True, f"{VIEW_LEAF}; c = expand_dims a dim=0; no_grad: write b sin_; e = sin b", False),
        row(True, f"{VIEW_OF_RESULT}; no_grad: write b sin_; e = sin c", False),
    ],
    "region_returns_op": [
        row(True, GIVEN.format("hook c observe", "[[1, 2], [4, 8]]"), True, of="unfold", regions=region(1, 2, 3)),
        row(True, GIVEN.format("hook d observe", "[[1, 2], [4, 8]]"), False, of="unfold", regions=region(1, 2, 3)),
        row(True, GIVEN.format("hook c observe", "[[1, 2], [4, 8]]"), False, of="unfold"),
    ],
    "in_region": [
        row(True, IN.format("c"), True, regions=region(1, 2, 3)),
        row(True, IN.format("c"), False, regions=region(3)),
        row(True, IN.format("d"), False, regions=region(1, 2, 3)),
        row(True, "a = leaf [1, 2]; no_grad: write a sin_; b = sin a", True, regions=region(1, 2)),
        row(True, "a = leaf [1, 2]; no_grad: write a sin_; b = sin a", False, regions=region(2)),
    ],
    "through_region": [
        row(True, "a = leaf [2]; b = square a; backward b with [1] create=True; c = held a", True, regions=region(1)),
        row(True, "a = leaf [2]; b = square a; backward b with [1]; c = held a", False, regions=region(1)),
        row(True, "a = leaf [2]; b = square a; backward b with [1] create=True; c = held a", False),
        row(
            True,
            "a = leaf [2]; b = square a; d = leaf [1]; e = sin d; backward e with [1] create=True; c = held d",
            False,
            regions=region(1),
        ),
    ],
    "region_returns_detached": [
        row(True, OUT.format(f"{VIEW}; d = detach c"), True, at=1, regions=region(1, 2, 3)),
        row(True, OUT.format(f"{VIEW}; d = detach c"), False, at=1),
        row(
            True,
            OUT.format(f"{VIEW}; d = detach b; e = select d dim=0 index=0"),
            True,
            at=1,
            regions=region(1, 2, 3, 4),
        ),
        row(True, OUT.format(f"{VIEW}; d = detach b"), False, at=1, regions=region(1, 2, 3)),
        row(
            True, OUT.format("b = square a; c = matrix_transpose a; d = detach c"), False, at=1, regions=region(1, 2, 3)
        ),
        row(True, OUT.format("b = square a; c = sin b; d = detach c"), False, at=1, regions=region(1, 2, 3)),
    ],
    "region_returns_recorded_view": [
        row(True, MODES.format("enable_grad: c = squeeze a dim=(0,)"), True, at=3, regions=region(1, 2)),
        row(True, MODES.format("enable_grad: c = squeeze a dim=(0,)"), False, at=3),
        row(True, MODES.format("c = squeeze a dim=(0,)"), False, at=3, regions=region(1, 2)),  # not recorded
        row(True, MODES.format("enable_grad: c = sin a"), False, at=3, regions=region(1, 2)),  # no view
        row(
            True, MODES.format("enable_grad: c = squeeze b dim=(0,)"), False, at=3, regions=region(1, 2)
        ),  # not of an input
        row(True, "a = leaf [2]; b = exp a; c = squeeze a dim=(0,); d = exp c", False, at=3, regions=region(1, 2)),
    ],
    "duplicate_root": [
        row(True, ROOTS.format("b, b"), True),
        row(True, ROOTS.format("b, c"), True),  # a view
        row(True, ROOTS.format("c, d"), True),  # two views of one value
        row(True, ROOTS.format("a, b"), True),  # an input
        row(True, ROOTS.format("b, e"), False),  # computed from it
        row(True, ROOTS.format("b, f"), True),  # the same numbers
        row(True, GRAD, False),
    ],
    "empty_value": [
        row(True, INNER.format("leaf (0,3) []"), True),
        row(True, INNER.format("leaf [[1, 2, 3]]"), False),
        row(True, INNER.format("slice a start=1 stop=1 step=1"), True),
    ],
}
"""For each key, violations that fulfil it and others that do not."""


@pytest.mark.parametrize(
    ("key", "number"), [(key, number) for key, rows in ROWS.items() for number in range(len(rows))], ids=str
)
def test_an_entry_covers_a_violation_that_fulfils_its_condition(key: str, number: int) -> None:
    value, text, holds, more = ROWS[key][number]
    program = parse(text)
    op = {"op": more["of"]} if "of" in more else {}
    values = {} if isinstance(more.get("observed"), RaisedError) else {"any_value": True}
    entry = entry_of({"rule": RULE, "reason": "r", "witness": program, **values, key: value, **op})
    facts = {"at": len(program) - 1, "observed": OtherGradient(Place.LEAF), "allowed": (), **more}
    violation = Violation(RULE, **{fact: each for fact, each in facts.items() if fact != "of"})
    assert is_known(entry, program, violation) is holds
    assert not is_known(entry, program, replace(violation, rule="accumulation/first"))


def test_each_key_has_violations_that_fulfil_it_and_others() -> None:
    assert ROWS.keys() == CONDITIONS.keys()
    for key, rows in ROWS.items():
        assert {holds for _, _, holds, _ in rows} == {True, False}, key


@pytest.mark.parametrize("key", CONDITIONS)
def test_each_condition_has_a_description_and_valid_values(key: str) -> None:
    condition = CONDITIONS[key]
    assert condition.__doc__ and condition.__doc__ != condition.__mro__[1].__doc__
    for value, *_ in ROWS[key]:
        assert condition.read(value) == value
