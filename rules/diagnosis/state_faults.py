"""Known ways to lose track of state, and the gradients that each of them would give: values that were written to,
writes that pass nothing on, constants that do, hooks that are forgotten or called too often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.programs.language import (
    Apply,
    Backward,
    BackwardCall,
    DetachInPlace,
    Hook,
    InPlace,
    Ref,
    RemoveHook,
)
from autograd_conformance.programs.operands import operands
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.reverse import MOVE, GradientEdge, Hooked, TapeEntry, VjpRule, exact_vjp, pull
from autograd_conformance.reference.staging.derivatives import Array

Contributions = dict[Ref, Array]
Mistake = tuple[str, str, Contributions]
"""The rule against it, what it looks like, and what it would contribute to every value."""

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
"""Ops whose derivative is commonly computed from the result, with what the operand would be for another result."""


def slips(reference: Reference, call: BackwardCall) -> Iterator[Mistake]:
    """The mistakes that are possible in a call for what went before it."""

    def walk(
        records: Sequence[TapeEntry] = reference.entries, vjp: VjpRule = exact_vjp, hooked: Hooked | None = None
    ) -> Contributions:
        changes = reference.hooked() if hooked is None else hooked
        return pull(records, reference.values, reference.roots(call), vjp, hooked=changes)

    yield from _values_now(reference, walk)
    yield from _writes(reference, walk)
    yield from _constants(reference, walk)
    yield from _hooks(reference, call, walk)


Walk = Callable[..., Contributions]


# -- writes -----------------------------------------------------------------------------------------------------------


def _values_now(reference: Reference, walk: Walk) -> Iterator[Mistake]:
    """The derivatives at the values that there are now."""
    written = reference.storages.versions
    if not written:
        return
    since: set[int] = set()
    with np.errstate(all="ignore"):
        records = [_now(reference, record, since) for record in reference.entries]
        if since:
            lines = " and ".join(str(at + 1) for at in sorted(since))
            text = f"It is the gradient at the values after the write of line {lines}, not at those that were recorded."
            yield "writes/error-or-recorded", text, walk(records)


def _now(reference: Reference, record: TapeEntry, since: set[int]) -> TapeEntry:
    """A record with the operands that it would have now; `since` takes down the writes that make the difference."""
    step, written, owner = reference.steps[record.at], reference.storages.versions, reference.storages.storage
    if not isinstance(step, (Apply, InPlace)) or record.op != step.op:
        return record
    now = list(record.operands)
    for k, ref in enumerate(operands(step)):
        at = written.get(owner(ref), -1)
        if at > record.at:
            now[k] = reference.values[ref]
            since.add(at)
    at = written.get(owner(Ref(record.at)), -1) if isinstance(step, Apply) else -1
    if at > record.at and record.op in INVERSES:
        now[0] = INVERSES[record.op](reference.values[Ref(record.at)])
        since.add(at)
    return replace(record, operands=tuple(now))


def _writes(reference: Reference, walk: Walk) -> Iterator[Mistake]:
    """A write that passes its gradient on wrongly."""
    for at in sorted({r.at for r in reference.entries if r.op in WRITES and any(r.needs_input_grad)}):
        write, line = f"the write on line {at + 1}", at + 1
        views = any(r.at == at and r.op == MOVE and len(r.args) == 2 for r in reference.entries)
        needs_input_grad = any(r.needs_input_grad[0] for r in reference.entries if r.at == at and r.op in WRITES)
        if needs_input_grad:
            text = f"It is the gradient without {write}: what was there before got all of it."
            yield "writes/recorded", text, walk(vjp=_at(at, _unwritten))
        text = f"What was written on line {line} got no gradient."
        yield "writes/recorded", text, walk(vjp=_at(at, _nothing_in))
        if needs_input_grad:
            text = f"What was overwritten on line {line} got the gradient, too."
            yield "writes/recorded", text, walk(vjp=_at(at, _old_too))
        if views:
            text = f"It is the gradient of the base without {write}, which went to a view of it."
            yield "views/history", text, walk(vjp=_at(at, _base_alone))
            text = f"What {write} put into the base through its view got no gradient."
            yield "views/history", text, walk(vjp=_at(at, _view_lost))


Changed = Callable[[TapeEntry, list[Array], tuple[Array, ...]], tuple[Array, ...]]


def _at(at: int, changed: Changed) -> VjpRule:
    """The vector-Jacobian products with those of one instruction changed."""

    def vjp(record: TapeEntry, given: list[Array], cotangents: list[Array]) -> tuple[Array, ...]:
        made = exact_vjp(record, given, cotangents)
        return changed(record, cotangents, made) if record.at == at else made

    return vjp


def _unwritten(record: TapeEntry, cts: list[Array], made: tuple[Array, ...]) -> tuple[Array, ...]:
    return (cts[0], *map(np.zeros_like, made[1:])) if record.op in WRITES else made


def _nothing_in(record: TapeEntry, cts: list[Array], made: tuple[Array, ...]) -> tuple[Array, ...]:
    return (made[0], *map(np.zeros_like, made[1:])) if record.op in WRITES else made


def _old_too(record: TapeEntry, cts: list[Array], made: tuple[Array, ...]) -> tuple[Array, ...]:
    return (cts[0], *made[1:]) if record.op in WRITES else made


def _base_alone(record: TapeEntry, cts: list[Array], made: tuple[Array, ...]) -> tuple[Array, ...]:
    return (cts[0], np.zeros_like(made[1])) if record.op == MOVE and len(made) == 2 else made


def _view_lost(record: TapeEntry, cts: list[Array], made: tuple[Array, ...]) -> tuple[Array, ...]:
    return (made[0], np.zeros_like(made[1])) if record.op == MOVE and len(made) == 2 else made


# -- constants --------------------------------------------------------------------------------------------------------


def _constants(reference: Reference, walk: Walk) -> Iterator[Mistake]:
    """What was computed under no_grad, or detached in place, passes a gradient on."""
    requires = dict(reference.requires_grad)
    records, since = _flowing(reference, requires, {})
    if since:
        lines = " and ".join(str(at + 1) for at in sorted(since))
        text = f"It is the gradient with line {lines} recorded: what was computed under no_grad passed it on."
        yield "modes/constant", text, walk(records)
    cut = [s.target for s in reference.steps if isinstance(s, DetachInPlace)]
    again = {reference.edges[t]: t for t in cut if t in reference.edges and t in reference.producer}
    if again:
        records, _ = _flowing(reference, {**requires, **dict.fromkeys(again, True)}, again)
        yield "detach/in-place", "It is the gradient with the detaching in place left out.", walk(records)


def _flowing(
    reference: Reference, requires: dict[GradientEdge, bool], renamed: Mapping[GradientEdge, GradientEdge]
) -> tuple[list[TapeEntry], set[int]]:
    """The records with everything recorded that has a differentiable operand; the instructions that were not."""
    records, since = [], set()
    for record in reference.entries:
        needs_input_grad = tuple([requires.get(s, False) for s in record.args])
        if any(needs_input_grad) and not any(record.needs_input_grad):
            since.add(record.at)
            requires.update(dict.fromkeys(record.outs, True))
        elif needs_input_grad != record.needs_input_grad:
            needs_input_grad = tuple([a or b for a, b in zip(needs_input_grad, record.needs_input_grad, strict=True)])
            requires.update(dict.fromkeys(record.outs, True))
        args = tuple([renamed.get(s, s) for s in record.args])
        records.append(replace(record, args=args, needs_input_grad=needs_input_grad))
    return records, {at for at in since if isinstance(reference.steps[at], Apply)}


# -- hooks ------------------------------------------------------------------------------------------------------------


def _hooks(reference: Reference, call: BackwardCall, walk: Walk) -> Iterator[Mistake]:
    """A hook is ignored, called twice, in another order, on the wrong gradient, or although it was removed."""
    all_of_them = reference.hooked()
    for edge, hooked in reference.hooks.items():
        changes = list(all_of_them[edge])
        for k, (handle, hook) in enumerate(hooked):
            if hook.effect not in ("scale", "replace"):
                continue
            line = handle.at + 1
            ignored = {**all_of_them, edge: changes[:k] + changes[k + 1 :]}
            yield "hooks/result", f"What the hook of line {line} returned was ignored.", walk(hooked=ignored)
            if isinstance(call, Backward) and hook.effect == "scale" and edge not in reference.producer:
                raw, held = walk(hooked=ignored), reference.grad(hook.target)
                if held is not None and edge in raw:
                    raw[edge] = hook.factor * (held + raw[edge]) - held
                    text = (
                        f"The hook of line {line} was applied to all that its leaf holds, not to what this call adds."
                    )
                    yield "hooks/result", text, raw
            twice = {**all_of_them, edge: changes[: k + 1] + changes[k:]}
            yield "hooks/called", f"The hook of line {line} was applied twice.", walk(hooked=twice)
        if len(changes) > 1:
            text = "The hooks of one value were called in the opposite order."
            yield "hooks/order", text, walk(hooked={**all_of_them, edge: changes[::-1]})
    for step in reference.steps:
        removed = reference.steps[step.handle.at] if isinstance(step, RemoveHook) else None
        if isinstance(step, RemoveHook) and isinstance(removed, Hook) and removed.effect == "scale":
            edge = reference.edge(removed.target)
            more = [*all_of_them.get(edge, ()), partial(np.multiply, removed.factor)]
            text = f"The hook of line {step.handle.at + 1} was called although it had been removed."
            yield "hooks/removed", text, walk(hooked={**all_of_them, edge: more})
