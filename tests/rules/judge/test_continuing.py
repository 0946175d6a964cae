"""After a waived violation, the judge continues if it can: it finds the next violation, and no false ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.frameworks.pytorch.modes.checkpoints import TorchCheckpoint
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import Known, is_known, known
from autograd_conformance.known_differences.conditions.outcomes import Message
from autograd_conformance.known_differences.limits import Limits
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import USUAL
from autograd_conformance.programs.formats.text import parse, render
from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.observations import Gradient, Observation, Returned, region_steps
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.rules.judge.judgement import Judgement, Waiver, waives_everything, waives_nothing
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.sequences import sequences
from evaluation.mutants.gradient_objects import AddsToCopies, ColumnMajor
from evaluation.mutants.lifetime import NeverFrees
from evaluation.mutants.mutant import Cotangents, Mutant, Roots
from tests.rules.judge.tampering import BUG, CLAIMS, TORCH

LEAF = "a = leaf [1, 2]; b = sin a"
THREE = f"{LEAF}; backward b with [1, 1] retain=True; backward b with [1, 1] retain=True; backward b with [1, 1]"
A = Ref(0)

Change = Callable[[Gradient], Gradient]


def observed(text: str, *changes: tuple[int, Change]) -> Observation:
    """PyTorch's observation of a program, with the gradient of `a` changed from some instructions on."""
    found = list(run(parse(text, VOCABULARY), TORCH))
    for first, change in changes:
        for at in range(first, len(found)):
            held = found[at].gradients.get(A)
            if held is not None:
                found[at] = replace(found[at], gradients={**found[at].gradients, A: change(held)})
    return tuple(found)


def judged(text: str, observation: Observation, *rules: str) -> tuple[Judgement, list[Violation]]:
    """The judgement if the violations of some rules are waived, and the waived violations."""
    program = parse(text, VOCABULARY)
    found = judge(program, observation, Reference(program), CLAIMS, lambda violation: violation.rule in rules)
    return found, list(found.waived)


def another(held: Gradient) -> Gradient:
    return replace(held, identity=-1)


def doubled(held: Gradient) -> Gradient:
    return replace(held, value=2 * held.value)


# -- what comes after is found -----------------------------------------------------------------------------------------


def test_a_wrong_value_after_another_object() -> None:
    observation = observed(THREE, (3, another), (4, doubled))
    judgement, waived = judged(THREE, observation, "accumulation/in-place")
    assert [each.at for each in waived] == [3]
    assert judgement.violation is not None
    assert (judgement.violation.rule, judgement.violation.at) == ("gradients/op", 4)
    assert judgement.ended_by is None


def test_a_wrong_value_of_another_leaf_in_the_same_call() -> None:
    text = (
        "a = leaf [1, 2]; b = leaf [3, 4]; c = multiply a b; backward c with [1, 1] retain=True; backward c with [1, 1]"
    )
    found = list(observed(text, (4, another)))
    held = found[4].gradients[Ref(1)]
    assert held is not None
    found[4] = replace(found[4], gradients={**found[4].gradients, Ref(1): doubled(held)})
    judgement, waived = judged(text, tuple(found), "accumulation/in-place")
    assert len(waived) == 1
    assert judgement.violation is not None
    assert judgement.violation.subject == Ref(1)


def test_a_new_object_may_keep_the_history_of_the_one_that_it_replaces() -> None:
    text = """
        a = leaf [[-0.5, -2.5, 1], [3, -1, -2]]; b = std a dim=(0,) keepdim=False correction=1; c = expand_dims b dim=-1
        backward b with [0.5, 2.5, -0.5] create=True; d = held a
        backward c inputs d, b with [[4], [2], [1]] retain=True
        backward d with [[-0.5, -3.5, -2.5], [-2, 3, -3]] retain=True
        backward d inputs c, a with [[2.5, 0.5, 1.5], [0.5, 2, -1]]; e = held a
    """
    program, target = parse(text, VOCABULARY), InProcess(AddsToCopies())
    observation = target.observe(program)
    waived = lambda violation: violation.rule == "accumulation/in-place"  # noqa: E731
    assert judge(program, observation, Reference(program), target.capabilities, waived).violation is None
    values = [
        each.outcome.values[0] for each in observation if isinstance(each.outcome, Returned) and each.outcome.values
    ]
    assert values[-1] is not None and values[-1].requires_grad is True


