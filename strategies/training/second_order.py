"""Training loops that differentiate gradients: gradient penalties, inner loops, Hessian-vector products."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.training.loop import Loop
from autograd_conformance.strategies.training.patterns import USUAL, pattern
from autograd_conformance.strategies.training.plan import LoopBug

RATE = 0.125
"""Learning rate of the gradient steps in an "inner loop"."""

NEEDS = (Capability.CREATE_GRAPH, Capability.FUNCTIONAL)
BUGS = (*USUAL, LoopBug.RETAIN)


def gradients(loop: Loop, root: Ref, inputs: Sequence[Ref], create: bool = True) -> list[Ref]:
    """Computes gradients of `root` by a functional call, differentiable if `create` is set; returns an empty list if
    the call raises.

    `create_graph` retains the graph by default. The bug `RETAIN` passes `retain_graph=False` in addition.
    """
    retain = False if create and loop.has_bug(LoopBug.RETAIN) else None
    return loop.a.actions.grad([root], inputs, retain=retain, create=create, cotangents=(None,))


@pattern("gradient penalty", bugs=BUGS, needs=NEEDS, order=2)
def penalised(loop: Loop) -> None:
    """Writes a training loop whose loss contains half the mean square of a gradient: that of the result's mean with
    respect to the batch.
    """

    def forward(i: int) -> list[Ref]:
        batch = loop.batch("x", i, requires_grad=True)
        result = loop.call(0, batch)
        found = gradients(loop, loop.mean(result), [batch])
        loss = loop.loss(result, i)
        if not found:
            return [loss]
        penalty = loop.mean(loop.apply("square", found[0]))
        return [loop.total([loss, loop.apply("multiply_scalar", penalty, scalar=0.5)])]

    loop.train(forward)


@pattern("inner loop", counts=(1, 2, 3), variants=2, bugs=(*USUAL, (LoopBug.RETAIN, (0,))), needs=NEEDS, order=3)
def inner(loop: Loop) -> None:
    """Writes a training loop whose loss is computed with parameters after one to three gradient steps, and is
    differentiated through these steps. In the second variant the steps' gradients are constants.
    """

    def forward(i: int) -> list[Ref]:
        fast: Sequence[Ref] = loop.networks[0].parameters
        for k in range(loop.plan.count):
            loss = loop.loss(loop.call(0, loop.batch(f"x {k}", i), fast), i, k)
            found = gradients(loop, loss, fast, create=not loop.plan.variant)
            if len(found) < len(fast):
                break
            steps = [loop.apply("multiply_scalar", g, scalar=RATE) for g in found]
            fast = [loop.apply("subtract", p, step) for p, step in zip(fast, steps, strict=True)]
        return [loop.loss(loop.call(0, loop.batch("x", i), fast), i, loop.plan.count)]

    loop.train(forward)


@pattern(
    "Hessian-vector products", variants=2, bugs=(*USUAL, LoopBug.RETAIN),
    needs=(*NEEDS, Capability.ASSIGNS), order=2,
)  # fmt: skip
def curved(loop: Loop) -> None:
    """Writes a training loop that steps along a Hessian-vector product: computed by backward, or in the second variant
    by a functional call and assigned to `.grad`.
    """
    a, parameters = loop.a, loop.networks[0].parameters

    def forward(i: int) -> list[Ref]:
        found = gradients(loop, loop.loss(loop.call(0, loop.batch("x", i)), i), parameters)
        vectors = [loop.constant(0.5, a.shape(p)) for p in parameters]
        return [loop.total(loop.mean(loop.apply("multiply", g, v)) for g, v in zip(found, vectors))] if found else []

    def backward_calls(number: int, roots: Sequence[Ref]) -> None:
        if not loop.plan.variant or not roots:
            loop.backward_calls(number, roots)
            return
        products = a.actions.grad(roots, parameters, cotangents=(None,))
        if loop.has_bug(LoopBug.TWICE):
            a.actions.grad(roots, parameters, cotangents=(None,))
        if len(products) == len(parameters):
            for parameter, product in zip(parameters, products, strict=True):
                a.actions.assign_grad(parameter, product)

    loop.train(forward, backward_calls)
