"""Files of known differences: every entry has a witness that shows it, and an invalid file is refused with the reason
and line.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograd_conformance.checking.session import Session
from autograd_conformance.known_differences import Known, MalformedKnownDifferences, is_known, known, read
from autograd_conformance.known_differences.calls import may_have_grad, reuses_root
from autograd_conformance.known_differences.entry import Environment
from autograd_conformance.known_differences.entry_checks import witness_problem
from autograd_conformance.known_differences.file import FOLDERS
from autograd_conformance.known_differences.writes import writes_shared_memory
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Apply, InPlace, Ref
from autograd_conformance.programs.observations import Kind
from autograd_conformance.rules.violations.observed import (
    OtherGradient,
    OtherValue,
    RaisedError,
    ReturnedUnexpectedly,
    SavedTensorCount,
    SharedGradient,
    ValueMemory,
)
from autograd_conformance.rules.violations.pairs import SumsDiffer
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
from examples.tiny_adapter import Tiny

WITNESS = 'witness = "a = leaf [1]; b = sin a; backward b"'


@pytest.mark.parametrize("entry", known("torch"), ids=lambda entry: f"{entry.rule}-{entry.op}")
def test_torch_shows_what_is_listed(entry, tmp_path: Path) -> None:
    assert Session("torch", tmp_path).is_shown(entry)


@pytest.mark.parametrize(
    "mode",
    ["torch-checkpoint", "torch-checkpoint-reentrant", "torch-compile-eager", "torch-compile-aot_eager", "torch-func"],
)
def test_a_mode_shows_what_is_listed_of_it_and_inherits_the_rest(mode: str, tmp_path: Path) -> None:
    session = Session(mode, tmp_path)
    own = [entry for entry in known(mode) if not entry.inherited]
    assert own and all(session.is_shown(entry) for entry in own)
    assert {entry for entry in known(mode) if entry.inherited} >= {*known("torch")}


def test_an_entry_may_ask_for_a_write_into_what_is_computed(tmp_path: Path) -> None:
    entry = next(entry for entry in known("torch-compile-aot_eager") if entry.writes_non_leaf and entry.makes_view)
    program = (
        "a = leaf [0]; b = sigmoid a; c = expand_dims b dim=0; write {} exp_; d = multiply b b; backward d with [1]"
    )
    violation = Violation(entry.rule, 5, OtherGradient(Place.LEAF), ())
    assert is_known(entry, parse(program.format("b")), violation)
    assert not is_known(entry, parse(program.format("a")), violation)


@pytest.mark.parametrize(
    ("root", "units", "known_"),
    [("c", (1, 2, 3), True), ("c", (3,), False), ("d", (1, 2, 3), False)],
)
def test_an_entry_may_ask_for_a_write_inside_of_a_unit(root: str, units: tuple[int, ...], known_: bool) -> None:
    entry = next(entry for entry in known("torch-checkpoint") if entry.in_region)
    program = parse(f"a = leaf [0]; b = sigmoid a; write b exp_; c = multiply b b; d = sin a; backward {root} with [1]")
    violation = Violation(entry.rule, 5, OtherGradient(Place.LEAF), ()).in_regions(dict.fromkeys(units, units))
    assert is_known(entry, program, violation) is known_


@pytest.mark.parametrize(("units", "known_"), [((1, 2), True), ((2,), False)])
def test_an_entry_may_ask_for_a_write_in_the_unit_that_fails(units: tuple[int, ...], known_: bool) -> None:
    entry = next(entry for entry in known("torch-compile-aot_eager") if entry.in_region and entry.op == "split")
    program = parse("a = leaf [1, 2]; no_grad: write a sin_; b, c = split a sizes=(1,1) dim=0")
    violation = Violation(entry.rule, 2, OwnMemory(), (), Ref(2), "split").in_regions(dict.fromkeys(units, units))
    assert is_known(entry, program, violation) is known_


@pytest.mark.parametrize(
    ("text", "known_"),
    [
        ("b = square a; backward b with [1] create=True; c = held a", True),
        ("b = square a; backward b with [1]; c = held a", False),
        ("b = negative a; backward b with [1] create=True; c = held a", False),
        ("b = square a; d = leaf [1]; e = sin d; backward e with [1] create=True; c = held d", False),
    ],
)
def test_an_entry_may_ask_for_a_derivative_through_a_unit(text: str, known_: bool) -> None:
    entry = next(entry for entry in known("torch-checkpoint-reentrant") if entry.through_region)
    program = parse(f"a = leaf [2]; {text}", VOCABULARY)
    last = len(program) - 1
    units = {at: (at,) for at, step in enumerate(program) if isinstance(step, Apply) and step.op == "square"}
    violation = Violation(entry.rule, last, Flag(False), (), Ref(last)).in_regions(units)
    assert is_known(entry, program, violation) is known_


def test_an_entry_may_ask_for_a_leaf_that_was_switched_since_it_was_used(tmp_path: Path) -> None:
    entry = next(entry for entry in known("torch-checkpoint") if entry.requires_grad_toggled)
    violation = Violation("gradients/graph", 5, OtherGradient(Place.LEAF), ())
    on, nothing = "requires a True", "hook b observe"
    program = "a = leaf [1] const; b = leaf [2]; {}; c = multiply a b; {}; backward c with [1]"
    assert is_known(entry, parse(program.format(nothing, on)), violation)
    assert not is_known(entry, parse(program.format(on, nothing)), violation)


VIEWED = "a = leaf [1, 2] const; b = expand_dims a dim=0; c = leaf [[3, 4]]"
DETACHED = "a = leaf [1, 2] const; b = leaf [3, 4]; c = detach a"


@pytest.mark.parametrize(
    ("program", "holds"),
    [
        (f"{VIEWED}; hook c observe; write b mul_ c; d = sin a", True),
        (f"{DETACHED}; hook b observe; d = sin b; write c mul_ b", True),
        (f"{VIEWED}; hook c observe; d = multiply b c; e = sin a", False),
        (f"{DETACHED}; hook b observe; d = sin c; write b mul_ b", False),
        (f"{VIEWED}; write b mul_ c; hook c observe; d = sin a", False),
    ],
    ids=["a view", "what is detached", "no write", "other memory", "a view made inside"],
)
def test_an_entry_may_ask_for_a_function_that_writes_into_memory_of_several_values(program: str, holds: bool) -> None:
    listed = (entry for entry in known("torch-compile-aot_eager") if entry.rule == "gradients/requires-grad")
    entry = next(entry for entry in listed if entry.writes_shared_memory)
    violation = Violation(entry.rule, 5, Flag(False), ())
    assert is_known(entry, parse(program), violation) is holds


@pytest.mark.parametrize(
    ("program", "holds"),
    [
        ("d = expand_dims c dim=0; write a sin_", True),
        ("d = expand_dims c dim=0; e = flip a dims=(0,); write e sin_", False),
        ("write a sin_; d = expand_dims c dim=0", False),
        ("d = expand_dims b dim=0; write a sin_", False),
        ("d = sin c; write a sin_", False),
    ],
    ids=["behind the view", "other memory", "before the view", "not detached", "no view"],
)
def test_an_entry_may_ask_for_a_write_under_a_view_of_a_leaf_that_overlaps_itself(program: str, holds: bool) -> None:
    (entry,) = (entry for entry in known("torch") if entry.writes_overlapping_leaf)
    leaves = "a = leaf [1, 2] const; b = broadcast_to a shape=(2, 2); c = detach b; requires c True"
    judged = parse(f"{leaves}; {program}; backward d with [[[1, 2], [5, 7]]]")
    want = np.array([[1.0, 2.0], [5.0, 7.0]])
    violation = Violation(entry.rule, len(judged.instructions) - 1, OtherGradient(Place.LEAF), ())
    assert is_known(entry, judged, replace(violation, got=want / 2, want=want)) is holds
    assert not is_known(entry, judged, replace(violation, rule="accumulation/first", observed=NoGradient()))


@pytest.mark.parametrize(
    ("roots", "holds"),
    [("b, b", True), ("b, c", True), ("c, d", True), ("a, b", True), ("b, e", False), ("b, f", True), ("b", False)],
    ids=["twice", "a view", "two views of one", "an input", "computed from it", "the same numbers", "one"],
)
def test_an_entry_may_ask_for_a_root_that_is_there_twice(roots: str, holds: bool) -> None:
    (entry,) = (entry for entry in known("mlx") if entry.duplicate_root)
    views = "c = broadcast_to b shape=(2,); d = reshape b shape=(2,)"
    made = f"a = leaf f32 [1, 2]; b = square a; {views}; e = sin b; f = max_dim b dim=() keepdim=False"
    given = ", ".join(["f32 [1, 10]"] * (1 + roots.count(",")))
    program = parse(f"{made}; g = grad {roots} wrt a with {given}")
    assert is_known(entry, program, Violation(entry.rule, 6, OtherGradient(Place.LEAF), ())) is holds


def test_a_root_that_is_there_twice_may_make_a_sum_of_another_one() -> None:
    (entry,) = (entry for entry in known("mxnet") if entry.duplicate_root)
    observed = SumsDiffer("a", ("a",), None, None)
    for roots, holds in (("b, b with [1, 1], [1, 1]", True), ("b with [1, 1]", False)):
        program = parse(f"a = leaf [1, 2]; b = exp a; backward {roots}", VOCABULARY)
        assert is_known(entry, program, Violation("relations/sum", 2, observed, (), Ref(0))) == holds
        assert not is_known(entry, program, Violation("relations/order", 2, observed, (), Ref(0)))


@pytest.mark.parametrize(("inputs", "holds"), [("a", True), ("b", True), ("a, b", False)])
def test_an_entry_may_ask_for_a_root_that_none_of_the_inputs_lead_to(inputs: str, holds: bool) -> None:
    (entry,) = (entry for entry in known("torch-func") if entry.root_without_inputs)
    program = f"a = leaf [1, 2]; b = leaf [3, 4]; c = sin a; d = sin b; e = grad c, d wrt {inputs} with [1, 1], [1, 1]"
    assert is_known(entry, parse(program), Violation(entry.rule, 4, ReturnedUnexpectedly(), ())) is holds
    of_gradients = Known("gradients/graph", None, "r", parse(program), any_value=True, root_without_inputs=True)
    through_op = Violation("gradients/op", 4, OtherGradient(Place.RESULT), (), Ref(4), "sin")
    assert is_known(of_gradients, parse(program), through_op) is holds


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ("write a sin_", True),
        ("d = expand_dims a dim=0; write d sin_", True),
        ("step a sgd lr=0.5", True),
        ("hook b observe", False),
        ("write c sin_", False),
    ],
)
def test_an_entry_may_ask_for_a_write_into_an_operand(changes: str, holds: bool) -> None:
    entry = next(entry for entry in known("torch-compile-inductor") if entry.operand_written and entry.op == "matmul")
    leaves = "a = leaf [[1, 2], [3, 4]] const; b = leaf [[1, 2], [3, 4]]; c = leaf [[1, 2], [3, 4]]"
    behind = parse(f"{leaves}; p = matmul a b; {changes}; q = sum p; backward q")
    before = parse(f"{leaves}; {changes}; p = matmul a b; q = sum p; backward q")
    violation = Violation(entry.rule, len(behind.instructions) - 1, OtherGradient(Place.LEAF), ())
    assert is_known(entry, behind, violation) is holds
    assert not is_known(entry, before, violation)


WIDE = "a = leaf f32 [1]; b = leaf {} const; hook a observe; write b mul_scalar_ scalar=2"


@pytest.mark.parametrize(
    ("program", "holds"),
    [
        (WIDE.format("3"), True),
        (WIDE.format("f32 3"), False),
        (WIDE.format("[3]"), False),
        ("a = leaf f32 [1]; z = leaf 3; b = square z; hook a observe; write b mul_scalar_ scalar=2", True),
        ("a = leaf f32 [1]; z = leaf f32 3; b = square z; hook a observe; write b mul_scalar_ scalar=2", False),
    ],
)
def test_an_entry_may_ask_for_values_of_a_dtype_without_dimensions(program: str, holds: bool) -> None:
    entry = next(entry for entry in known("torch-compile-aot_eager") if entry.rule == "writes/value")
    parsed = parse(program)
    at = len(parsed) - 1
    subject = next(step.target for step in parsed if isinstance(step, InPlace))
    want = np.full((1,) if "[3]" in program else (), 6.0)
    violation = Violation(entry.rule, at, OtherValue(), (), subject, "mul_scalar_", got=want / 2, want=want)
    assert is_known(entry, parsed, violation.in_regions({at: (at,)})) is holds
    assert not is_known(entry, parsed, violation)  # the write stands in no function


@pytest.mark.parametrize(("leaf", "holds"), [("2", True), ("[2]", False), ("f32 2", False)])
def test_an_entry_may_ask_for_the_target_of_a_write_that_returned(leaf: str, holds: bool) -> None:
    entry = next(entry for entry in known("torch-compile-aot_eager") if entry.rule == "writes/leaf-raises")
    program = parse(f"a = leaf {leaf}; write a zero_")
    assert is_known(entry, program, Violation(entry.rule, 1, ReturnedUnexpectedly(), (), regions={1: (1,)})) is holds


@pytest.mark.parametrize(("got", "holds"), [([1.0, 2.0, 7.0], True), ([1.0, 6.0, 7.0], False), ([1.0, 2.0], True)])
def test_an_entry_may_ask_how_many_elements_are_wrong(got: list[float], holds: bool) -> None:
    program = parse("a = leaf [1, 2, 3]; write a sin_")
    entry = Known("writes/aliases", None, "r", program, any_value=True, wrong_elements=1)
    violation = Violation(
        entry.rule,
        1,
        OtherValue(),
        (),
        Ref(0),
        got=np.array(got),
        want=np.array([1.0, 2.0, 3.0]),
        bound=np.full(3, 0.5),
    )
    assert is_known(entry, program, violation) is holds


@pytest.mark.parametrize(
    ("last", "holds"), [("max a", True), ("max b", False), ("max_dim a dim=0 keepdim=False", False), ("min a", False)]
)
def test_an_entry_may_ask_for_an_op_that_is_applied_again(last: str, holds: bool) -> None:
    entry = next(entry for entry in known("torch-compile-aot_eager") if entry.op_repeated)
    program = parse(f"a = leaf [1, 2]; b = leaf [1, 2]; c = max a; d = {last}")
    assert is_known(entry, program, Violation(entry.rule, 3, ValueMemory("c"), (), Ref(3), "max")) is holds


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        ("b = square a; c = matrix_transpose b; d = detach c", True),
        ("b = square a; c = matrix_transpose b; d = detach b; e = select d dim=0 index=0", True),
        ("b = square a; c = matrix_transpose b; d = detach b", False),
        ("b = square a; c = matrix_transpose a; d = detach c", False),
        ("b = square a; c = sin b; d = detach c", False),
    ],
)
def test_an_entry_may_ask_for_a_view_that_is_given_out_detached_too(given: str, holds: bool) -> None:
    entry = next(entry for entry in known("torch-compile-aot_eager") if entry.region_returns_detached and entry.raised)
    program = parse(f"a = leaf [[1, 2], [3, 4]]; {given}; hook b observe; hook c observe")
    unit = tuple(range(1, len(program) - 2))
    raised = RaisedError(Kind.UNKNOWN, "E", "no")
    for units, inside in ((dict.fromkeys(unit, unit), holds), ({}, False)):
        assert is_known(entry, program, Violation(entry.rule, 1, raised, (), regions=units)) is inside


@pytest.mark.parametrize(("effect", "holds"), [("misshape", True), ("observe", False)])
def test_an_entry_may_ask_for_a_hook_of_some_effect(effect: str, holds: bool) -> None:
    entry = next(entry for entry in known("paddle") if entry.after == "hook misshape")
    program = parse(f"a = leaf [1, 2]; b = square a; c = hook b {effect}; backward b with [0, 0]")
    assert is_known(entry, program, Violation(entry.rule, 3, OtherGradient(Place.LEAF), ())) is holds


@pytest.mark.parametrize(("call", "holds"), [("c = grad a wrt a with [1, 1]", True), ("backward a with [1, 1]", False)])
def test_an_entry_may_ask_for_a_call_of_some_word(call: str, holds: bool) -> None:
    entry = next(entry for entry in known("paddle") if entry.rule == "hooks/raise")
    program = parse(f"a = leaf [1, 2]; b = hook a raise; {call}")
    assert is_known(entry, program, Violation(entry.rule, 2, ReturnedUnexpectedly(), ())) is holds


@pytest.mark.parametrize(
    ("made", "roots", "holds"),
    [
        ("a = leaf 2; b = leaf 1 const", "b", True),
        ("a = leaf 2; b = grad a wrt a with 1", "b", True),
        ("a = leaf 2; b = leaf [1] const", "b", False),
        ("a = leaf f32 2; b = leaf f32 1 const", "b", False),
        ("a = leaf 2; b = leaf 1 const", "a, b", False),
    ],
)
def test_a_call_that_raises_is_about_its_only_root(made: str, roots: str, holds: bool) -> None:
    entry = next(entry for entry in known("torch-compile-aot_eager") if entry.rule == "writes/recorded")
    program = parse(f"{made}; write b add_ a; backward {roots}")
    violation = Violation(entry.rule, 3, RaisedError(Kind.NO_GRAD, "RuntimeError", "no"), (), regions={2: (2,)})
    assert is_known(entry, program, violation) is holds
    assert not is_known(entry, program, replace(violation, regions={}))


@pytest.mark.parametrize(("read", "holds"), [("hook c observe", True), ("hook d observe", False)])
def test_an_entry_may_ask_for_what_a_function_gives_out(read: str, holds: bool) -> None:
    entry = next(entry for entry in known("torch-compile-aot_eager") if entry.region_returns_op)
    made = "a = leaf [1, 2, 3]; b = square a; c = unfold b dimension=0 size=2 step=1; d = sin c"
    program = parse(f"{made}; {read}; backward d with [[1, 2], [4, 8]]")
    violation = Violation(
        entry.rule, 5, OtherGradient(Place.LEAF), (), Ref(0), regions=dict.fromkeys((1, 2, 3), (1, 2, 3))
    )
    assert is_known(entry, program, violation) is holds
    assert not is_known(entry, program, replace(violation, regions={}))


@pytest.mark.parametrize(("other", "holds"), [("hardsigmoid", True), ("sin", False)])
def test_an_entry_about_an_op_holds_for_a_graph_of_no_other(other: str, holds: bool) -> None:
    entry = next(entry for entry in known("torch") if (entry.rule, entry.op) == ("gradients/op", "hardsigmoid"))
    program = parse(f"a = leaf 1; b = hardsigmoid a; c = leaf 2; d = {other} c; backward b, d")
    got, want = np.array(0.1666666716), np.array(1 / 6)
    violation = Violation("gradients/graph", 4, OtherGradient(Place.LEAF), (), Ref(0), got=got, want=want)
    assert is_known(entry, program, violation) is holds
    assert not is_known(entry, program, replace(violation, got=got + 0.1))


@pytest.mark.parametrize(
    ("assigned", "holds"), [("b = detach a; assign a b", True), ("b = leaf [1, 2] const; assign a b", False)]
)
def test_memory_of_a_gradient_is_that_of_what_was_assigned(assigned: str, holds: bool) -> None:
    program = parse(f"a = leaf [1, 2]; {assigned}; c = held a; write c sin_; d = tanh a")
    entry = Known("errors/legal-returns", None, "r", program, message="no", writes_shared_memory=True)
    assert writes_shared_memory(program, 4) is holds
    assert is_known(entry, program, Violation(entry.rule, 4, RaisedError(Kind.UNKNOWN, "E", "no"), ())) is holds


def test_what_two_included_files_include_is_there_once() -> None:
    entries = known("torch-compile-checkpoint")
    assert len(entries) == len(set(entries)) > len(known("torch"))


def test_a_file_of_ones_own_may_include_one_that_comes_with_the_suite() -> None:
    entries = read(Path(__file__).parents[2] / "examples" / "device" / "known.toml")
    assert {entry for entry in entries if entry.inherited} == {*known("torch")}


def test_files_that_include_each_other_are_refused(tmp_path: Path) -> None:
    for name, other in (("one", "two"), ("two", "one"), ("three", "three"), ("four", "none")):
        (tmp_path / f"{name}.toml").write_text(f'include = ["{other}"]\n')
    for name, said in (("one", "one.toml includes this file"), ("three", "includes this"), ("four", "no file none")):
        with pytest.raises(MalformedKnownDifferences, match=said):
            known(name, [tmp_path])


def test_a_witness_that_shows_nothing_is_told(tmp_path: Path) -> None:
    (tmp_path / "torch.toml").write_text(
        f'[[known]]\nrule = "gradients/op"\nop = "sin"\nreason = "none"\nrelative = 0.1\n{WITNESS}\n'
    )
    (entry,) = known("torch", [tmp_path])
    assert not Session("torch", tmp_path).is_shown(entry)


def test_an_entry_may_ask_for_a_message(tmp_path: Path) -> None:
    entry = next(entry for entry in known("torch") if entry.message)
    session = Session("torch", tmp_path)
    assert session.is_shown(entry)
    assert not session.is_shown(replace(entry, message="another message"))


def test_no_file_means_nothing_known(tmp_path: Path) -> None:
    assert known("nothing", [tmp_path]) == ()


ENTRY = f'[[known]]\nrule = "gradients/op"\nop = "sin"\nreason = "r"\n{WITNESS}\n'


def refused(path: Path, text: str | bytes) -> str:
    """The message with which a file is refused."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(MalformedKnownDifferences) as caught:
        read(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("relativ = 1e-7", "there is no key 'relativ'; 'relative' is one"),
        ('relative = "lots"', "relative has to be a finite number, 0 or more, not 'lots'"),
        ("relative = inf", "relative has to be a finite number, 0 or more, not inf"),
        ("relative = nan", "relative has to be a finite number, 0 or more, not nan"),
        ("relative = true", "relative has to be a finite number, 0 or more, not True"),
        ("absolute = -1", "absolute has to be a finite number, 0 or more, not -1"),
        (f"absolute = 1{'0' * 400}", "absolute has to be a finite number"),
        ("elements = 1.5", "elements has to be a whole number, 0 or more, not 1.5"),
        ("zero_operand = -1", "zero_operand has to be the number of an operand, from 0, not -1"),
        ("nan = 1", "nan has to be true or false, not 1"),
        ("reason = 3", "reason has to be a text, not 3"),
        ('message = ""', "message has to be a text, not ''"),
        ('raised = "wrong"', "raised has to be a kind of error: graph freed, no grad, "),
        ('step = "sdg fused=True"', "step has to be an optimizer with settings, such as 'sgd fused=True', not 'sdg"),
        ('after = "unfolded"', "after has to be an op, an instruction's word, a hook's effect"),
        ('link = "see the forum"', "link has to be an address that begins with https://, or 'not reported', not 'see"),
        ('since = "last year"', "since has to be a day, such as 2026-11-22, not 'last year'"),
        ('version = "newest"', "version has to be versions of the framework, such as '>=2.12,<2.14', not 'newest'"),
        ('dtype = "float16"', "dtype has to be float32 or float64, not 'float16'"),
        ('rule = "no/such"', "rule: there is no rule 'no/such'"),
        ('op = "frobnicate"', "op: there is no op 'frobnicate'"),
        ('op = "exp"', "witness: the program does not apply 'exp', the op of the entry"),
        ('witness = "b = sin a"', "witness: the program is malformed: statement 1"),
        ("any_value = true\nrelative = 1", "any_value: it waives all values; leave out relative, absolute and nan"),
        ("", "relative: 'gradients/op' is about values, and no key limits how far they may be off"),
        (
            "relative = 1.5",
            "relative: 1.5 is above 1, which waives almost any value; write any_value = true instead",
        ),
        ("relative = 1e300", "relative: 1e+300 is above 1"),
        ("relative = 0.1\nabsolute = 1e308", "absolute: 1e+308 is above 1"),
        ("nan = true\nabsolute = 2", "absolute: 2.0 is above 1"),
        ('result_dtype = "florp"', "result_dtype has to be the name of a dtype: bool, int8, "),
        ('result_dtype = "float"', "result_dtype has to be the name of a dtype"),
        ("result_dtype = 3", "result_dtype has to be the name of a dtype"),
        (
            'result_dtype = "float64"\nrelative = 0.1',
            "result_dtype: it is about a dtype, and relative about values; write",
        ),
        ('raised = "unknown"\nrelative = 0.1', "raised: it is about an error, and relative about values"),
        (
            'wrong_shape = true\nresult_dtype = "float64"',
            "result_dtype: it is about a dtype, and wrong_shape about",
        ),
        ("returned = true\nany_value = true", "returned: it is about a call that returned, and any_value about values"),
        ("relative = 0.1\nelements = 0\ndimensions = 0", "elements: a value without dimensions has 1 element, not 0"),
        ("relative = 0.1\nelements = 0\ndimensions = 7", "witness: no value of the program has this number"),
        ("relative = 0.1\ndimensions = 3", "witness: no value of the program has this number of"),
        (
            "relative = 0.1\nwrong_elements = 0",
            "wrong_elements: with 0 wrong elements there is no",
        ),
        (
            "relative = 0.1\nelements = 1\nwrong_elements = 2",
            "wrong_elements: at most 1 of 1 elements can be",
        ),
        (
            "relative = 0.1\ngraph_reused = true",
            "witness: no instruction of the program fulfils graph_reused",
        ),
        ('relative = 0.1\nstep = "sgd"', "witness: no instruction of the program fulfils step"),
        ('relative = 0.1\nafter = "exp"', "witness: no instruction of the program fulfils after"),
        (
            'relative = 0.1\nafter = "sin"\nempty_value = true',
            "witness: no instruction of the",
        ),
        (
            "relative = 0.1\nzero_operand = 3",
            "witness: no instruction of the program fulfils zero_operand",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_line(line: str, says: str, tmp_path: Path) -> None:
    key = line.partition(" ")[0]
    entry = "\n".join(each for each in ENTRY.splitlines() if not each.startswith(f"{key} =") or not key)
    fine = f"{ENTRY}relative = 1e-7\n\n# [[known]]\n"
    said = refused(tmp_path / "x.toml", f"{fine}{entry}\n{line}\n")
    assert said.startswith(f"{tmp_path / 'x.toml'}, line 9: {says}")
    assert "\n" not in said


BARE = (
    '[[known]]\nrule = "accumulation/adds"\nreason = "r"\nwitness = "a = leaf 1; b = sin a; backward b; backward a"\n'
)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "elements = 1",
        "dimensions = 1\nelements = 1",
        "any_value = true",
        "relative = 0.1\nabsolute = 0.1",
        'dtype = "float64"\ndevice = "cpu"\nplatform = "Linux"\nversion = ">1"',
        'raised = "unknown"',
        'message = "e"',
        'call = "backward"',
        'after = "leaf"',
        'after = "backward"',
        "makes_view = false\ngrad_already_set = false",
        "wrong_shape = true",
        'result_dtype = "float64"',
        "left_out = false",
        "since = 2026-11-22",
    ],
)
def test_an_entry_that_names_no_case_is_refused(said: str, tmp_path: Path) -> None:
    text = refused(tmp_path / "x.toml", f"{BARE}{said}\n")
    assert text.startswith(
        f"{tmp_path / 'x.toml'}, line 1: op: nothing names the case, so the entry would cover every violation of "
    )
    assert "give an op, or a key that says where" in text


