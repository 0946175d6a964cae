"""Training loops with one network: one or several losses, parts of a batch, and changes of gradients before the
step.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.training.loop import Loop
from autograd_conformance.strategies.training.patterns import USUAL, pattern
from autograd_conformance.strategies.training.plan import Clearing, LoopBug

TWO = (("wide", "wide"), ("wide", "out"))
"""The input and output widths of two networks that are called in a row, the second on the first one's result."""


@pattern("one loss")
def one(loop: Loop) -> None:
    """Writes a training loop of clear, forward, loss, backward, step."""
    loop.train(lambda i: [loop.loss(loop.call(0, loop.batch("x", i)), i)])


@pattern("several losses", counts=(2, 3), bugs=(*USUAL, LoopBug.RETAIN, LoopBug.BETWEEN), needs=(Capability.RETAIN,))
def several(loop: Loop) -> None:
    """Writes a training loop with several losses of one result, and a backward call on each."""
    loop.train(lambda i: losses(loop, i))


def losses(loop: Loop, i: int) -> list[Ref]:
    """Computes several losses of one result."""
    result = loop.call(0, loop.batch("x", i))
    return [loop.loss(result, i, k) for k in range(loop.plan.count)]


@pattern("losses at once", counts=(2, 3), variants=2, needs=(Capability.MULTIPLE_ROOTS,))
def together(loop: Loop) -> None:
    """Writes a training loop with several losses of one result, and one backward call: on their sum, or in the second
    variant with all of them as roots.
    """

    def backward_calls(number: int, roots: Sequence[Ref]) -> None:
        roots = roots if loop.plan.variant else [loop.total(roots)]
        for _ in range(1 + loop.has_bug(LoopBug.TWICE)):
            loop.backward(*roots)

    loop.train(lambda i: losses(loop, i), backward_calls)


@pattern("two forward passes", variants=2, bugs=(*USUAL, (LoopBug.BETWEEN, (0,))))
def passes(loop: Loop) -> None:
    """Writes a training loop in which every iteration sends two batches through one network and then calls backward on
    each of the two losses, or in the second variant once on their sum.
    """

    def forward(i: int) -> list[Ref]:
        made = [loop.loss(loop.call(0, loop.batch(f"x {k}", i)), i, k) for k in range(2)]
        return [loop.total(made)] if loop.plan.variant else made

    loop.train(forward, lambda number, roots: loop.backward_calls(number, roots, kept=False))


@pattern("micro-batches", counts=(2, 3, 4), bugs=(LoopBug.ZERO, LoopBug.TWICE, LoopBug.CLEARED, LoopBug.BETWEEN))
def parts(loop: Loop) -> None:
    """Writes a training loop with gradient accumulation: forward and backward for each part of a batch in turn, with
    the loss divided by the number of parts if it is a mean, then one step.
    """
    for i in loop.iterations():
        accumulate(loop, i)


def accumulate(loop: Loop, i: int) -> None:
    """Adds a forward pass and a backward call for each part of a batch, and one step after the last part."""
    loop.clear(0, Clearing.FIRST)
    loop.clear(0, Clearing.BEFORE)
    for part in range(loop.plan.count):
        loss = loop.loss(loop.call(0, loop.batch(f"part {part}", i)), i, part)
        if loop.plan.reduction == "mean":
            loss = loop.apply("multiply_scalar", loss, scalar=1 / loop.plan.count)
        loop.backward_calls(0, [loss])
        last = part + 1 == loop.plan.count
        if loop.has_bug(LoopBug.CLEARED):
            loop.zero(0)
        if last:
            loop.clip(0)
        if last is not loop.has_bug(LoopBug.BETWEEN):
            loop.step(0)
    loop.clear(0, Clearing.LAST)


@pattern("clipped gradients", needs=(Capability.CLIPS,), clips=True)
def clipped(loop: Loop) -> None:
    """Writes a training loop in which gradients are clipped before the step."""
    one(loop)


@pattern("reassigned gradients", variants=2, needs=(Capability.ASSIGNS,))
def reassigned(loop: Loop) -> None:
    """Writes a training loop in which gradients are replaced by halved copies between backward and step; in the second
    variant every second one is, and the last becomes None.
    """

    def backward_calls(number: int, roots: Sequence[Ref]) -> None:
        loop.backward_calls(number, roots)
        for parameter in loop.leaves[number][:: 1 + loop.plan.variant]:
            if loop.a.actions.holds_grad(parameter):
                given = loop.apply("multiply_scalar", loop.a.actions.read_grad(parameter), scalar=0.5)
                loop.a.actions.assign_grad(parameter, given)
        if loop.plan.variant:
            loop.a.actions.assign_grad(loop.leaves[number][-1], None)

    loop.train(lambda i: [loop.loss(loop.call(0, loop.batch("x", i)), i)], backward_calls)


@pattern("frozen parameters", TWO, variants=2, needs=(Capability.SWITCHES,))
def frozen(loop: Loop) -> None:
    """Writes a training loop in which the first of the network's two parts is frozen in every second iteration,
    beginning with the first iteration; in the second variant with the second iteration.
    """
    for i in loop.iterations():
        on = (i + loop.plan.variant) % 2 == 1
        for parameter in loop.networks[0].parameters:
            if loop.a.requires(parameter) != on:
                loop.a.actions.set_requires_grad(parameter, on)
        loop.update(0, i, lambda i: [loop.loss(loop.call(1, loop.call(0, loop.batch("x", i))), i)])


@pattern("skipped backward calls", (("wide", "out"), ("wide", "out")), variants=2)
def skipped(loop: Loop) -> None:
    """Writes a training loop with one optimizer in which every second iteration has no backward call, and a second
    network never gets a gradient; in the second variant two networks are used in turn, and each iteration calls
    backward.
    """

    def forward(i: int) -> list[Ref]:
        used = i % 2 if loop.plan.variant else 0
        return [loop.loss(loop.call(used, loop.batch("x", i)), i)]

    for i in loop.iterations():
        skips = i % 2 == 1 and not loop.plan.variant
        loop.update(0, i, forward, _nothing if skips else None)


def _nothing(number: int, roots: Sequence[Ref]) -> None:
    """Makes no backward call."""


@pattern(
    "step on a kept graph",
    bugs=(LoopBug.ZERO, LoopBug.TWICE, LoopBug.RETAIN),
    variants=2,
    needs=(Capability.RETAIN,),
)
def kept(loop: Loop) -> None:
    """Writes a training loop of backward, step, backward again and step again: the second call is on the same loss,
    whose graph is retained, or in the second variant on a new loss of the same result.
    """
    for i in loop.iterations():
        loop.clear(0, loop.plan.clearing)
        result = loop.call(0, loop.batch("x", i))
        loss = loop.loss(result, i)
        loop.backward(loss, retain=not loop.has_bug(LoopBug.RETAIN))
        loop.step(0)
        loop.backward_calls(0, [loop.loss(result, i, 1) if loop.plan.variant else loss])
        loop.step(0)
