"""Pairs of programs whose gradients must be equal, or multiples of each other: one computation with two ways to compute
its gradients.

The relation is fixed and the computation is drawn: ops of every kind, writes, hooks that scale, detached or unrecorded
parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hypothesis import strategies as st

from autograd_conformance.programs import slugs
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import (
    Apply,
    Backward,
    Grad,
    Instruction,
    Leaf,
    Literal,
    Program,
    Ref,
    RetainGrad,
)
from autograd_conformance.programs.operands import refer
from autograd_conformance.programs.operands import results as results_of
from autograd_conformance.rules.relations.relation import Alike, Related
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.randomness.choices import Choices, Draw

Relations = st.SearchStrategy[Related]

FACTORS = (2.0, 0.5, -1.0, 4.0, -0.25, 1024.0)
"""Powers of two and negatives of some: multiplying by them does not round."""

PARTS = ("op",) * 12 + ("successor",) * 3 + ("write", "scale", "unrecorded", "detach", "retain")
"""The kinds of parts of a computation, such as an op or an in-place write, drawn evenly."""

Call = Callable[[Sequence[Ref], Sequence[Literal | None], bool | None], Instruction]
"""A function that makes a call (backward or functional) from its roots, their cotangents and `retain_graph`."""


def relation(write: Callable[[Draft], Related]) -> Callable[[], Relations]:
    """Makes a strategy of pairs of related programs from a function that writes one pair."""

    @st.composite
    def drawn(draw: Draw) -> Related:
        return write(Draft(Choices(draw)))

    drawn.__name__, drawn.__doc__ = write.__name__, write.__doc__
    return drawn


# -- computations ------------------------------------------------------------------------------------------------------


def _compute(a: Draft) -> None:
    """Adds a leaf and a computation of up to ten parts, such as ops, in-place writes and hooks that scale."""
    a.leaf()
    for _ in range(1 + a.below(10)):
        value = a.choices.recent(a.script.live)
        match a.pick(PARTS):
            case "op":
                a.ops.draw()
            case "successor" if a.requires(value):
                a.ops.successor(value)
            case "write" if a.can(Capability.WRITES):
                made = [
                    r
                    for r in a.script.op_results()
                    if not a.reference.storages.overlaps_itself(r) and a.actions.traversable(r)
                ]
                if made:
                    a.writes.to(a.choices.recent(made))
            case "scale" if a.can(Capability.HOOKS) and a.requires(value):
                if not a.reference.views.may_be_written_view(value):  # a hook on one ends PyTorch's process (2.13)
                    a.actions.hook(value, "scale", a.pick(FACTORS))
            case "unrecorded" if a.can(Capability.MODES):
                with a.under("no_grad"):
                    a.ops.draw()
            case "detach" if a.can(Capability.DETACH):
                a.detach(value)
            case "retain" if a.can(Capability.RETAINS_GRAD) and value in a.script.op_results():
                a.actions.retain_grad(value)


def _root(a: Draft, dtype: str | None = None) -> Ref:
    """Returns a value on which a backward call is legal, of the given dtype if there is one."""
    made = [r for r in a.script.op_results() if a.actions.traversable(r) and a.reference.values[r].size]
    made = [r for r in made if dtype is None or a.dtypes[r] == dtype]
    root = a.choices.recent(made) if made else a.ops.nonlinear(a.vector())
    return root if a.can(Capability.COTANGENTS) else a.ops.total(root)


def _keeping(a: Draft) -> bool | None:
    """Draws a value of `retain_graph` for the last call."""
    return a.pick((None, True)) if a.can(Capability.RETAIN) else None


def _with_grad(a: Draft) -> list[Ref]:
    """Returns the values with a `.grad`: leaves, and values with a retained gradient."""
    retained = [step.target for step in a.reference.steps if isinstance(step, RetainGrad)]
    return [*(r for r in a.script.leaves if a.requires(r)), *dict.fromkeys(retained)]


def _program(a: Draft, *calls: Instruction) -> Program:
    return Program(tuple(a.reference.steps), tuple(a.script.under_modes)).extended(*calls)


def _form(a: Draft, roots: Iterable[Ref], leaves: bool = False) -> Call:
    """Draws a form of a call: backward, functional, or backward restricted to inputs. The inputs are leaves if `leaves`
    is set, else any values.
    """
    reached_edges = set().union(*(a.reference.pullbacks.of(Backward((r,), (_ones(a, r),))) for r in roots))
    reached = [
        r
        for r in (a.script.leaves if leaves else a.script.live)
        if a.requires(r) and a.reference.tape.edge(r) in reached_edges
    ]
    chosen = tuple(dict.fromkeys(a.choices.recent(reached) for _ in range(1 + a.below(3))))
    if not a.can(Capability.IMPERATIVE):
        inputs = (
            a.script.leaves if leaves or a.below(4) else [r for r in chosen if r in a.script.leaves] or a.script.leaves
        )
        return lambda roots, given, retain: Grad(
            tuple(roots), tuple(inputs), tuple(given), retain, materialize_grads=True
        )
    forms: list[Call] = [lambda roots, given, retain: Backward(tuple(roots), tuple(given), retain)]
    if a.can(Capability.FUNCTIONAL, Capability.UNUSED, Capability.ANY_INPUTS):
        forms.append(lambda roots, given, retain: Grad(tuple(roots), chosen, tuple(given), retain, allow_unused=True))
    if a.can(Capability.INPUTS):
        forms.append(lambda roots, given, retain: Backward(tuple(roots), tuple(given), retain, inputs=chosen))
    return a.pick((forms[0], *forms))


def _ones(a: Draft, root: Ref) -> Literal:
    shape = a.shape(root)
    return Literal((1.0,) * int(a.reference.values[root].size), shape, a.dtypes[root])


def _gradients(a: Draft, call: Instruction, at: int) -> list[Ref]:
    """Returns the values whose gradients the call at instruction `at` computes or changes: a functional call's results,
    the call's `inputs`, or all values with a `.grad`.
    """
    if isinstance(call, Grad):
        return [Ref(at, k) for k in range(len(call.inputs))]
    assert isinstance(call, Backward)
    return _with_grad(a) if call.inputs is None else list(call.inputs)


# -- sums and multiples ------------------------------------------------------------------------------------------------


@relation
def sums(a: Draft) -> Related:
    """Draws two programs with the same two or three roots: one call on their sum or on all of them, and one call on
    each.
    """
    _compute(a)
    terms = [_root(a)]
    terms += [_root(a, a.dtypes[terms[0]]) for _ in range(1 + a.below(2))]
    terms = list(dict.fromkeys(terms)) if a.alphabet.traits.distinct_roots else terms
    together = a.can(Capability.MULTIPLE_ROOTS) and a.below(2)
    if not together and len({a.shape(r) for r in terms}) > 1:
        terms = [a.ops.summed(r) for r in terms]
    cotangents = [a.actions.cotangent(r) for r in terms] if together else [a.actions.cotangent(terms[0])] * len(terms)
    call, count = _form(a, terms), len(a.reference.steps)
    calls = [call((r,), (given,), True) for r, given in zip(terms, cotangents)]
    second = _program(a, *calls)
    if together:
        once = call(terms, cotangents, _keeping(a))
    else:
        (add,) = a.available("add")
        whole = terms[0]
        for term in terms[1:]:
            (whole,) = a.apply(add, (whole, term))
        once = call((whole,), (cotangents[0],), _keeping(a))
    first = _program(a, once)
    several = [_gradients(a, each, count + n) for n, each in enumerate(calls)]
    mine = _gradients(a, once, len(first) - 1)
    if isinstance(once, Grad):
        return Related(slugs.RELATIONS_SUM, first, second, tuple(map(Alike, mine, zip(*several))))
    return Related(slugs.RELATIONS_SUM, first, second, tuple(Alike(r, (r,)) for r in mine))


@relation
def scalings(a: Draft) -> Related:
    """Draws two programs with one computation and one root: a call with a multiple of a cotangent, and a call of the
    same form with the cotangent itself.
    """
    _compute(a)
    root, factor = _root(a), a.pick(FACTORS)
    given = a.actions.cotangent(root)
    plain = _ones(a, root) if given is None else given
    scaled = Literal(tuple(factor * x for x in plain.data), plain.shape, plain.dtype)
    call, retain = _form(a, [root]), _keeping(a)
    first, second = call((root,), (scaled,), retain), call((root,), (given,), retain)
    same = _gradients(a, first, len(a.reference.steps))
    alike = tuple(Alike(r, (r,), factor) for r in same)
    return Related(slugs.RELATIONS_SCALING, _program(a, first), _program(a, second), alike)


@relation
def repetitions(a: Draft) -> Related:
    """Draws two programs: two to five equal calls on a retained graph, and one such call."""
    _compute(a)
    root, count = _root(a), len(a.reference.steps)
    given, times = a.actions.cotangent(root), 2 + a.below(4)
    call = _form(a, [root])
    one = call((root,), (given,), _keeping(a))
    several = [call((root,), (given,), True) for _ in range(times - 1)] + [one]
    first, second = _program(a, *several), _program(a, one)
    if isinstance(one, Grad):
        its = _gradients(a, one, count)
        alike = [Alike(Ref(count + n, r.output), (r,)) for n in range(times) for r in its]
    else:
        alike = [Alike(r, (r,), float(times)) for r in _gradients(a, one, count)]
    return Related(slugs.RELATIONS_REPEATED, first, second, tuple(alike))


# -- sharing -----------------------------------------------------------------------------------------------------------


@relation
def sharings(a: Draft) -> Related:
    """Draws two programs: a value is used several times, or is recomputed for one of its uses."""
    a.leaf()
    a.ops.grow(0, 6)
    value = a.ops.nonlinear(a.ops.required()) if a.below(2) else _root(a)
    uses = [a.ops.successor(value) for _ in range(1 + a.below(3))]
    a.ops.grow(0, 2)
    again = a.pick(("multiply", "add", "subtract", "negative"))
    if again in a.alphabet.ops and again != "negative":
        uses.append(a.apply(again, (value, value))[0])
    else:
        uses.append(a.ops.nonlinear(value))
    root = _joined(a, uses)
    root = root if a.can(Capability.COTANGENTS) else a.ops.total(root)
    call = _form(a, [root], leaves=True)((root,), (a.actions.cotangent(root),), _keeping(a))
    first = _program(a, call)
    places = [(at, k) for at, step in enumerate(first) if isinstance(step, Apply) for k in _places(step, value)]
    at, place = a.pick(places[::-1])
    second, new = recompute_for_one_use(first, value, at, place, deep=not a.below(2))
    mine = [r for r in _gradients(a, call, len(first) - 1) if isinstance(first[r.at], (Leaf, Grad))]
    return Related(slugs.RELATIONS_SHARING, first, second, tuple(Alike(r, (new[r],)) for r in mine))


def _joined(a: Draft, values: Sequence[Ref]) -> Ref:
    """Combines values into one by `add` or another op of two operands, after summing each value's elements if shapes or
    dtypes differ. Values of another dtype than the first are left out.
    """
    if len({(a.shape(v), a.dtypes[v]) for v in values}) > 1:
        values = [a.ops.summed(v) for v in values]
    made = values[0]
    for other in values[1:]:
        if a.dtypes[other] == a.dtypes[made]:
            made = a.ops.join(made, other)
    return made


def _places(step: Apply, value: Ref) -> list[int]:
    return [k for k, ref in enumerate(step.args) if ref == value]


def recompute_for_one_use(
    program: Program, value: Ref, at: int, place: int, deep: bool
) -> tuple[Program, dict[Ref, Ref]]:
    """Returns the program in which instruction `at` gets a recomputed copy of `value` as operand `place`; also the new
    reference of each of the program's values. Only the op of `value` is repeated, or with `deep` all ops from the
    leaves. The program has no writes.
    """
    new: dict[Ref, Ref] = {}
    steps: list[Instruction] = []
    for number, step in enumerate(program):
        made = refer(step, new)
        if number == at:
            copies: dict[Ref, Ref] = dict(new)
            for older in sorted(_makers(program, value) if deep else {value.at}):
                copied = refer(program[older], copies)
                copies.update({Ref(older, k): Ref(len(steps), k) for k in range(results_of(copied))})
                steps.append(copied)
            assert isinstance(made, Apply)
            args = (*made.args[:place], copies[value], *made.args[place + 1 :])
            made = Apply(made.op, args, made.attrs, made.results)
        new.update({Ref(number, k): Ref(len(steps), k) for k in range(results_of(step))})
        steps.append(made)
    return Program(tuple(steps)), new


def _makers(program: Program, value: Ref) -> set[int]:
    """Returns the indices of the ops that a value was computed by."""
    step = program[value.at]
    if not isinstance(step, Apply):
        return set()
    return {value.at}.union(*(_makers(program, r) for r in step.args))
