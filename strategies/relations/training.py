"""Pairs of training loops whose gradients must agree: a batch and its parts, several calls and one, a loop alone and
one interleaved with another.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import reject

from autograd_conformance.programs import slugs
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.rules.relations.relation import Alike, Related
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.drafts.ops import LIMIT
from autograd_conformance.strategies.relations.gradients import relation
from autograd_conformance.strategies.relations.interleaving import arranged
from autograd_conformance.strategies.training.drawing import drawn_plan
from autograd_conformance.strategies.training.loop import Loop
from autograd_conformance.strategies.training.losses import losses
from autograd_conformance.strategies.training.nets import SMOOTH
from autograd_conformance.strategies.training.patterns import PATTERNS, start_loop
from autograd_conformance.strategies.training.plan import Plan


def _plan(a: Draft, name: str) -> Plan:
    return drawn_plan(a, PATTERNS[name], ())


def _second_draft(a: Draft, plan: Plan) -> Draft:
    """Makes a separate draft (a program under construction) for the second program; nothing is drawn in it."""
    return Draft(a.choices, plan.dtype)


def _related(rule: Slug, first: Loop, second: Loop) -> Related:
    """Makes a pair of two loops' programs, whose parameters must end with the same gradients. Parameters are created
    first, so both programs have the same references to them.
    """
    a, b = first.a, second.a
    if any(np.abs(value).max(initial=0) > LIMIT for x in (a, b) for value in x.reference.values.values()):
        reject()
    parameters = [p for leaves in first.leaves for p in leaves if a.requires(p)]
    one, other = (Program(tuple(x.reference.steps), tuple(x.script.under_modes)) for x in (a, b))
    return Related(rule, one, other, tuple(Alike(p, (p,)) for p in parameters))


def _without_divergence(a: Draft, plan: Plan) -> Plan:
    """Returns the plan, with fewer iterations if its values would grow too large, because a loop replaces ops for large
    values.
    """
    loop = start_loop(plan, _second_draft(a, plan))
    for i in range(plan.iterations - 1):
        loop.update(0, i, lambda i: losses(loop, i)[:1])
        if loop.has_diverged():
            return replace(plan, iterations=max(1, i))
    return plan


def _common_iterations(loop: Loop) -> int:
    """Writes all iterations but the last, which are the same in both programs, and returns the number of the last."""
    count = loop.plan.iterations - 1
    for i in range(count):
        loop.update(0, i, lambda i: losses(loop, i)[:1])
    loop.zero(0)
    return count


@relation
def micro_batches(a: Draft) -> Related:
    """Draws two training loops: some iterations, then the gradient of a whole batch, or of its parts accumulated."""
    plan = _plan(a, "micro-batches")
    plan = replace(plan, clip=None, activation=plan.activation if plan.activation in SMOOTH else "tanh")
    plan = _without_divergence(a, plan)
    whole, split = start_loop(plan, a), start_loop(plan, _second_draft(a, plan))
    for loop in (whole, split):
        _common_iterations(loop)
    last, rows = plan.iterations - 1, plan.batch * plan.count
    name = plan.loss if plan.loss in ("mse_loss", "bce_with_logits") else "mse_loss"
    samples, targets = (whole.numbers(role, last, (rows, n)) for role, n in (("whole", plan.wide), ("aim", plan.out)))
    targets = abs(targets)

    def loss_of_rows(loop: Loop, begin: int, end: int) -> Ref:
        result = loop.call(0, loop.leaf(samples[begin:end], False))
        return loop.apply(name, result, loop.leaf(targets[begin:end], False), reduction=plan.reduction)

    whole.backward(loss_of_rows(whole, 0, rows))
    for part in range(plan.count):
        loss = loss_of_rows(split, part * plan.batch, (part + 1) * plan.batch)
        if plan.reduction == "mean":
            loss = split.apply("multiply_scalar", loss, scalar=1 / plan.count)
        split.backward(loss)
    return _related(slugs.TRAINING_MICRO_BATCHES, whole, split)


@relation
def several_losses(a: Draft) -> Related:
    """Draws two training loops: some iterations, then several losses of one result, with one backward call on each, or
    one on their sum.
    """
    plan = _without_divergence(a, replace(_plan(a, "several losses"), clip=None))
    each, once = start_loop(plan, a), start_loop(plan, _second_draft(a, plan))
    for loop in (each, once):
        last = _common_iterations(loop)
        found = losses(loop, last)
        loop.backward_calls(0, found if loop is each else [loop.total(found)])
    return _related(slugs.TRAINING_LOSSES, each, once)


@relation
def networks_apart(a: Draft) -> Related:
    """Draws a training loop, and the same loop with the instructions of another one between its own."""
    a.require(Capability.OPTIMIZERS)
    runnable = [name for name, row in PATTERNS.items() if row.order == 1 and a.can(*row.needs)]
    made: list[Program] = []
    for _ in range(2):
        b = Draft(a.choices, a.operands.dtype)
        loop = start_loop(_plan(b, b.pick(runnable)), b)
        PATTERNS[loop.plan.pattern].run(loop)
        made.append(Program(tuple(b.reference.steps), tuple(b.script.under_modes)))
    mine, its = (list(range(len(program))) for program in made)
    order: list[tuple[Program, int]] = []
    stride = 1 + a.below(8)
    while mine or its:
        for program, rest in zip(made, (mine, its), strict=True):
            order += [(program, at) for at in rest[:stride]]
            del rest[:stride]
    second, places = arranged(order, made)
    same = tuple((at, places[0][Ref(at)].at) for at in range(len(made[0])))
    return Related(slugs.TRAINING_APART, made[0], second, same=same, exact=True)
