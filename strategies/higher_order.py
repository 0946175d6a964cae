"""Second and third derivatives of single ops: an op on fresh leaves, its gradients with create_graph, and their
gradients.

If the results are multiplied by separate weight leaves, the op's cotangent is differentiable, too. That tests the part
of the second derivative that leads to the cotangent, which is the only part for ops that are linear in their operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autograd_conformance.ops.rows.shapes import size
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Apply, Backward, Literal, ReadGrad, Ref
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.situations.base import situation

WEIGHT_OP = "multiply"


@situation
def derivatives_of(b: Draft, name: str, times: int = 2) -> None:
    """Draws the op called `name` on fresh leaves, differentiated `times` times; in half of the draws its results are
    first multiplied by new leaves.
    """
    made = b.ops.draw(name, fresh=True)
    for _ in range(2):  # `op` replaces draws with too large results or tied operands
        if getattr(b.reference.steps[made[0].at], "op", None) == name:
            break
        made = b.ops.draw(name, fresh=True)
    differentiate(b, made, bool(b.below(2)), times)


def differentiate(b: Draft, made: Sequence[Ref], weighted: bool, times: int = 2) -> bool:
    """Differentiates an op's results, and then the gradients that depend on any leaf, `times` times in all. If
    `weighted`, each result is first multiplied by a new leaf, and its cotangent begins with a zero. Returns False if no
    result requires grad, or a gradient before the last depends on no leaf.
    """
    roots = [r for r in made if b.requires(r)]
    if weighted and WEIGHT_OP in b.alphabet.ops:
        roots = [_weigh(b, r) for r in roots]
    roots = _within_capabilities(b, roots)
    if not roots:
        return False
    cotangents = [_with_zero(b.actions.cotangent(r)) if weighted else b.actions.cotangent(r) for r in roots]
    for order in range(times - 1):
        if order:
            roots = _within_capabilities(b, roots)
            cotangents = [b.actions.cotangent(r) for r in roots]
        leaves = [leaf for leaf in b.script.leaves if b.requires(leaf)]
        at = b.script.add(b.actions.backward_call(roots, cotangents, None, True))
        grads = [r for r in b.script.live if r.at == at] or [Ref(b.script.add(ReadGrad(leaf))) for leaf in leaves]
        roots = [g for g in grads if b.requires(g) and _depends(b, g)]
        if not roots:
            return False
        b.actions.zero_grad(*leaves)
    b.actions.backward(*roots)
    return True


def _within_capabilities(b: Draft, roots: Sequence[Ref]) -> list[Ref]:
    """Returns the roots that one backward call supports: all or the last, or their sums if the framework has no
    explicit cotangents.
    """
    roots = list(roots if b.can(Capability.MULTIPLE_ROOTS) else roots[-1:])
    return roots if b.can(Capability.COTANGENTS) else [b.ops.total(r) for r in roots]


def _depends(b: Draft, gradient: Ref) -> bool:
    """Whether a gradient depends on some leaf, even if its sum does not, as for a normalisation."""
    shape = b.shape(gradient)
    uneven = Literal(tuple(1.0 + k * k / 8 for k in range(size(shape))), shape)
    reached = b.reference.pullbacks.of(Backward((gradient,), (uneven,)))
    return any(value.any() for edge, value in reached.items() if edge not in b.reference.tape.producer)


def _with_zero(cotangent: Literal | None) -> Literal | None:
    """Sets the first element of a cotangent to zero, because second derivatives are prone to divide by a cotangent.
    None and cotangents of one element are returned unchanged.
    """
    if cotangent is None or len(cotangent.data) < 2:
        return cotangent
    return replace(cotangent, data=(0.0, *cotangent.data[1:]))


def _weigh(b: Draft, value: Ref) -> Ref:
    weight = b.leaf(value=b.operands.tensor(b.shape(value), b.dtypes[value]))
    return b.apply(WEIGHT_OP, (value, weight))[0]


def applies(b: Draft, name: str) -> bool:
    """Whether a program under construction contains the op called `name`."""
    return any(isinstance(step, Apply) and step.op == name for step in b.reference.steps)
