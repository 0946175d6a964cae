"""Faults in the state before a call, and the gradients that each of them would give: stale or new values after writes,
writes without gradients, constants with gradients, hooks forgotten or called too often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import NamedTuple

from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.programs.language import (
    Apply,
    Backward,
    BackwardCall,
    DetachInPlace,
    Grad,
    Hook,
    InPlace,
    Ref,
    RemoveHook,
)
from autograd_conformance.programs.operands import operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.reverse import (
    MOVE,
    GradientEdge,
    Hooked,
    TapeEntry,
    VjpRule,
    exact_vjp,
    pull,
)
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.staging.derivatives import Array

Contributions = dict[Ref, Array]
"""The array that a call adds to the gradient of each value."""


class Fault(NamedTuple):
    """A hypothetical error of a framework that would give other gradients."""

    rule: str
    """The rule that the fault breaks."""
    text: str
    """A sentence that describes the fault."""
    contributions: Contributions
    """The array that the faulty call would add to the gradient of each value."""


INVERSES: Mapping[str, Callable[[Array], Array]] = {
    "exp": np.log,
    "sqrt": np.square,
    "tanh": np.arctanh,
    "sigmoid": lambda y: np.log(y / (1 - y)),
    "reciprocal": np.reciprocal,
    "rsqrt": lambda y: y**-2.0,
    "expm1": np.log1p,
    "exp2": np.log2,
}
"""For ops whose derivative is usually computed from the result: the operand that would give a changed result."""


def state_faults(reference: Reference, call: BackwardCall) -> Iterator[Fault]:
    """Faults in the state before a call that would give it other gradients."""

    def traverse(
        entries: Sequence[TapeEntry] = reference.entries, vjp: VjpRule = exact_vjp, hooked: Hooked | None = None
    ) -> Contributions:
        changes = reference.hooked() if hooked is None else hooked
        return pull(entries, reference.values, reference.roots(call), vjp, hooked=changes)

    yield from _values_now(reference, traverse)
    yield from _writes(reference, traverse)
    yield from _constants(reference, traverse)
    yield from _hooks(reference, call, traverse)
    yield from _left_over(reference, call)


Traverse = Callable[..., Contributions]
"""Reverse accumulation for the call, with one change."""


# -- writes -----------------------------------------------------------------------------------------------------------


def _values_now(reference: Reference, traverse: Traverse) -> Iterator[Fault]:
    """Derivatives are taken at the current values instead of the recorded ones."""
    if not reference.storages.versions:
        return
    since: set[int] = set()
    with np.errstate(all="ignore"):
        entries = [_now(reference, entry, since) for entry in reference.entries]
        if since:
            lines = " and ".join(str(at + 1) for at in sorted(since))
            text = f"It is the gradient at the values after the write of line {lines}, not at those that were recorded."
            yield Fault("writes/error-or-recorded", text, traverse(entries))


def _now(reference: Reference, entry: TapeEntry, since: set[int]) -> TapeEntry:
    """A tape entry with its operands' current values. Adds the writes that changed them to `since`."""
    step, versions, storage = reference.steps[entry.at], reference.storages.versions, reference.storages.storage
    if not isinstance(step, (Apply, InPlace)) or entry.op != step.op:
        return entry
    now = list(entry.operands)
    for k, ref in enumerate(operands(step)):
        at = versions.get(storage(ref), -1)
        if at > entry.at:
            now[k] = reference.values[ref]
            since.add(at)
    at = versions.get(storage(Ref(entry.at)), -1) if isinstance(step, Apply) else -1
    if at > entry.at and entry.op in INVERSES:
        now[0] = INVERSES[entry.op](reference.values[Ref(entry.at)])
        since.add(at)
    return replace(entry, operands=tuple(now))


