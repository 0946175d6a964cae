"""Faults in the traversal of a graph, and the gradients that each of them would give.

Each fault is the reference's reverse accumulation with one change: a cotangent ignored, a contribution dropped, a
detach left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from autograd_conformance.programs.language import Apply, BackwardCall, Detach, Literal, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.reverse import (
    MOVE,
    GradientEdge,
    TapeEntry,
    VjpRule,
    contributions_of,
    evaluate,
    exact_vjp,
    pull,
)
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.staging.derivatives import Array, array
from autograd_conformance.reference.staging.vjp import derivative_order
from autograd_conformance.rules.diagnosis.fault import Contributions, Fault
from autograd_conformance.rules.diagnosis.kinds import DiagnosisKind

MOST_VISITS = 300
"""Largest number of contributions in a recursion through a graph, whose number grows exponentially with the depth."""


def graph_faults(reference: Reference, call: BackwardCall) -> Iterator[Fault]:
    """Yields faults in the traversal of a call's graph, which would give wrong gradients to every call through such a
    graph.
    """
    hooked = reference.hooks.functions()

    def traverse(changed: BackwardCall = call, **options: Any) -> Contributions:
        return pull(reference.tape.entries, reference.values, reference.tape.roots(changed), hooked=hooked, **options)

    if any(c is not None for c in call.cotangents):
        shapes = [np.shape(reference.values[r]) for r in call.roots]
        ones = replace(call, cotangents=tuple(_ones(s, c) for s, c in zip(shapes, call.cotangents, strict=True)))
        yield Fault.of(DiagnosisKind.COTANGENT_IGNORED, traverse(ones))
        total = replace(call, cotangents=tuple(_total(c) for c in call.cotangents))
        yield Fault.of(DiagnosisKind.COTANGENT_SUMMED, traverse(total))
    yield from _constant_gradients(reference, traverse)
    yield from _roots(call, traverse)
    yield Fault.of(DiagnosisKind.FIRST_ARGUMENT, traverse(vjp=_arguments_once(first=True)))
    yield Fault.of(DiagnosisKind.LAST_ARGUMENT, traverse(vjp=_arguments_once(first=False)))
    for combine, kind in ((_first, DiagnosisKind.FIRST_CONTRIBUTION), (_last, DiagnosisKind.LAST_CONTRIBUTION)):
        yield Fault.of(kind, traverse(combine=combine))
        yield Fault.of(kind, traverse(combine=combine, joined=False))
    for order, forgets in () if hooked else product((-1, 1), (False, True)):
        if (totals := _running_totals(reference, call, order, forgets)) is not None:
            yield Fault.of(DiagnosisKind.RUNNING_TOTALS, totals)
    for kept in range(max((s.results for s in reference.steps if isinstance(s, Apply)), default=0)):
        yield Fault.of(DiagnosisKind.RESULT_ALONE, traverse(vjp=_results_kept(kept)), kept + 1)
    if any(isinstance(step, Detach) for step in reference.steps) and not reference.tape.edges:
        yield Fault.of(DiagnosisKind.DETACH_IGNORED, _through(reference, call))


def _running_totals(reference: Reference, call: BackwardCall, order: int, forgets: bool) -> Contributions | None:
    """Returns the gradients of a recursion from the roots, in which a value passes on its sum so far at each
    contribution; None after `MOST_VISITS` contributions. `order` is -1 if it begins with an op's first operand, and 1
    if it begins with the last. If it `forgets`, the sums of an op's operands begin at 0 when it is done with them.
    """
    made_by = {edge: entry for entry in reference.tape.entries for edge in entry.outs}
    totals: dict[GradientEdge, Array] = {}
    waiting: list[tuple[GradientEdge, Array | None]] = []
    waiting += reversed(list(reference.tape.roots(call)))
    for _ in range(MOST_VISITS):
        if not waiting:
            return totals
        edge, contribution = waiting.pop()
        if contribution is None:
            totals.pop(edge, None)
            continue
        totals[edge] = totals[edge] + contribution if edge in totals else contribution
        if (entry := made_by.get(edge)) is not None:
            held = [totals[r] if r in totals else np.zeros_like(reference.values[r]) for r in entry.outs]
            given = contributions_of(entry, exact_vjp(entry, list(entry.operands), held))[::order]
            waiting += [(operand, None) for operand, _ in given if forgets and operand in made_by]
            waiting += given
    return None


def _constant_gradients(reference: Reference, traverse: Callable[..., Contributions]) -> Iterator[Fault]:
    """Yields the faults in which the gradients of a call with create_graph, or one that it passed through, are
    constants, because they were computed by functions that record nothing.
    """
    made: dict[int, list[GradientEdge]] = {}
    for entry in reference.tape.entries:
        if derivative_order(entry.op):
            made.setdefault(entry.at, []).extend(entry.outs)
    for at, outs in made.items():
        for constant in (outs, *([out] for out in outs if len(outs) > 1)):
            yield Fault.of(DiagnosisKind.CONSTANT_GRADIENT, traverse(vjp=nothing_through(constant)), at + 1)


def nothing_through(constant: Collection[GradientEdge]) -> VjpRule:
    """Returns a rule of derivatives by which no gradient passes through some edges."""

    def vjp(step: TapeEntry, operands: list[Array], cotangents: list[Array]) -> tuple[Array, ...]:
        left = [np.zeros_like(c) if out in constant else c for out, c in zip(step.outs, cotangents, strict=True)]
        return exact_vjp(step, operands, left)

    return vjp


def repeated_elements(reference: Reference, call: BackwardCall) -> Iterator[tuple[DiagnosisKind, Contributions]]:
    """Yields the faults in which an op that takes an element of its operand several times, such as an index that occurs
    twice, writes the gradient once for each time instead of adding it up; none if no op does so.
    """
    found = {entry.outs: places for entry in reference.tape.entries if (places := _repeated_places(entry)) is not None}
    for kind, order in ((DiagnosisKind.LAST_OF_REPEATED, 1), (DiagnosisKind.FIRST_OF_REPEATED, -1)) if found else ():
        hooked, roots = reference.hooks.functions(), reference.tape.roots(call)
        vjp = _written_once(found, order)
        yield kind, pull(reference.tape.entries, reference.values, roots, vjp, hooked=hooked)


def _repeated_places(entry: TapeEntry) -> Array | None:
    """Returns the position of the operand's element that each element of the result is; None if the op has several
    operands or results, does anything but move elements, or takes none twice.
    """
    if len(entry.operands) != 1 or len(entry.outs) != 1 or derivative_order(entry.op) or entry.op == MOVE:
        return None
    (operand,) = entry.operands
    with np.errstate(all="ignore"):
        (numbered,) = evaluate(entry.op, entry.attrs, (np.arange(1.0, operand.size + 1).reshape(operand.shape),))
        (result,) = evaluate(entry.op, entry.attrs, (operand,))
    found = np.unique(numbered - 1)
    if len(found) == numbered.size or not np.isin(found, np.arange(operand.size)).all():
        return None
    places = (numbered - 1).astype(int)
    return places.ravel() if np.array_equal(result, operand.ravel()[places]) else None


def _written_once(places: Mapping[tuple[GradientEdge, ...], Array], order: int) -> VjpRule:
    """Returns a function for vector-Jacobian products that gives each element of an operand the cotangent of the last
    place of the result that takes it (`order` 1), or of the first (-1). `places` are those of the ops that take an
    element twice, by their results.
    """

    def vjp(step: TapeEntry, operands: list[Array], cotangents: list[Array]) -> tuple[Array, ...]:
        if step.outs not in places:
            return exact_vjp(step, operands, cotangents)
        made = np.zeros(operands[0].size)
        made[places[step.outs][::order]] = cotangents[0].ravel()[::order]
        return (made.reshape(operands[0].shape),)

    return vjp


def _roots(call: BackwardCall, traverse: Callable[..., Contributions]) -> Iterator[Fault]:
    if len(set(call.roots)) < len(call.roots):
        once = dict(zip(call.roots, call.cotangents, strict=True))
        changed = replace(call, roots=tuple(once), cotangents=tuple(once.values()))
        yield Fault.of(DiagnosisKind.ROOT_ONCE, traverse(changed))
    if len(call.roots) > 1:
        for k in range(len(call.roots)):
            one = replace(call, roots=(call.roots[k],), cotangents=(call.cotangents[k],))
            yield Fault.of(DiagnosisKind.ROOT_ALONE, traverse(one), k + 1)


def _first(old: Array, new: Array) -> Array:
    return old


def _last(old: Array, new: Array) -> Array:
    return new


def _ones(shape: tuple[int, ...], cotangent: Literal | None) -> Literal | None:
    return None if cotangent is None else replace(cotangent, data=tuple([1.0] * int(np.prod(shape))))


def _total(cotangent: Literal | None) -> Literal | None:
    return None if cotangent is None else replace(cotangent, data=(sum(cotangent.data),) * len(cotangent.data))


def _arguments_once(first: bool) -> Callable[..., tuple[Array, ...]]:
    def vjp(step: TapeEntry, operands: list[Array], cotangents: list[Array]) -> tuple[Array, ...]:
        made = list(exact_vjp(step, operands, cotangents))
        order = range(len(made)) if first else range(len(made) - 1, -1, -1)
        visited: set[Ref] = set()
        for k in order:
            if step.args[k] in visited:
                made[k] = np.zeros_like(made[k])
            visited.add(step.args[k])
        return tuple(made)

    return vjp


def _results_kept(kept: int) -> Callable[..., tuple[Array, ...]]:
    def vjp(step: TapeEntry, operands: list[Array], cotangents: list[Array]) -> tuple[Array, ...]:
        if len(step.outs) > 1:
            cotangents = [c if k == kept else np.zeros_like(c) for k, c in enumerate(cotangents)]
        return exact_vjp(step, operands, cotangents)

    return vjp


def _through(reference: Reference, call: BackwardCall) -> Contributions:
    """Returns the gradients that the call would compute if every detach were the identity."""
    renamed: dict[Ref, Ref] = {}
    requires: dict[Ref, bool] = dict(reference.requires_grad)
    for at, step in enumerate(reference.steps):
        if isinstance(step, Detach):
            renamed[Ref(at)] = renamed.get(step.source, step.source)
            requires[Ref(at)] = requires[renamed[Ref(at)]]
    entries: list[TapeEntry] = []
    for entry in reference.tape.entries:
        args = tuple(renamed.get(r, r) for r in entry.args)
        needs_input_grad = tuple(requires.get(r, False) for r in args)
        requires.update({out: any(needs_input_grad) for out in entry.outs})
        entries.append(replace(entry, args=args, needs_input_grad=needs_input_grad))
    changed = replace(call, roots=tuple(renamed.get(r, r) for r in call.roots))
    ones = [
        np.ones_like(reference.values[r]) if c is None else array(c)
        for r, c in zip(call.roots, call.cotangents, strict=True)
    ]
    roots = zip(changed.roots, ones, strict=True)
    return pull(entries, reference.values, roots, hooked=reference.hooks.functions())
