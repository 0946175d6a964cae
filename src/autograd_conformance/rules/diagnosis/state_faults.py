"""Faults in the state before a call, and the gradients that each of them would give: stale or new values after in-place
changes, in-place changes without gradients, constants with gradients, hooks forgotten or called too often.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

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
from autograd_conformance.rules.diagnosis.earlier_calls import kept_gradients
from autograd_conformance.rules.diagnosis.fault import Contributions, Fault, Traverse
from autograd_conformance.rules.diagnosis.kinds import DiagnosisKind

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
"""For ops whose derivative is usually computed from the result: a function that computes, from a changed result, the
operand that would give it.
"""


def state_faults(reference: Reference, call: BackwardCall) -> Iterator[Fault]:
    """Yields the faults in the state before a call that would give the call other gradients."""

    def traverse(
        entries: Sequence[TapeEntry] = reference.tape.entries, vjp: VjpRule = exact_vjp, hooked: Hooked | None = None
    ) -> Contributions:
        changes = reference.hooks.functions() if hooked is None else hooked
        return pull(entries, reference.values, reference.tape.roots(call), vjp, hooked=changes)

    yield from _values_now(reference, traverse)
    yield from _writes(reference, traverse)
    yield from _constants(reference, traverse)
    yield from _hooks(reference, call, traverse)
    yield from kept_gradients(reference, call, False)


def _lines(at: Collection[int]) -> list[int]:
    """Returns the line numbers, from 1, of some instructions, in order."""
    return [number + 1 for number in sorted(at)]


# -- writes -----------------------------------------------------------------------------------------------------------


def _values_now(reference: Reference, traverse: Traverse) -> Iterator[Fault]:
    """Yields the fault that takes derivatives at the current values instead of the recorded ones."""
    if not reference.storages.versions:
        return
    since: set[int] = set()
    with np.errstate(all="ignore"):
        entries = [_now(reference, entry, since) for entry in reference.tape.entries]
        if since:
            yield Fault.of(DiagnosisKind.CURRENT_VALUES, traverse(entries), *_lines(since))


def _now(reference: Reference, entry: TapeEntry, since: set[int]) -> TapeEntry:
    """Returns a tape entry with its operands' current values, after in-place changes of the operands or of the result.
    Adds the numbers of the instructions that made these changes to `since`.
    """
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
    """Yields the faults in which an in-place change passes its gradient on wrongly."""
    for at in sorted({r.at for r in reference.tape.entries if r.op in WRITES and any(r.needs_input_grad)}):
        line = at + 1
        views = any(r.at == at and r.op == MOVE and len(r.args) == 2 for r in reference.tape.entries)
        needs_input_grad = any(r.needs_input_grad[0] for r in reference.tape.entries if r.at == at and r.op in WRITES)
        if needs_input_grad:
            yield Fault.of(DiagnosisKind.WRITE_IGNORED, traverse(vjp=_at(at, _unwritten)), line)
        yield Fault.of(DiagnosisKind.WRITTEN_WITHOUT, traverse(vjp=_at(at, _nothing_in)), line)
        if needs_input_grad:
            yield Fault.of(DiagnosisKind.OVERWRITTEN_TOO, traverse(vjp=_at(at, _old_too)), line)
        if views:
            yield Fault.of(DiagnosisKind.BASE_UNWRITTEN, traverse(vjp=_at(at, _base_alone)), line)
            yield Fault.of(DiagnosisKind.WRITTEN_THROUGH_VIEW, traverse(vjp=_at(at, _view_lost)), line)


ChangedVjp = Callable[[TapeEntry, list[Array], tuple[Array, ...]], tuple[Array, ...]]


def _at(at: int, changed: ChangedVjp) -> VjpRule:
    """Returns a function for vector-Jacobian products in which `changed` alters those of instruction `at`."""

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
    """Yields the faults in which a value that was computed under no_grad, or detached in place, passes gradients on."""
    requires = dict(reference.requires_grad)
    entries, since = _flowing(reference, requires, {})
    if since:
        yield Fault.of(DiagnosisKind.CONSTANT_RECORDED, traverse(entries), *_lines(since))
    cut = [s.target for s in reference.steps if isinstance(s, DetachInPlace)]
    again = {reference.tape.edges[t]: t for t in cut if t in reference.tape.edges and t in reference.tape.producer}
    if again:
        entries, _ = _flowing(reference, {**requires, **dict.fromkeys(again, True)}, again)
        yield Fault.of(DiagnosisKind.DETACH_IN_PLACE_IGNORED, traverse(entries))


def _flowing(
    reference: Reference, requires: dict[GradientEdge, bool], renamed: Mapping[GradientEdge, GradientEdge]
) -> tuple[list[TapeEntry], set[int]]:
    """Returns the tape entries, with every op recorded that has a differentiable operand, and the numbers of the
    instructions that were not recorded before.
    """
    entries, since = [], set()
    for entry in reference.tape.entries:
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
    """Yields the faults in which a hook that changes gradients is ignored, called twice, in another order, on its
    leaf's whole gradient, or after its removal.
    """
    changes = reference.hooks.functions()
    for edge, hooks in reference.hooks.on.items():
        for k, (handle, hook) in enumerate(hooks):
            if hook.effect in ("scale", "replace"):
                yield from _hook(reference, call, traverse, edge, k, handle.at + 1, hook)
        if len(hooks) > 1:
            yield Fault.of(DiagnosisKind.HOOKS_REVERSED, traverse(hooked={**changes, edge: changes[edge][::-1]}))
    for step in reference.steps:
        removed = reference.steps[step.handle.at] if isinstance(step, RemoveHook) else None
        if isinstance(step, RemoveHook) and isinstance(removed, Hook) and removed.effect == "scale":
            edge = reference.tape.edge(removed.target)
            more = [*changes.get(edge, ()), partial(np.multiply, removed.factor)]
            yield Fault.of(DiagnosisKind.HOOK_KEPT, traverse(hooked={**changes, edge: more}), step.handle.at + 1)


def _hook(
    reference: Reference, call: BackwardCall, traverse: Traverse, edge: GradientEdge, k: int, line: int, hook: Hook
) -> Iterator[Fault]:
    """Yields the faults in which hook number `k` of an edge, registered on a line, is ignored, called on its leaf's
    whole gradient instead of the call's contribution, or called twice.
    """
    changes = reference.hooks.functions()
    of_edge = list(changes[edge])
    ignored = {**changes, edge: of_edge[:k] + of_edge[k + 1 :]}
    yield Fault.of(DiagnosisKind.HOOK_IGNORED, traverse(hooked=ignored), line)
    if isinstance(call, Backward) and hook.effect == "scale" and edge not in reference.tape.producer:
        raw, old = traverse(hooked=ignored), reference.grad(hook.target)
        if old is not None and edge in raw:
            raw[edge] = hook.factor * (old + raw[edge]) - old
            yield Fault.of(DiagnosisKind.HOOK_OF_WHOLE_GRADIENT, raw, line)
    twice = {**changes, edge: of_edge[: k + 1] + of_edge[k:]}
    yield Fault.of(DiagnosisKind.HOOK_TWICE, traverse(hooked=twice), line)
