"""Second derivatives of single ops: an op on fresh leaves, its gradients made differentiable, and these walked.

Where the results are weighted by leaves of their own, the op's cotangent is differentiable, too: then also the part of
its second derivative that leads to the cotangent is looked at, which ops that are linear in their operands have alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rules.catalogue import Needs
from rules.language import Apply, Backward, Held, Literal, Ref
from strategies.builder import Builder
from strategies.situations.base import situation

WEIGHING = "multiply"


@situation
def curvatures(b: Builder, name: str) -> None:
    """One op on fresh leaves, differentiated twice, its results weighted by leaves or not."""
    made = b.op(name, fresh=True)
    for _ in range(2):  # a draw whose results are too large, or whose operands tie, comes to a calm op instead
        if getattr(b.reference.steps[made[0].at], "op", None) == name:
            break
        made = b.op(name, fresh=True)
    differentiate(b, made, weighted=bool(b.below(2)))


def differentiate(b: Builder, made: Sequence[Ref], weighted: bool) -> bool:
    """Make an op's gradients differentiable, and walk those that depend on anything; whether any does."""
    roots = [r for r in made if b.requires(r)]
    if weighted and WEIGHING in b.alphabet.ops:
        roots = [_weighted(b, r) for r in roots]
    if not b.can(Needs.MULTIPLE_ROOTS):
        roots = roots[-1:]
    if not b.can(Needs.COTANGENTS):
        roots = [b.total(r) for r in roots]
    if not roots:
        return False
    cotangents = tuple(_holed(b.cotangent(r)) if weighted else b.cotangent(r) for r in roots)
    b.add(Backward(tuple(roots), cotangents, None, True))
    leaves = [leaf for leaf in b.leaves if b.requires(leaf)]
    held = [Ref(b.add(Held(leaf))) for leaf in leaves]
    curved = [g for g in held if b.requires(g) and b.reference.depends(g)]
    if not curved:
        return False
    b.zero(*leaves)
    b.backward(*curved)
    return True


def _holed(cotangent: Literal | None) -> Literal | None:
    """A cotangent that is zero somewhere, which second derivatives are prone to divide by."""
    if cotangent is None or len(cotangent.data) < 2:
        return cotangent
    return replace(cotangent, data=(0.0, *cotangent.data[1:]))


def _weighted(b: Builder, value: Ref) -> Ref:
    weight = b.leaf(value=b.tensor(b.shape(value), b.dtypes[value]))
    return b.apply(WEIGHING, (value, weight))[0]


def applies(b: Builder, name: str) -> bool:
    """Whether a draft applies an op."""
    return any(isinstance(step, Apply) and step.op == name for step in b.reference.steps)