@pytest.mark.parametrize(
    "said",
    [
        'op = "sin"',
        "grad_already_set = true",
        'after = "sin"',
        'message = "no such leaf"',
        "elements = 1\ngrad_already_set = true",
    ],
)
def test_an_entry_that_names_its_case_is_taken(said: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(f"{BARE}{said}\n")
    assert len(read(tmp_path / "x.toml")) == 1


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("a = leaf [1, 2]; b = leaf [1, 2, 3]; c = add a b", "the program is not well-formed: "),
        ("a = leaf [[1, 2]]; b = add a a; c = matmul b b", "the program is not well-formed: "),
        ("a = leaf [1]; b = add a a; c = reshape b shape=(2,)", "the program is not well-formed: "),
    ],
)
def test_a_witness_of_shapes_that_do_not_fit_is_refused(program: str, says: str, tmp_path: Path) -> None:
    text = f'[[known]]\nrule = "gradients/op"\nop = "add"\nreason = "r"\nrelative = 0.1\nwitness = "{program}"\n'
    assert f"x.toml, line 1: witness: {says}" in refused(tmp_path / "x.toml", text)


@pytest.mark.parametrize(
    "file", sorted(file for folder in FOLDERS for file in folder.glob("*.toml")), ids=lambda file: file.stem
)
def test_the_witness_of_each_entry_that_comes_with_the_suite_can_show_it(file: Path) -> None:
    for entry in read(file):
        assert entry.inherited or witness_problem(entry) is None, (entry.rule, entry.op, witness_problem(entry))


