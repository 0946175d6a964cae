"""The tape model: the allowed outcomes of a program's last line, one fact a row. PyTorch's outcome is among them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Backward, Program, Ref
from autograd_conformance.programs.observations import Kind, Raised, Returned, Skipped, StepObservation
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.tape.graph import Expectation
from autograd_conformance.tape.model import Tape

TORCH = Torch()

RETURNS = {"returns"}
FREED = {"graph freed"}
EITHER = RETURNS | FREED

DIAMOND = "a = leaf 3; h = multiply a a; p = exp h; q = sin h"
TWO = "a = leaf 2; b = leaf 3; p = multiply a a; q = multiply b b; j = add p q"

FACTS = [
    # calling backward (R1 to R8)
    ("a = leaf 3; b = multiply a a; backward b", RETURNS),
    ("a = leaf [3]; b = multiply a a; backward b", RETURNS),
    ("a = leaf [[3]]; b = multiply a a; backward b", RETURNS),
    ("a = leaf [1, 2]; b = multiply a a; backward b", {"non-scalar root"}),
    ("a = leaf (0,) []; b = multiply a a; backward b", {"non-scalar root"}),
    ("a = leaf (0,) []; b = multiply a a; backward b with (0,) []", RETURNS),
    ("a = leaf [1, 2]; b = multiply a a; backward b with [1, 2]", RETURNS),
    ("a = leaf [1, 2]; b = multiply a a; backward b with [1, 2, 3]", {"cotangent shape"}),
    ("a = leaf [1, 2]; b = multiply a a; backward b with [[1, 2]]", {"cotangent shape"}),
    ("a = leaf 3; b = multiply a a; backward b with [1]", {"cotangent shape"}),
    ("a = leaf [3]; b = multiply a a; backward b with 1", {"cotangent shape"}),
    ("a = leaf [1, 2]; b = multiply a a; backward b with f32 [1, 2]", RETURNS),
    ("a = leaf 3 const; backward a", {"no grad"}),
    ("a = leaf 3 const; b = multiply a a; backward b", {"no grad"}),
    ("a = leaf 3; d = detach a; backward d", {"no grad"}),
    ("a = leaf 3; d = detach a; b = exp d; backward b", {"no grad"}),
    ("a = leaf 3; c = leaf 2 const; b = multiply a c; backward b", RETURNS),
    ("a = leaf 3; backward a", RETURNS),
    ("a = leaf 3; backward a; backward a; backward a", RETURNS),
    # several roots (R6), and the order in which refusals come, which is open
    ("a = leaf 3; b = exp a; c = sin a; backward b, c", RETURNS),
    ("a = leaf 3; b = exp a; backward b, b", RETURNS),
    ("a = leaf [1, 2]; b = exp a; s = sum b dim=(0,) keepdim=False; backward s, b with none, [1, 1]", RETURNS),
    ("a = leaf [1, 2]; b = exp a; s = sum b dim=(0,) keepdim=False; backward s, b", {"non-scalar root"}),
    ("a = leaf 3; b = exp a; d = detach b; backward b, d", {"no grad"}),
    ("a = leaf [1, 2] const; backward a", {"no grad", "non-scalar root"}),
    ("a = leaf [1, 2] const; backward a with [1]", {"no grad", "cotangent shape"}),
    ("a = leaf [1, 2]; b = exp a; backward b, b with none, [1]", {"non-scalar root", "cotangent shape"}),
    # a refusal leaves the graph as it was (R8)
    ("a = leaf [1, 2]; b = exp a; backward b; backward b with [1, 1]", RETURNS),
    ("a = leaf [1, 2]; b = exp a; backward b with [1]; backward b with [1, 1]; backward b with [1, 1]", FREED),
    ("a = leaf 3; b = exp a; d = detach b; backward b, d; backward b", RETURNS),
    ("a = leaf [1, 2]; b = exp a; backward b with [1, 1]; backward b", {"non-scalar root", "graph freed"}),
    # the graph is freed unless it is retained (R10, R11)
    ("a = leaf 3; b = exp a; backward b; backward b", FREED),
    ("a = leaf 3; b = exp a; backward b retain=False; backward b", FREED),
    ("a = leaf 3; b = exp a; backward b retain=True; backward b", RETURNS),
    ("a = leaf 3; b = exp a; backward b retain=True; backward b; backward b", FREED),
    ("a = leaf 3; b = exp a; backward b retain=True; backward b retain=True; backward b retain=True", RETURNS),
    ("a = leaf 3; b = exp a; backward b; backward b retain=True", FREED),
    ("a = leaf 3; b = exp a; backward b; backward b; backward b; backward b", FREED),
    ("a = leaf 3; b = exp a; backward b, b; backward b", FREED),
    ("a = leaf (0,) []; b = exp a; backward b with (0,) []; backward b with (0,) []", EITHER),
    # what saves nothing may be traversed again, or not (R11)
    ("a = leaf 3; b = negative a; backward b; backward b", EITHER),
    ("a = leaf 3; b = add a a; backward b; backward b", EITHER),
    ("a = leaf 3; b = multiply_scalar a scalar=2.0; backward b; backward b", EITHER),
    ("a = leaf 3; b = negative a; backward b retain=True; backward b", RETURNS),
    ("a = leaf 3; b = negative a; c = exp b; backward c; backward b", EITHER),
    ("a = leaf 3; b = exp a; c = negative b; backward c; backward c", FREED),
    ("a = leaf 3; c = leaf 2 const; b = add a c; backward b; backward b; backward b", EITHER),
    # freeing follows the traversal (R12, R14)
    (f"{DIAMOND}; backward p; backward q", FREED),
    (f"{DIAMOND}; backward h; backward p", FREED),
    (f"{DIAMOND}; backward p retain=True; backward q", RETURNS),
    (f"{DIAMOND}; backward p, q", RETURNS),
    (f"{TWO}; backward p; backward q", RETURNS),
    (f"{TWO}; backward p; backward j", FREED),
    (f"{TWO}; backward j; backward p", FREED),
    (f"{TWO}; backward p retain=True; backward j", RETURNS),
    ("a = leaf 3; b = exp a; c = sin b; backward b; backward c", FREED),
    ("a = leaf 3; b = exp a; backward b; c = sin b; backward c", FREED),
    ("a = leaf 3; b = exp a; backward b; c = negative b; backward c", FREED),
    ("a = leaf 3; b = exp a; backward b; d = detach b; c = multiply d a; backward c", RETURNS),
    ("a = leaf 3; b = exp a; c = sin b; d = detach c; e = multiply d a; backward e; backward c", RETURNS),
    ("a = leaf [1, 2]; p, q = split a sizes=(1, 1) dim=0; c = exp p; d = exp q; backward c; backward d", EITHER),
    # a later call may or may not find what a failed one freed: it is told by neither
    (f"{TWO}; backward p; backward j; backward q", EITHER),
    (f"{TWO}; backward p; backward j retain=True; backward q", RETURNS),
    # graphs that share leaves only (R18)
    ("a = leaf 3; b = exp a; c = sin a; backward b; backward c", RETURNS),
    ("a = leaf 3; b = exp a; backward b; c = exp a; backward c", RETURNS),
    ("a = leaf 3; b = exp a; backward b; c = exp a; backward c; backward b", FREED),
    ("a = leaf 3; b = exp a; backward b; zero a; backward b", FREED),
]


def kinds(expectation: Expectation) -> set[str]:
    """The allowed outcomes in words."""
    return {kind.value for kind in expectation.raises} | ({"returns"} if expectation.returns else set())


def pairs(program: Program) -> Iterator[tuple[int, Expectation, Tape]]:
    """The model's expectations where every call returns if it may, and raises if it must."""
    tape = Tape(Reference(program))
    for at, step in enumerate(program):
        expectation = tape.expect(at, step)
        yield at, expectation, tape
        outcome = Returned() if expectation.returns else Raised(next(iter(expectation.raises)), "Error", "")
        tape.record(at, step, expectation, StepObservation(outcome))


