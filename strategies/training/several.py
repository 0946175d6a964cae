"""Training loops with several networks, and with a sequence in time."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.training.loop import Forward, Loop
from autograd_conformance.strategies.training.losses import TWO
from autograd_conformance.strategies.training.patterns import USUAL, pattern
from autograd_conformance.strategies.training.plan import LoopBug

TRUNK = (("wide", "wide"), ("wide", 1), ("wide", 1))
CELL = (("wide", "wide"), ("wide", "wide"), ("wide", "out"))


def loss_of(loop: Loop, result: Ref, number: int = 0, target: float | None = None) -> Forward:
    """Returns a forward function that computes one loss of an existing result."""
    return lambda i: [loop.loss(result, i, number, target)]


@pattern("two networks", (("wide", "out"),) * 2, owns=(1, 1))
def two(loop: Loop) -> None:
    """Writes a training loop with two networks that share nothing, each with its own loss and optimizer."""
    for i in loop.iterations():
        for k in range(2):
            loop.update(k, i, loss_of(loop, loop.call(k, loop.batch(f"x {k}", i)), k))


@pattern(
    "chained networks",
    TWO,
    owns=(1, 1),
    variants=2,
    bugs=(*USUAL, (LoopBug.DETACH, (0,))),
    needs=(Capability.DETACH,),
)
def chained(loop: Loop) -> None:
    """Writes a training loop with two networks in a row. The second gets the first's result, detached and with a loss
    for each, or in the second variant undetached with one loss.
    """
    for i in loop.iterations():
        made = loop.call(0, loop.batch("x", i))
        if loop.plan.variant == 0:
            loop.update(0, i, loss_of(loop, made))
        given = made if loop.plan.variant or loop.has_bug(LoopBug.DETACH) else loop.a.detach(made)
        loop.update(1, i, loss_of(loop, loop.call(1, given), 1))
        if loop.plan.variant:
            loop.step(0)
            loop.zero(0)


@pattern(
    "generator and discriminator", (("wide", 1), ("wide", "wide")), owns=(1, 1), variants=2,
    bugs=(*USUAL, LoopBug.DETACH), needs=(Capability.DETACH, Capability.RETAIN),
)  # fmt: skip
def adversaries(loop: Loop) -> None:
    """Writes a training loop of a discriminator, trained on the detached fake batch, and a generator, trained on the
    same batch undetached. In the second variant the discriminator's backward call retains the graph.
    """
    fake = Ref(-1)

    def discriminator_loss(i: int) -> list[Ref]:
        real = loop.loss(loop.call(0, loop.batch("real", i)), i, target=1.0)
        given = fake if loop.has_bug(LoopBug.DETACH) else loop.a.detach(fake)
        return [loop.total([real, loop.loss(loop.call(0, given), i, target=0.0)])]

    def backward_calls(number: int, roots: Sequence[Ref]) -> None:
        for _ in range(1 + loop.has_bug(LoopBug.TWICE)):
            loop.backward(roots[0], retain=bool(loop.plan.variant))

    for i in loop.iterations():
        fake = loop.call(1, loop.batch("noise", i))
        loop.update(0, i, discriminator_loss, backward_calls)
        loop.update(1, i, loss_of(loop, loop.call(0, fake), target=1.0))


@pattern(
    "actor and critic", TRUNK, variants=2, needs=(Capability.DETACH, Capability.RETAIN),
    bugs=(*USUAL, LoopBug.DETACH, (LoopBug.RETAIN, (1,)), (LoopBug.BETWEEN, (1,))),
)  # fmt: skip
def actor_critic(loop: Loop) -> None:
    """Writes a training loop with two heads on one trunk, where the critic's detached value weights the actor's loss.
    Backward is called on the sum of the losses, or in the second variant on each.
    """

    def forward(i: int) -> list[Ref]:
        shared = loop.call(0, loop.batch("x", i))
        action, value = loop.call(1, shared), loop.call(2, shared)
        value_weight = value if loop.has_bug(LoopBug.DETACH) else loop.a.detach(value)
        made = [loop.mean(loop.apply("multiply", action, value_weight)), loop.loss(value, i)]
        return made if loop.plan.variant else [loop.total(made)]

    loop.train(forward)


@pattern(
    "truncated time", CELL, counts=(1, 2, 3), variants=2, bugs=(*USUAL, LoopBug.DETACH),
    needs=(Capability.DETACH, Capability.RETAIN),
)  # fmt: skip
def truncated(loop: Loop) -> None:
    """Writes a training loop of a recurrent cell over parts of a sequence, with the state detached between parts. In
    the second variant every backward call retains the graph, as PyTorch's error message suggests.
    """
    state = loop.batch("state", 0)
    loop.kept.add(state)

    def forward(i: int) -> list[Ref]:
        nonlocal state
        for k in range(loop.plan.count):
            fed = loop.apply("add", loop.call(0, loop.batch(f"x {k}", i)), loop.call(1, state))
            state = loop.apply("tanh", fed)
        return [loop.loss(loop.call(2, state), i)]

    def backward_calls(number: int, roots: Sequence[Ref]) -> None:
        for _ in range(1 + loop.has_bug(LoopBug.TWICE)):
            loop.backward(roots[0], retain=bool(loop.plan.variant))

    for i in loop.iterations():
        if i and not loop.has_bug(LoopBug.DETACH):
            state = loop.a.detach(state)
        loop.update(0, i, forward, backward_calls)
        loop.kept.add(state)