def test_an_entry_may_be_about_an_op_in_place(tmp_path: Path) -> None:
    written = '[[known]]\nrule = "writes/requires-grad"\nop = "add_"\nreason = "r"\nleft_out = false\n'
    witness = 'witness = "a = leaf [1] const; b = leaf [2]; write a add_ b"'
    (tmp_path / "x.toml").write_text(written + witness)
    (entry,) = read(tmp_path / "x.toml")
    for op, holds in (("add_", True), ("mul_", False)):
        program = parse(f"a = leaf [1] const; b = leaf [2]; write a {op} b")
        assert is_known(entry, program, Violation(entry.rule, 2, Flag(False), (), Ref(0), op)) is holds
    assert "the program does not apply 'add_'" in refused(tmp_path / "y.toml", written + WITNESS)


@pytest.mark.parametrize("key", ["rule", "reason", "witness"])
def test_what_every_entry_needs(key: str, tmp_path: Path) -> None:
    entry = "\n".join(each for each in ENTRY.splitlines() if not each.startswith(key))
    said = refused(tmp_path / "x.toml", f"{entry}\nrelative = 1e-7")
    assert said.endswith(f"line 1: {key!r} is missing; every [[known]] needs rule, reason, witness")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[known]\n", "x.toml: Expected ']]' at the end of an array declaration (at line 1, column 8)"),
        ("known = 3", "x.toml: known has to be a list of entries; begin each with [[known]]"),
        ("known = [3]", "x.toml: known has to be a list of entries; begin each with [[known]]"),
        ("[[knwon]]\nrule = 1", "x.toml: there is no key 'knwon'; 'known' is one; each entry begins with [[known]]"),
        (b"reason = '\xff'", "x.toml: the file is not UTF-8 from byte 10 on"),
        ("a = " + "[" * 90_000, "x.toml: the TOML is nested too deeply"),
        ("\na = " + "1" * 90_000, "x.toml: Exceeds the limit (4300 digits) for integer string conversion: value has"),
        ("\na = " + "1" * 100_000, "x.toml, line 2: the line is longer than 100,000 characters"),
        (
            "known = 1\n" + "a." * 40_000 + "a = 1",
            "x.toml, line 2: a key has too many parts; no key",
        ),
        ("[[" + " 'a' ." * 40 + " a ]]", "x.toml, line 1: a key has too many parts; no key"),
        ("# \n" * 2**21, "x.toml: the file is larger than 4 MiB; write several files"),
    ],
)
def test_a_file_that_is_none(text: str | bytes, says: str, tmp_path: Path) -> None:
    assert refused(tmp_path / "x.toml", text).startswith(f"{tmp_path}/{says}")