def last(text: str) -> Expectation:
    """The expectation for the last line."""
    return [expectation for _, expectation, _ in pairs(parse(text, VOCABULARY))][-1]


@pytest.mark.parametrize(("text", "allowed"), FACTS, ids=[text for text, _ in FACTS])
def test_the_last_line_may(text: str, allowed: set[str]):
    assert kinds(last(text)) == allowed


@pytest.mark.parametrize("text", [text for text, _ in FACTS])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_the_outcome_of_pytorch_is_allowed(text: str, dtype: str):
    program = parse(text.replace("leaf ", f"leaf {dtype} ").replace("with [", f"with {dtype} ["), VOCABULARY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judgement = judge(program, run(program, TORCH), Reference(program), TORCH.capabilities)
    assert judgement.violation is None


# -- which rule an outcome rests on -----------------------------------------------------------------------------------

REBUILT = "a = leaf 3; b = exp a; backward b; c = exp a"
RULES = [
    ("a = leaf 3; b = exp a; backward b; backward b", "graph freed", "lifetime/same-root-raises"),
    ("a = leaf 3; b = exp a; backward b; backward b retain=True", "graph freed", "lifetime/late-retain-raises"),
    (
        "a = leaf 3; b = exp a; backward b retain=True; backward b; backward b",
        "graph freed",
        "lifetime/last-call-frees",
    ),
    ("a = leaf 3; b = exp a; backward b; c = sin b; backward c", "graph freed", "lifetime/freed-subgraph-raises"),
    ("a = leaf 3; b = negative a; backward b; backward b", "graph freed", "lifetime/nothing-saved"),
    ("a = leaf 3; b = negative a; backward b; backward b", "returns", "errors/legal-returns"),
    ("a = leaf 3; b = exp a; backward b retain=True; backward b", "returns", "lifetime/retained-works"),
    (f"{TWO}; backward p; backward q", "returns", "lifetime/traversed-only"),
    ("a = leaf 3; b = exp a; c = sin a; backward b; backward c", "returns", "lifetime/independent"),
    (f"{REBUILT}; backward c", "returns", "lifetime/rebuilt"),
    ("a = leaf [1, 2]; b = exp a; backward b; backward b with [1, 1]", "returns", "errors/refusal-keeps-graph"),
    ("a = leaf 3; b = exp a; backward b", "returns", "errors/legal-returns"),
    ("a = leaf 3; d = detach a; backward d", "no grad", "detach/root-raises"),
    ("a = leaf 3 const; backward a", "no grad", "errors/no-grad-root"),
    ("a = leaf [1, 2]; backward a", "non-scalar root", "errors/non-scalar-root"),
    ("a = leaf [1, 2]; backward a with [1]", "cotangent shape", "errors/cotangent-shape"),
]


@pytest.mark.parametrize(("text", "outcome", "rule"), RULES)
def test_an_outcome_is_allowed_by_a_rule(text: str, outcome: str, rule: str):
    expectation = last(text)
    assert (expectation.returns if outcome == "returns" else expectation.raises[Kind(outcome)]) == rule


# -- which rules a line puts to the test (R6, R19, R26, R27) ----------------------------------------------------------

EXERCISES = [
    ("a = leaf 3; b = exp a; backward b", "gradients/op accumulation/first", "gradients/graph accumulation/adds"),
    ("a = leaf 3; b = exp a; c = sin b; backward c", "gradients/graph", "gradients/op gradients/fan-out"),
    ("a = leaf 3; b = exp a; c = add a b; backward c", "gradients/fan-out", "gradients/same-argument"),
    (
        "a = leaf 3; b = multiply a a; backward b",
        "gradients/same-argument gradients/fan-out",
        "accumulation/own-object",
    ),
    ("a = leaf [1, 2]; p, q = split a sizes=(1, 1) dim=0; backward q", "gradients/several-results", "detach/blocks"),
    ("a = leaf 3; b = exp a; backward b, a", "gradients/several-roots", "gradients/cotangent"),
    ("a = leaf 3; b = exp a; backward b with 2", "gradients/cotangent", "gradients/several-roots"),
    ("a = leaf 3; b = exp a; backward b with 1", "gradients/form", "gradients/cotangent"),
    ("a = leaf 3; b = leaf 3; c = add a b; backward c", "gradients/equal-leaves accumulation/own-object", ""),
    ("a = leaf 3; b = leaf 4; c = add a b; backward c", "accumulation/own-object", "gradients/equal-leaves"),
    ("a = leaf 3; b = leaf 4; c = exp a; backward c", "accumulation/unreached", "accumulation/constant"),
    ("a = leaf 3; b = leaf 4 const; c = add a b; backward c", "accumulation/constant", "accumulation/unreached"),
    ("a = leaf 3; b = leaf 4 const; c = exp a; backward c", "gradients/op", "accumulation/constant"),
    ("a = leaf 3; b = exp a; d = detach b; c = multiply a d; backward c", "detach/blocks", "detach/keeps-source"),
    ("a = leaf 3; b = exp a; d = detach b; backward b", "detach/keeps-source", "detach/blocks"),
    ("a = leaf 3; b = exp a; backward b; backward b", "lifetime/default-frees errors/atomic", "accumulation/adds"),
    ("a = leaf 3; b = exp a; backward b retain=False; backward b", "errors/atomic", "lifetime/default-frees"),
    ("a = leaf 3; zero a", "", "accumulation/zero-to-none accumulation/zero-to-zeros"),
]


@pytest.mark.parametrize(("text", "some", "none"), EXERCISES)
def test_a_line_puts_rules_to_the_test(text: str, some: str, none: str):
    exercised = set(last(text).exercises)
    assert exercised >= set(some.split())
    assert not exercised & set(none.split())


def test_adding_and_clearing_are_counted_where_a_gradient_was_held():
    program = parse("a = leaf 3; b = exp a; backward b retain=True; backward b; zero a; zero a to zeros", VOCABULARY)
    exercised = judge(program, run(program, TORCH), Reference(program), TORCH.capabilities).exercised
    assert exercised["accumulation/first"] == exercised["accumulation/adds"] == 1
    assert exercised["accumulation/zero-to-none"] == 1
    assert "accumulation/zero-to-zeros" not in exercised


# -- the state of the model -------------------------------------------------------------------------------------------


def test_the_nodes_and_edges_of_a_traversal():
    program = parse(f"{DIAMOND}; c = leaf 1 const; r = add p c; s = add r q; backward s", VOCABULARY)
    traversal = [expectation.traversal for _, expectation, _ in pairs(program)][-1]
    assert [node.at for node in traversal.nodes] == [6, 5, 3, 2, 1]
    assert traversal.leaves == {Ref(0)}
    assert traversal.uses == {Ref(0): 2, Ref(1): 2, Ref(2): 1, Ref(3): 1, Ref(5): 1}


def test_a_node_of_several_ops_is_traversed_once():
    """Ops that share a node with an op on the path of a call lead the traversal back to ops on the path."""
    program = parse("a = leaf 3; h = sin a; p = exp h; q = multiply h p; backward p; b = leaf 1", VOCABULARY)
    reference = Reference(program, Traits(one_node=True))
    traversal = Tape(reference, regions=dict.fromkeys((1, 2, 3), (1, 2, 3))).traverse(program[4])
    assert [node.at for node in traversal.nodes] == [2, 1]
    assert [node.at for node in traversal.maybe_nodes] == [3]
    assert traversal.uses == {Ref(0): 1, Ref(1): 2, Ref(2): 1}


def test_freeing_is_always_after_a_return_and_maybe_after_an_error():
    program = parse(f"{TWO}; backward p; backward j; a1 = leaf 1", VOCABULARY)
    *_, (_, _, tape) = pairs(program)
    assert {node.at: (node.freed, node.freed_by) for node in tape.nodes.values()} == {
        2: (Certainty.ALWAYS, 5), 3: (Certainty.MAYBE, 6), 4: (Certainty.MAYBE, 6),
    }  # fmt: skip


def test_a_framework_that_does_not_claim_to_free_may_do_either():
    program = parse("a = leaf 3; b = exp a; backward b; backward b", VOCABULARY)
    tape = Tape(Reference(program), frozenset(Capability) - {Capability.FREES})
    for at, step in enumerate(program):
        expectation = tape.expect(at, step)
        tape.record(at, step, expectation, StepObservation(Returned()))
    assert kinds(expectation) == EITHER


def test_an_outcome_that_was_not_allowed_desynchronises_nothing():
    program = parse("a = leaf 3; b = exp a; backward b; backward b; c = sin a; backward c", VOCABULARY)
    for outcome in (Returned(), Skipped(), Raised(Kind.UNKNOWN, "Error", "")):
        tape = Tape(Reference(program))
        for at, step in enumerate(program):
            expectation = tape.expect(at, step)
            tape.record(at, step, expectation, StepObservation(outcome if isinstance(step, Backward) else Returned()))
        assert kinds(expectation) == RETURNS


def test_an_addend_alone_may_save_nothing():
    text = "c = leaf [[1]]; x = leaf [[2]]{}; y = leaf [[3]] const; r = addmm c x y beta=1 alpha=1"
    twice = "; backward r; backward r"
    assert kinds(last(text.format("") + twice)) == FREED
    assert kinds(last(text.format(" const") + twice)) == EITHER