def _writes(reference: Reference, traverse: Traverse) -> Iterator[Fault]:
    """A write passes its gradient on wrongly."""
    for at in sorted({r.at for r in reference.entries if r.op in WRITES and any(r.needs_input_grad)}):
        write, line = f"the write on line {at + 1}", at + 1
        views = any(r.at == at and r.op == MOVE and len(r.args) == 2 for r in reference.entries)
        needs_input_grad = any(r.needs_input_grad[0] for r in reference.entries if r.at == at and r.op in WRITES)
        if needs_input_grad:
            text = f"It is the gradient without {write}: the overwritten values got all of it."
            yield Fault("writes/recorded", text, traverse(vjp=_at(at, _unwritten)))
        text = f"The values written on line {line} got no gradient."
        yield Fault("writes/recorded", text, traverse(vjp=_at(at, _nothing_in)))
        if needs_input_grad:
            text = f"The values overwritten on line {line} got the gradient, too."
            yield Fault("writes/recorded", text, traverse(vjp=_at(at, _old_too)))
        if views:
            text = f"It is the gradient of the base without {write}, which changed a view of the base."
            yield Fault("views/history", text, traverse(vjp=_at(at, _base_alone)))
            text = f"The values that {write} put into the base through a view got no gradient."
            yield Fault("views/history", text, traverse(vjp=_at(at, _view_lost)))


ChangedVjp = Callable[[TapeEntry, list[Array], tuple[Array, ...]], tuple[Array, ...]]


def _at(at: int, changed: ChangedVjp) -> VjpRule:
    """The vector-Jacobian products, with those of one instruction changed."""

    def vjp(entry: TapeEntry, given: list[Array], cotangents: list[Array]) -> tuple[Array, ...]:
        made = exact_vjp(entry, given, cotangents)
        return changed(entry, cotangents, made) if entry.at == at else made

    return vjp


def _unwritten(entry: TapeEntry, cts: list[Array], made: tuple[Array, ...]) -> tuple[Array, ...]:
    return (cts[0], *map(np.zeros_like, made[1:])) if entry.op in WRITES else made


def _nothing_in(entry: TapeEntry, cts: list[Array], made: tuple[Array, ...]) -> tuple[Array, ...]:
    return (made[0], *map(np.zeros_like, made[1:])) if entry.op in WRITES else made


def _old_too(entry: TapeEntry, cts: list[Array], made: tuple[Array, ...]) -> tuple[Array, ...]:
    return (cts[0], *made[1:]) if entry.op in WRITES else made


def _base_alone(entry: TapeEntry, cts: list[Array], made: tuple[Array, ...]) -> tuple[Array, ...]:
    return (cts[0], np.zeros_like(made[1])) if entry.op == MOVE and len(made) == 2 else made


def _view_lost(entry: TapeEntry, cts: list[Array], made: tuple[Array, ...]) -> tuple[Array, ...]:
    return (made[0], np.zeros_like(made[1])) if entry.op == MOVE and len(made) == 2 else made


# -- constants --------------------------------------------------------------------------------------------------------


def _constants(reference: Reference, traverse: Traverse) -> Iterator[Fault]:
    """A value that was computed under no_grad, or detached in place, passes a gradient on."""
    requires = dict(reference.requires_grad)
    entries, since = _flowing(reference, requires, {})
    if since:
        lines = " and ".join(str(at + 1) for at in sorted(since))
        text = f"It is the gradient with line {lines} recorded: values computed under no_grad passed it on."
        yield Fault("modes/constant", text, traverse(entries))
    cut = [s.target for s in reference.steps if isinstance(s, DetachInPlace)]
    again = {reference.edges[t]: t for t in cut if t in reference.edges and t in reference.producer}
    if again:
        entries, _ = _flowing(reference, {**requires, **dict.fromkeys(again, True)}, again)
        yield Fault("detach/in-place", "It is the gradient with the detaching in place left out.", traverse(entries))