def test_a_wrong_value_after_an_error() -> None:
    text = f"{LEAF}; c = exp a; backward c with [1, 1]; backward b with [1, 1]"
    found = list(observed(text, (4, doubled)))
    found[3] = replace(found[3], outcome=BUG, gradients={A: None})
    judgement, waived = judged(text, tuple(found), "errors/legal-returns", "accumulation/first")
    assert [each.at for each in waived] == [3]
    assert judgement.violation is not None
    assert judgement.violation.at == 4


def test_a_wrong_value_after_a_call_that_had_to_raise() -> None:
    text = f"{LEAF}; backward b with [1, 1]; backward b with [1, 1]; c = exp a; backward c with [1, 1]"
    found = list(run(parse(text, VOCABULARY), NeverFrees()))
    judgement, waived = judged(text, tuple(found), "lifetime/same-root-raises")
    assert judgement.violation is None
    assert [each.at for each in waived] == [3]
    held = found[5].gradients[A]
    assert held is not None
    found[5] = replace(found[5], gradients={A: doubled(held)})
    judgement, _ = judged(text, tuple(found), "lifetime/same-root-raises")
    assert judgement.violation is not None
    assert judgement.violation.at == 5


# -- where it cannot go on ---------------------------------------------------------------------------------------------


def test_after_a_wrong_value_nothing_is_judged() -> None:
    judgement, waived = judged(THREE, observed(THREE, (2, doubled)), "gradients/cotangent")
    assert judgement.violation is None
    assert judgement.ended_by is waived[0]
    assert judgement.ended_by.at == 2


def test_after_a_write_that_raised_nothing_is_judged() -> None:
    text = "a = leaf [1, 2] const; write a mul_scalar_ scalar=2; b = sin a"
    found = list(run(parse(text, VOCABULARY), TORCH))
    found[1] = replace(found[1], outcome=BUG)
    outcome = found[2].outcome
    assert isinstance(outcome, Returned)
    (tensor,) = outcome.values
    assert tensor is not None
    found[2] = replace(found[2], outcome=Returned((replace(tensor, value=np.array([7.0, 7.0])),)))
    judgement, waived = judged(text, tuple(found), "errors/legal-returns")
    assert judgement.violation is None
    assert judgement.ended_by is waived[0]


def test_in_a_region_after_unspecified_behaviour_a_known_difference_is_waived() -> None:
    """A framework that does not claim to refuse a root of several elements returned from such a call: what follows is
    unspecified. Of a region there, the difference is judged all the same.
    """
    text = "a = leaf [1, 2]; b = sin a; backward b; c = exp a; d = sin c"
    program = parse(text, VOCABULARY)
    found = list(InProcess(TorchCheckpoint()).observe(program))
    found[2] = replace(found[2], outcome=Returned(()))
    wrong = {ref: replace(tensor, value=3 * tensor.value) for ref, tensor in found[4].values.items() if ref.at == 4}
    assert wrong and found[4].region == (3, 4)
    found[4] = replace(found[4], values={**found[4].values, **wrong})
    claims = CLAIMS - {Capability.NON_SCALAR_CHECK}

    def judgement(waives: Waiver) -> Judgement:
        return judge(program, tuple(found), Reference(program), claims, waives)

    reported, known = judgement(waives_nothing), judgement(waives_everything)
    assert reported.violation is not None and reported.unspecified
    assert (reported.violation.rule, reported.violation.at) == ("gradients/forward", 4)
    assert reported.violation.regions == region_steps(tuple(found))
    assert known.violation is None and known.unspecified
    assert known.waived == (known.ended_by,)
    assert known.ended_by is not None and known.ended_by.rule == "gradients/forward"


# -- nothing else is found ---------------------------------------------------------------------------------------------

PROGRAMS = 400
"""Of 150 programs, judging continues after the rarest of these differences in 1 to 18."""

NEVER_FREED = (
    *(slug for slug in RULES if slug.startswith("lifetime/") and slug.endswith(("-raises", "-frees"))),
    "functional/frees",
)
"""Every rule that a framework without freeing breaks."""


