"""What a wrong gradient looks like: known ways to be wrong, each computed and compared with what was seen.

A gradient that equals one of them names the rule that was broken and says how, which "another gradient" does not. The
first match wins; the simplest mistakes come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from rules.language import Apply, Backward, Detach, Instruction, Leaf, Literal, Ref
from rules.reference.values import Array, Reference, exact_vjp, pull


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A mistake that would give exactly what was seen, and the rule against it."""

    rule: str
    text: str


def diagnose(
    reference: Reference, call: Backward, leaf: Ref, held: Array | None, got: Array, want: Array, alone: bool = False
) -> Diagnosis | None:
    """The first known mistake whose result is `got` (within a thousand roundings) and is not also right.

    `alone` says that the call walks a single op: what could be the op's own fault is then taken for it.
    """
    due = want - (0.0 if held is None else held)
    for diagnosis, wrong in _mistakes(reference, call, leaf, held, due, alone):
        if np.shape(wrong) == got.shape and _same(got, wrong) and not _same(want, wrong):
            return diagnosis
    return None


def _same(got: Array, want: Array) -> bool:
    scale = np.abs(want).max() if np.size(want) else 0.0
    eps = float(np.finfo(got.dtype if got.dtype.kind == "f" else np.float64).eps)
    return bool((np.abs(got - want) <= 1000 * eps * scale).all())


def _mistakes(
    reference: Reference, call: Backward, leaf: Ref, held: Array | None, due: Array, alone: bool
) -> Iterator[tuple[Diagnosis, Array]]:
    before = np.zeros_like(due) if held is None else held
    adds = "accumulation/adds"
    if held is not None:
        yield Diagnosis(adds, "It is what this call contributes: the gradient held before was overwritten."), due
        yield Diagnosis(adds, "It is what the leaf held before: this call added nothing."), held
        yield (
            Diagnosis(adds, "It is twice what the leaf held: this call added the old gradient, not its own."),
            2 * held,
        )
    for diagnosis, cotangents in _variants(reference, call):
        yield diagnosis, before + cotangents.get(leaf, 0.0)
    contributions = reference.pullback(call)
    for other in _equals(reference, leaf):
        for_other = contributions.get(other, np.zeros_like(due))
        equal = "gradients/equal-leaves"
        yield Diagnosis(equal, "It is the gradient of another leaf of equal values."), before + for_other
        yield (
            Diagnosis(equal, "It is the sum of the gradients of two leaves of equal values."),
            before + due + for_other,
        )
    again = adds if held is not None else "gradients/op" if alone else "accumulation/first"
    yield Diagnosis(again, "This call's contribution was added twice."), before + 2 * due
    yield Diagnosis(again, "This call's contribution was subtracted."), before - due
    if due.ndim >= 2 and due.shape[-1] == due.shape[-2]:
        rule = "gradients/op" if alone else "gradients/graph"
        yield Diagnosis(rule, "It is the transpose of the right gradient."), before + due.swapaxes(-1, -2)


def _equals(reference: Reference, leaf: Ref) -> Iterator[Ref]:
    """The other leaves that require grad and have the values of `leaf`."""
    made = reference.steps[leaf.at]
    for at, step in enumerate(reference.steps):
        if at != leaf.at and isinstance(step, Leaf) and step == made:
            yield Ref(at)


