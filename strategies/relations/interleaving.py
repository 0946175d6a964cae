"""Pairs of a program and the same program reordered, or with another program's instructions in between. Results must be
equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Backward,
    Detach,
    Grad,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Program,
    ReadGrad,
    Ref,
    RetainGrad,
    ZeroGrad,
)
from autograd_conformance.programs.operands import operands, refer, results
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.building.alphabet import current, using
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.randomness.choices import RETAIN, Choices, Draw
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.random_programs import programs
from autograd_conformance.strategies.sequences import sequences
from autograd_conformance.strategies.situations import (
    accumulation,
    errors,
    functional,
    gradients,
    higher,
    hooks,
    modes,
    optimizers,
    views,
    writes,
)

PURE = (Leaf, Apply, Detach)
"""Instructions that only read values. Each can be moved to any place after the instructions that make its operands."""

CALLS = (Backward, Grad, ZeroGrad, RetainGrad, Hook)
"""Instructions that keep their order among each other, but do not restrict where instructions of `PURE` are moved."""

SITUATIONS: tuple[Callable[[], st.SearchStrategy[Drawn]], ...] = (
    gradients.whole_graphs,
    writes.written_values,
    accumulation.replaced_gradients,
    hooks.retained_gradients,
    hooks.changing_hooks,
    writes.recorded_writes,
    optimizers.steps,
    views.view_histories,
    functional.functional_gradients,
    functional.inner_inputs,
    modes.unrecorded_calls,
    writes.written_saved,
    errors.failing_calls,
    hooks.raising_hooks,
    errors.refused,
    higher.derivatives_of_grads,
    accumulation.assigned_objects,
    higher.penalised_gradients,
    hooks.accumulated_hooks,
    modes.restored,
    modes.frozen_leaves,
)
"""Strategies of programs, each for one rule, from which `any_program` draws."""


@st.composite
def any_program(draw: Draw) -> Drawn:
    """Draws a program of any kind that the framework supports. It does not change the default dtype, because the two
    programs of a pair share it.
    """
    with using(current().fixed_dtype):
        make = Choices(draw).pick((programs, programs, sequences, sequences, *SITUATIONS))
        try:
            return draw(make())
        except Unsupported:
            return draw(programs())


@st.composite
def forests(draw: Draw) -> Drawn:
    """Draws two to four chains of ops that begin on separate leaves, and a backward call on each chain's end. An op may
    take further operands from any chain.
    """
    b = Draft(Choices(draw), tracked=False)
    ends: list[Ref] = []
    for _ in range(2 + b.below(3)):
        value = b.ops.nonlinear(b.leaf_of(((3,), (2, 3), (), (2, 2))))
        for _ in range(b.below(3)):
            value = next((r for r in b.ops.draw(fresh=False, on=value) if b.requires(r)), value)
        ends.append(value)
    for end in ends:
        b.actions.backward(end, retain=b.pick(RETAIN))
    return b.drawn()


# -- another order -----------------------------------------------------------------------------------------------------


@st.composite
def orders(draw: Draw) -> Related:
    """Draws a program, and the same program with one to six instructions moved to other places that their dependencies
    allow.
    """
    choices = Choices(draw)
    program = draw(choices.pick((any_program, forests))()).program
    traits = current().traits
    before = predecessors(program, traits.ends or traits.use_clears)
    order = list(range(len(program)))
    for _ in range(1 + choices.below(6)):
        ways = [(at, places) for at in order if (places := _elsewhere(order, at, before))]
        if ways:
            at, places = choices.pick(ways)
            order.remove(at)
            order.insert(choices.pick(places), at)
    second, new = arranged([(program, at) for at in order])
    same = tuple((at, new[0][Ref(at)].at) for at in range(len(program)))
    return Related(
        slugs.RELATIONS_ORDER, program, second, same=same, exact=has_single_contributions(program), interrupted=True
    )


def _elsewhere(order: Sequence[int], at: int, before: Sequence[set[int]]) -> list[int]:
    """Returns the other places to which an instruction can be moved."""
    rest = [other for other in order if other != at]
    lowest = max((k + 1 for k, other in enumerate(rest) if other in before[at]), default=0)
    highest = min((k for k, other in enumerate(rest) if at in before[other]), default=len(rest))
    return [place for place in range(lowest, highest + 1) if place != order.index(at)]


def predecessors(program: Program, fixed: bool = False) -> list[set[int]]:
    """Returns, for each instruction, the instructions that must precede it.

    If gradients are used as values, a call may change values in place, so all other instructions keep their order
    relative to it. The same applies if `fixed` is set, for frameworks in which values computed before and after a call
    differ.
    """
    values = any(isinstance(step, (ReadGrad, AssignGrad)) for step in program)
    calls = (RetainGrad, Hook) if values or fixed else CALLS
    found: list[set[int]] = []
    barrier: int | None = None
    call: int | None = None
    for at, step in enumerate(program):
        before = {ref.at for ref in operands(step)}
        if isinstance(step, calls) and call is not None:
            before.add(call)
        if not isinstance(step, (*PURE, *calls)):
            before = set(range(at))
        elif barrier is not None and not isinstance(step, Leaf):
            before.add(barrier)
        if not isinstance(step, PURE):
            call = at
        barrier = at if not isinstance(step, (*PURE, *calls)) else barrier
        found.append(before)
    return found


def has_single_contributions(program: Program) -> bool:
    """Whether no value gets gradient contributions from two instructions, whose order of addition might differ."""
    uses: Counter[Ref] = Counter()
    for step in program:
        match step:
            case InPlace() | Backward(create_graph=True) | Grad(create_graph=True):
                return False
            case Apply() | Detach():
                uses.update(set(operands(step)))
            case Backward(roots) | Grad(roots):
                uses.update(roots if len(roots) > 1 else ())
    return all(count < 2 for count in uses.values())


# -- among another program ---------------------------------------------------------------------------------------------


@st.composite
def interleavings(draw: Draw) -> Related:
    """Draws a program, and the same program with the instructions of another one between its own."""
    program, other = draw(any_program()).program, draw(any_program()).program
    order = draw(st.integers(0, 2 ** (len(program) + len(other)) - 1))
    mine, its = list(range(len(program))), list(range(len(other)))
    steps: list[tuple[Program, int]] = []
    while mine or its:
        from_other = not mine or (its and order & 1)
        steps.append((other, its.pop(0)) if from_other else (program, mine.pop(0)))
        order >>= 1
    second, new = arranged(steps, (program, other))
    same = tuple((at, new[0][Ref(at)].at) for at in range(len(program)))
    return Related(slugs.RELATIONS_INTERLEAVED, program, second, same=same, exact=True)


def arranged(
    steps: Sequence[tuple[Program, int]], of: Sequence[Program] | None = None
) -> tuple[Program, list[dict[Ref, Ref]]]:
    """Makes one program of several programs' instructions in the given order; returns also, for each of them, the new
    reference of each value.

    An instruction without values gets a reference, too, to its index.
    """
    programs_of = list(of or (steps[0][0],))
    places: list[dict[Ref, Ref]] = [{} for _ in programs_of]
    made: list[Instruction] = []
    for program, at in steps:
        new = places[next(n for n, each in enumerate(programs_of) if each is program)]
        step = program[at]
        made.append(refer(step, new))
        new.update({Ref(at, k): Ref(len(made) - 1, k) for k in range(max(1, results(step)))})
    return Program(tuple(made), tuple(program.mode(at) for program, at in steps)), places