def test_a_folder_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "x.toml").mkdir()
    with pytest.raises(MalformedKnownDifferences, match="Is a directory"):
        known("x", [tmp_path])


def test_an_entry_in_a_string_is_none(tmp_path: Path) -> None:
    text = ENTRY.replace('"r"', '"""\n[[known]]\n"""') + "relative = 1\n" + ENTRY
    assert ", line 9: relative: " in refused(tmp_path / "x.toml", text)


# -- limits ------------------------------------------------------------------------------------------------------------


def is_within_limits(got: list[float], want: list[float], **limits: Any) -> bool:
    program = parse("a = leaf [1, 2]; b = sin a; backward b with [1, 1]", VOCABULARY)
    violation = Violation(
        "gradients/op", 2, OtherGradient(Place.LEAF), (), Ref(0), "sin",
        got=np.array(got), want=np.array(want), bound=np.array([1e-9, 1e-9]),
    )  # fmt: skip
    return is_known(Known("gradients/op", "sin", "r", program, **limits), program, violation)


@pytest.mark.parametrize(
    ("got", "limits", "excused"),
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
def test_limits(got: list[float], limits: dict[str, Any], excused: bool) -> None:
    assert is_within_limits(got, [1.0, 2.0], **limits) is excused


SQUARES = (
    "a = leaf [1, 2]; b = square a; backward b with [1, 1] create=True; c = held a; zero a; backward c with [1, 1]"
)


@pytest.mark.parametrize(
    ("rule", "told", "excused"),
    [
        ("higher/differentiable", "higher/op", True),
        ("higher/differentiable", "higher/op-third", True),
        ("higher/differentiable", "gradients/op", False),  # the first derivative is not what it is about
        ("higher/op", "higher/differentiable", False),
        ("gradients/graph", "higher/op", True),
    ],
)
def test_an_entry_about_gradients_of_gradients_holds_for_each_order(rule: str, told: str, excused: bool) -> None:
    program = parse(SQUARES, VOCABULARY)
    values = {"got": np.array([2.1, 2.0]), "want": np.array([2.0, 2.0])}
    violation = Violation(told, 5, OtherGradient(Place.LEAF), (), Ref(0), "square", **values)
    assert is_known(Known(rule, "square", "r", program, relative=0.1), program, violation) is excused


@pytest.mark.parametrize(
    ("elements", "observed", "excused"),
    [
        (None, ResultShape((2, 1)), True),
        (0, ResultShape((2, 1)), True),
        (2, ResultShape((2, 1)), False),
        (0, ResultDtype("float32"), False),
    ],
    ids=["any", "of none", "of two", "of another dtype"],
)
def test_an_entry_may_be_about_a_shape(elements: int | None, observed: ResultShape | ResultDtype, excused: bool):
    program = parse("a = leaf [[1], [2]]; b = leaf (0,) []; c = where a b mask=True", VOCABULARY)
    rule = "gradients/forward"
    violation = Violation(rule, 2, observed, (Allowed(ResultShape((2, 0)), rule),), Ref(2), "where")
    entry = Known(rule, "where", "r", program, wrong_shape=True, elements=elements)
    assert is_known(entry, program, violation) is excused


@pytest.mark.parametrize(
    ("made", "excused"),
    [("leaf (0,3) []", True), ("leaf [[1, 2, 3]]", False), ("slice a start=1 stop=1 step=1", True)],
    ids=["none", "some", "computed"],
)
def test_an_entry_may_ask_for_a_value_without_elements(made: str, excused: bool):
    program = parse(f"a = leaf [[1, 2, 3]]; b = {made}; c = inner a b", VOCABULARY)
    violation = Violation("gradients/forward", 2, OtherValue(), (), Ref(2), "inner")
    entry = Known("gradients/forward", "inner", "r", program, any_value=True, empty_value=True)
    assert is_known(entry, program, violation) is excused


# -- conditions --------------------------------------------------------------------------------------------------------

HERE = Environment("2.13.0+cpu", "cuda:1", "Linux", "x86_64")


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ('version = ">=2.12,<2.14"', True),
        ('version = "<2.13"', False),
        ('version = "==2.13.0"', True),
        ('device = "cuda"', True),
        ('device = "cuda:1"', True),
        ('device = "cuda:0"', False),
        ('device = "cpu"', False),
        ('platform = "linux"', True),
        ('platform = "Linux x86_64"', True),
        ('platform = "Darwin"', False),
        ("since = 2026-11-22", True),
    ],
)
def test_conditions(condition: str, holds: bool, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(f"{ENTRY}relative = 0.1\n{condition}\n")
    (entry,) = known("x", [tmp_path])
    assert entry.applies(HERE) is holds


def test_an_entry_that_does_not_hold_here_is_not_in_force(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(f'{ENTRY}relative = 0.1\nversion = "<1"\n')
    session = Session("examples.tiny_adapter:Tiny", tmp_path, known_files=(tmp_path / "x.toml",))
    assert session.known == ()
    assert "sin" not in session.faulty_ops


def test_a_version_that_cannot_be_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.toml").write_text(f'{ENTRY}relative = 0.1\nversion = "<1"\n')
    monkeypatch.setattr(Tiny, "version", "newest")
    session = Session("examples.tiny_adapter:Tiny", tmp_path, known_files=(tmp_path / "x.toml",))
    with pytest.raises(MalformedKnownDifferences, match="tiny calls its version 'newest', which cannot be compared"):
        _ = session.known


def test_files_add_up(tmp_path: Path) -> None:
    for name, op in (("x", "sin"), ("y", "exp")):
        (tmp_path / f"{name}.toml").write_text(
            f"{ENTRY.replace('sin', op)}relative = 0.1\nleft_out = {str(op == 'exp').lower()}\n"
        )
    files = (tmp_path / "x.toml", tmp_path / "y.toml")
    session = Session("examples.tiny_adapter:Tiny", tmp_path, known_files=files)
    assert [entry.op for entry in session.known] == ["sin", "exp"]
    assert session.faulty_ops == {"exp"}


@pytest.mark.parametrize(
    ("text", "through", "held"),
    [
        ("a = leaf 2; b = sin a; backward b; c = cos a; backward c", None, True),
        ("a = leaf 2; b = sin a; backward b; c = cos a; backward c", "cos", True),
        ("a = leaf 2; backward a; c = cos a; backward c", "cos", True),  # it need not have come through the op
        ("a = leaf 2; b = sin a; backward b; c = cos a; backward c", "sin", False),  # the call does not go through it
        ("a = leaf 2; backward a; b = exp a; c = cos b; backward c", "cos", False),  # it does not take the leaf
        ("a = leaf 2; c = cos a; backward c", "cos", False),  # the failing call itself
        ("a = leaf 2; b = sin a; backward b; zero a; c = cos a; backward c", None, False),
        ("a = leaf 2; e = leaf 3; b = sin e; backward b; c = cos a; backward c", None, False),
    ],
)
def test_a_leaf_may_hold_what_a_call_left_there(text: str, through: str | None, held: bool):
    program = parse(text, VOCABULARY)
    assert may_have_grad(program, len(program) - 1, Ref(0), through) is held


@pytest.mark.parametrize(
    ("text", "none"),
    [
        ("a = leaf 2; step a sgd lr=0.125", True),
        ("a = leaf 2; backward a; zero a; step a sgd lr=0.125", True),
        ("a = leaf 2; b = leaf 3; backward b; step a sgd lr=0.125", True),
        ("a = leaf 2; backward a; step a sgd lr=0.125", False),
        ("a = leaf 2; b = leaf 3 const; assign a b; step a sgd lr=0.125", False),
    ],
)
def test_a_leaf_may_hold_no_gradient(text: str, none: bool) -> None:
    program = parse(text, VOCABULARY)
    entry = Known("optimizers/skips", None, "r", program, any_value=True, grad_is_none=True)
    violation = Violation(entry.rule, len(program) - 1, OtherValue(), (), Ref(0))
    assert is_known(entry, program, violation) is none
    assert not is_known(entry, program, replace(violation, subject=None))


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("a = leaf 2; b = leaf 3; c = add a b; backward c", True),
        ("a = leaf 2; b = leaf 3; c = add a b; backward c; backward a", True),
        ("a = leaf 2; b = leaf 3; c = add a b; backward a", False),
        ("a = leaf 2; b = leaf 3; backward a; backward b", False),
    ],
)
def test_a_call_may_leave_gradients_in_several_leaves(text: str, several: bool) -> None:
    entry = next(
        entry for entry in known("tinygrad") if entry.rule == "accumulation/own-object" and entry.reaches_several_leaves
    )
    program = parse(text, VOCABULARY)
    violation = Violation(entry.rule, len(program) - 1, SharedGradient("a", "b"), (), Ref(1))
    assert is_known(entry, program, violation) is several