def _variants(reference: Reference, call: Backward) -> Iterator[tuple[Diagnosis, dict[Ref, Array]]]:
    def walk(changed: Backward = call, **options: Callable) -> dict[Ref, Array]:
        return pull(reference.steps, reference.values, reference.requires_grad, changed, **options)

    if any(c is not None for c in call.cotangents):
        shapes = [np.shape(reference.values[r]) for r in call.roots]
        ones = replace(call, cotangents=tuple(_ones(s, c) for s, c in zip(shapes, call.cotangents, strict=True)))
        yield (
            Diagnosis("gradients/cotangent", "It is the gradient for a cotangent of ones: the one given was ignored."),
            walk(ones),
        )
        total = replace(call, cotangents=tuple(_total(c) for c in call.cotangents))
        text = "It is the gradient for the sum of the cotangent's elements in every place."
        yield Diagnosis("gradients/cotangent", text), walk(total)
    if len(set(call.roots)) < len(call.roots):
        once = dict(zip(call.roots, call.cotangents, strict=True))
        text = "It counts a root that is listed twice only once."
        yield (
            Diagnosis("gradients/several-roots", text),
            walk(replace(call, roots=tuple(once), cotangents=tuple(once.values()))),
        )
    if len(call.roots) > 1:
        for k in range(len(call.roots)):
            one = replace(call, roots=(call.roots[k],), cotangents=(call.cotangents[k],))
            text = f"It is the gradient of root number {k + 1} alone: the other roots were ignored."
            yield Diagnosis("gradients/several-roots", text), walk(one)
    yield _repeats(True), walk(vjp=_arguments_once(True))
    yield _repeats(False), walk(vjp=_arguments_once(False))
    yield _fan_out("first"), walk(combine=lambda old, new: old)
    yield _fan_out("last"), walk(combine=lambda old, new: new)
    for kept in range(max((s.results for s in reference.steps if isinstance(s, Apply)), default=0)):
        text = (
            f"It is the gradient through result number {kept + 1} of an op that has several: the others were dropped."
        )
        yield Diagnosis("gradients/several-results", text), walk(vjp=_results_kept(kept))
    if any(isinstance(step, Detach) for step in reference.steps):
        text = "It is the gradient with the detach left out: the detached value passed it on."
        yield Diagnosis("detach/blocks", text), _through(reference, call)


def _ones(shape: tuple[int, ...], cotangent: Literal | None) -> Literal | None:
    return None if cotangent is None else replace(cotangent, data=tuple([1.0] * int(np.prod(shape))))


def _total(cotangent: Literal | None) -> Literal | None:
    return None if cotangent is None else replace(cotangent, data=(sum(cotangent.data),) * len(cotangent.data))


def _repeats(first: bool) -> Diagnosis:
    which = "first" if first else "last"
    return Diagnosis("gradients/same-argument", f"It counts a value that an op takes twice only for its {which} place.")


def _fan_out(which: str) -> Diagnosis:
    return Diagnosis(
        "gradients/fan-out", f"It counts only the {which} contribution to a value that is used several times."
    )


def _arguments_once(first: bool) -> Callable[..., tuple[Array, ...]]:
    def vjp(at: int, step: Apply, operands: list[Array], cotangents: list[Array]) -> tuple[Array, ...]:
        made = list(exact_vjp(at, step, operands, cotangents))
        order = range(len(made)) if first else range(len(made) - 1, -1, -1)
        seen: set[Ref] = set()
        for k in order:
            if step.args[k] in seen:
                made[k] = np.zeros_like(made[k])
            seen.add(step.args[k])
        return tuple(made)

    return vjp


def _results_kept(kept: int) -> Callable[..., tuple[Array, ...]]:
    def vjp(at: int, step: Apply, operands: list[Array], cotangents: list[Array]) -> tuple[Array, ...]:
        if step.results > 1:
            cotangents = [c if k == kept else np.zeros_like(c) for k, c in enumerate(cotangents)]
        return exact_vjp(at, step, operands, cotangents)

    return vjp


def _through(reference: Reference, call: Backward) -> dict[Ref, Array]:
    """The gradients of the program in which every detach is the identity."""
    renamed: dict[Ref, Ref] = {}
    requires: dict[Ref, bool] = {}
    steps: list[Instruction] = []
    for at, step in enumerate(reference.steps):
        match step:
            case Detach(source):
                renamed[Ref(at)] = renamed.get(source, source)
                requires[Ref(at)] = requires[renamed[Ref(at)]]
            case Leaf():
                requires[Ref(at)] = step.requires_grad
            case Apply(op, args, attrs, results):
                step = Apply(op, tuple(renamed.get(r, r) for r in args), attrs, results)
                requires.update({Ref(at, k): any(requires[r] for r in step.args) for k in range(results)})
        steps.append(step)
    return pull(steps, reference.values, requires, replace(call, roots=tuple(renamed.get(r, r) for r in call.roots)))