def _flowing(
    reference: Reference, requires: dict[GradientEdge, bool], renamed: Mapping[GradientEdge, GradientEdge]
) -> tuple[list[TapeEntry], set[int]]:
    """The tape entries with every op recorded that has a differentiable operand; and the instructions that were not
    recorded before.
    """
    entries, since = [], set()
    for entry in reference.entries:
        needs_input_grad = tuple([requires.get(s, False) for s in entry.args])
        if any(needs_input_grad) and not any(entry.needs_input_grad):
            since.add(entry.at)
            requires.update(dict.fromkeys(entry.outs, True))
        elif needs_input_grad != entry.needs_input_grad:
            needs_input_grad = tuple([a or b for a, b in zip(needs_input_grad, entry.needs_input_grad, strict=True)])
            requires.update(dict.fromkeys(entry.outs, True))
        args = tuple([renamed.get(s, s) for s in entry.args])
        entries.append(replace(entry, args=args, needs_input_grad=needs_input_grad))
    return entries, {at for at in since if isinstance(reference.steps[at], Apply)}


# -- hooks ------------------------------------------------------------------------------------------------------------


def _hooks(reference: Reference, call: BackwardCall, traverse: Traverse) -> Iterator[Fault]:
    """A hook is ignored, called twice, in another order, on the wrong gradient, or after its removal."""
    changes = reference.hooked()
    for edge, hooks in reference.hooks.items():
        for k, (handle, hook) in enumerate(hooks):
            if hook.effect in ("scale", "replace"):
                yield from _hook(reference, call, traverse, edge, k, handle.at + 1, hook)
        if len(hooks) > 1:
            text = "The hooks of one value were called in the opposite order."
            yield Fault("hooks/order", text, traverse(hooked={**changes, edge: changes[edge][::-1]}))
    for step in reference.steps:
        removed = reference.steps[step.handle.at] if isinstance(step, RemoveHook) else None
        if isinstance(step, RemoveHook) and isinstance(removed, Hook) and removed.effect == "scale":
            edge = reference.edge(removed.target)
            more = [*changes.get(edge, ()), partial(np.multiply, removed.factor)]
            text = f"The hook of line {step.handle.at + 1} was called although it had been removed."
            yield Fault("hooks/removed", text, traverse(hooked={**changes, edge: more}))


def _hook(
    reference: Reference, call: BackwardCall, traverse: Traverse, edge: GradientEdge, k: int, line: int, hook: Hook
) -> Iterator[Fault]:
    """Hook number `k` of an edge, registered on a line, is ignored, called on the wrong gradient, or called twice."""
    changes = reference.hooked()
    of_edge = list(changes[edge])
    ignored = {**changes, edge: of_edge[:k] + of_edge[k + 1 :]}
    yield Fault("hooks/result", f"The result of the hook of line {line} was ignored.", traverse(hooked=ignored))
    if isinstance(call, Backward) and hook.effect == "scale" and edge not in reference.producer:
        raw, old = traverse(hooked=ignored), reference.grad(hook.target)
        if old is not None and edge in raw:
            raw[edge] = hook.factor * (old + raw[edge]) - old
            text = f"The hook of line {line} was applied to its leaf's whole gradient, not to this call's contribution."
            yield Fault("hooks/result", text, raw)
    twice = {**changes, edge: of_edge[: k + 1] + of_edge[k:]}
    yield Fault("hooks/called", f"The hook of line {line} was applied twice.", traverse(hooked=twice))


# -- earlier calls ----------------------------------------------------------------------------------------------------


def _left_over(reference: Reference, call: BackwardCall) -> Iterator[Fault]:
    """Non-leaf values keep the gradients of earlier calls and pass them on again."""
    before = takewhile(lambda step: step is not call, reference.steps)
    calls = [
        step
        for at, step in enumerate(before)
        if isinstance(step, Backward) and at not in reference.skipped and reference.is_legal(step)
    ]
    if not calls or isinstance(call, Grad):
        return
    kept: Contributions = {}
    for each in (*calls, call):
        roots, reached = dict(reference.roots(each)), reference.pullback(each)
        passed = {edge: ct for edge, ct in kept.items() if edge in reached and edge not in roots}
        made = pull(reference.entries, reference.values, (*roots.items(), *passed.items()), hooked=reference.hooked())
        kept.update({edge: ct for edge, ct in made.items() if edge in reference.producer})
    text = "Non-leaf values kept the gradients of earlier calls, and these were passed on again."
    yield Fault("gradients/graph", text, made)