@pytest.mark.parametrize(
    ("text", "one"),
    [
        ("a = leaf [2]; b = concat a a dim=0; c = sin b", True),
        ("a = leaf [2]; b = sin a; c = multiply b a; d = sin c", True),
        ("a = leaf [2]; b = leaf [3]; c = multiply a b; d = sin c", False),
        ("a = leaf [2]; b = sin a; c = multiply a a", False),  # the op does not stand before
    ],
)
def test_an_op_may_take_two_operands_from_one_leaf(text: str, one: bool) -> None:
    (entry,) = (entry for entry in known("mindspore") if entry.operands_share_leaf)
    program = parse(text, VOCABULARY)
    violation = Violation(entry.rule, len(program) - 1, OtherGradient(Place.RESULT), ())
    assert is_known(entry, program, violation) is one


FREED = "a = leaf [1]; b = leaf [2]; c = sin b; d = sin a; backward d with [1]"


@pytest.mark.parametrize(
    ("text", "partly"),
    [
        (f"{FREED}; e = add d c; backward e with [1]; drop c, d, e", True),
        (
            f"{FREED}; e = sin d; backward e with [1]; drop c, d, e",
            False,
        ),
        (f"{FREED}; backward c with [1]; drop c, d", False),
        (f"{FREED}; backward d with [1]; drop c, d", False),
    ],
)
def test_a_call_may_go_partly_through_what_another_went_through(text: str, partly: bool) -> None:
    (entry,) = (entry for entry in known("torch") if entry.graph_partly_reused)
    program = parse(text, VOCABULARY)
    assert is_known(entry, program, Violation(entry.rule, len(program) - 1, SavedTensorCount(1), ())) is partly