class RefusesMatrices(Mutant):
    """A root of two dimensions or more is refused as "not implemented"."""

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if any(root.dim() > 1 for root in roots):
            raise RuntimeError("not implemented")
        super().backward(roots, cotangents, retain_graph, **options)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("mutant", "rules", "more"),
    [
        (AddsToCopies, ("accumulation/in-place",), {}),
        pytest.param(
            ColumnMajor,
            ("accumulation/layout", "optimizers/variants"),
            {"limits": Limits(any_value=True)},
            marks=pytest.mark.slow,
        ),  # PyTorch's fused steps ignore the layout
        pytest.param(NeverFrees, (*NEVER_FREED, "errors/recovers"), {}, marks=pytest.mark.slow),
        pytest.param(
            RefusesMatrices,
            ("errors/legal-returns",),
            {"conditions": (Message("not implemented"),)},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_nothing_else_is_found(mutant: type[Mutant], rules: tuple[str, ...], more: dict[str, Any]) -> None:
    """Random sequences of all instructions in any order, judged after the first violation of the mutant's rules."""
    target, witness = InProcess(mutant()), parse("a = leaf 1", VOCABULARY)
    entries = [Known(rule, "", witness, **more) for rule in rules] + [*known("torch")]
    before, false_alarms, continued = alphabet.current(), [], 0
    alphabet.use(alphabet_of(target, USUAL))

    @hypothesis.seed(0)
    @settings(
        max_examples=PROGRAMS, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(sequences())
    def judge_all(drawn: Drawn) -> None:
        nonlocal continued

        def waives(violation: Violation) -> bool:
            return any(is_known(entry, drawn.program, violation) for entry in entries)

        observation = target.observe(drawn.program)
        reference = Reference() if drawn.program.stateful else Reference(drawn.program)
        found = judge(drawn.program, observation, reference, target.capabilities, waives)
        if found.violation is not None and found.waived:
            false_alarms.append((render(drawn.program), found.waived, found.violation))
        continued += bool(found.waived) and found.ended_by is None

    try:
        judge_all()
    finally:
        alphabet.use(before)
    assert false_alarms == []
    assert continued > 0, "judging continued in no program, so nothing was tested"


@pytest.mark.parametrize(
    ("write", "unspecified"), [("no_grad: write b abs_; ", True), ("no_grad: write a abs_; ", True), ("", False)]
)
def test_a_call_for_a_view_that_may_have_lost_its_place(write: str, unspecified: bool) -> None:
    """A write may move a view in the graph. Whether a call for its gradient then goes through the nodes upstream of the
    write is unspecified.
    """
    made = f"a = leaf [1.5, 2]; b = permute_dims a dims=(0,); c = exp b; {write}"
    text = f"{made}backward c inputs b with [3, 4]; backward c with [5, 6]"
    found = list(observed(text))
    assert judged(text, tuple(found))[0].violation is None
    found[-1] = replace(found[-1], outcome=Returned(()))
    assert (judged(text, tuple(found))[0].violation is None) is unspecified


SOLVED = "a = leaf [[3, 0], [1, 4]]; b = solve_triangular a a upper=True; c = solve_triangular a b upper=True"
SEED = "with [[1, 2], [3, 4]]"


@pytest.mark.parametrize(
    ("text", "unspecified"),
    [
        (f"{SOLVED}; d, e = grad c wrt b, a {SEED} create=True; backward e inputs d {SEED}", True),
        (f"{SOLVED}; d = grad c wrt b {SEED} create=True; e = sin d; backward e inputs d {SEED}", False),
    ],
    ids=["of one derivative", "computed from it outside"],
)
def test_a_gradient_may_be_computed_from_another_one_of_its_derivative(text: str, unspecified: bool) -> None:
    """The matrix's gradient may be computed from the right-hand side's: gradients that flow from one to the other are
    unspecified.
    """
    found = list(observed(text))
    assert judged(text, tuple(found))[0].violation is None
    (held,) = (gradient for ref, gradient in found[-1].gradients.items() if gradient is not None and ref.at == 3)
    other = {Ref(3): replace(held, value=2 * held.value)}
    found[-1] = replace(found[-1], gradients={**found[-1].gradients, **other})
    assert (judged(text, tuple(found))[0].violation is None) is unspecified