@pytest.mark.parametrize("name", ["dezero", "libtorch", "paddle"])
def test_an_assigned_form_that_is_refused_otherwise_is_not_excused(name: str) -> None:
    (entry,) = (entry for entry in known(name) if entry.rule == "accumulation/assigned-form")
    program = parse("a = leaf [1, 2]; b = leaf [3] const; assign a b")
    violation = Violation(entry.rule, 2, ReturnedUnexpectedly(), ())
    assert is_known(entry, program, violation)
    for observed in (RaisedError(Kind.UNKNOWN, "E", "no"), NoGradient(), OtherGradient(Place.LEAF)):
        assert not is_known(entry, program, replace(violation, observed=observed))


def test_a_dtype_that_is_given_may_be_a_gradients() -> None:
    (entry,) = (entry for entry in known("dezero") if entry.rule == "gradients/form")
    program = parse("a = leaf f32 2; b = tanh a; backward b", VOCABULARY)
    due = (Allowed(GradientForm((), "float32"), entry.rule),)
    for form, holds in (((), "float64"), True), (((1,), "float64"), False), (((), "float16"), False):
        assert is_known(entry, program, Violation(entry.rule, 2, GradientForm(*form), due, Ref(0))) is holds
    other = parse("a = leaf f32 2; b = sin a; backward b", VOCABULARY)
    assert not is_known(entry, other, Violation(entry.rule, 2, GradientForm((), "float64"), due, Ref(0)))


@pytest.mark.parametrize(
    ("text", "anew"),
    [
        ("a = leaf 2; b = sin a; backward b; c = multiply b a; backward c, b", True),
        ("a = leaf 2; b = sin a; backward b; c = multiply b a; backward b", True),
        ("a = leaf 2; b = sin a; backward b; c = multiply b a; backward c", False),  # what it took is no root
        ("a = leaf 2; b = sin a; c = multiply b a; backward b; backward c, b", False),  # it took it before
        ("a = leaf 2; b = sin a; backward b; backward b", False),
    ],
)
def test_a_root_may_have_been_taken_anew(text: str, anew: bool):
    program = parse(text, VOCABULARY)
    assert reuses_root(program, len(program) - 1) is anew
