"""A training loop under construction: writes a plan (all choices of a loop) into a program, with the plan's bugs.

This module draws nothing; the plan contains all choices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from autograd_conformance.ops.rows.shapes import size
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import Literal, Ref, Shape
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.drafts.ops import LIMIT
from autograd_conformance.strategies.building.tensors import VALUES
from autograd_conformance.strategies.networks import Network
from autograd_conformance.strategies.training.nets import Net, rebuild_network
from autograd_conformance.strategies.training.plan import Clearing, LoopBug, Plan

LARGEST_PARAMETER = 3.0
"""Largest magnitude of a parameter. A loop ends when a parameter exceeds it."""

WITHOUT_TARGET = ("cross_entropy", "soft_margin_loss")
"""Losses whose targets are attributes, not operands."""

Forward = Callable[[int], Sequence[Ref]]
"""A function that computes the losses of an iteration, given the iteration's number."""

BackwardCalls = Callable[[int, Sequence[Ref]], None]
"""A function that makes the backward calls of an iteration, given the number of the optimizer and the losses."""

Ends = tuple[int | str, int | str]
"""The input and output width of a network: a number, or "wide" or "out", which a plan replaces by its numbers."""


class Loop:
    """The parts that training loops are written with: networks, batches, losses, and an optimizer's update.

    `networks` has the widths of each network. `owns` has the number of networks of each optimizer, in order.
    """

    def __init__(self, plan: Plan, a: Draft, networks: Iterable[Ends], owns: Iterable[int]) -> None:
        self.plan = plan
        self.a = a

        self.kept: set[Ref] = set()
        """The values, such as parameters, that the end of an iteration does not delete."""

        self.data: dict[tuple[str, int], Ref] = {}
        """The leaves of data, by role (such as "x") and iteration; iteration 0 if they are used in all."""

        self.roles: dict[str, int] = {}
        """An index for each role of data (such as "x"), so that roles get different values."""

        self.networks = [self._network(n, *ends) for n, ends in enumerate(networks)]
        """The networks, whose parameters are already in the program."""

        rest = iter(self.networks)
        self.leaves = [tuple(p for _ in range(owned) for p in next(rest).parameters) for owned in owns]
        """For each optimizer, the parameters that it updates."""

        for leaves, drawn in zip(self.leaves, plan.optimizers, strict=True):
            a.actions.make_optimizer(leaves, *drawn)

    def has_bug(self, bug: LoopBug) -> bool:
        """Whether the plan has this bug."""
        return bug in self.plan.bugs

    # -- data ---------------------------------------------------------------------------------------------------------

    def numbers(self, role: str, iteration: int, shape: Shape) -> np.ndarray:
        """Returns multiples of 1/32 between -1 and 1, different for each role (such as "x") and iteration."""
        start = 5 * self.roles.setdefault(role, len(self.roles)) + 7 * iteration
        places = np.arange(size(shape))
        chosen = np.frombuffer(self.plan.data, np.uint8)[(start + places) % len(self.plan.data)]
        return (VALUES[(chosen + places) % len(VALUES)] / 4).reshape(shape)

    def leaf(self, values: np.ndarray, requires_grad: bool) -> Ref:
        """Adds a leaf with these values."""
        given = values.astype(self.plan.dtype)
        literal = Literal(tuple(given.ravel().tolist()), given.shape, self.plan.dtype)
        return self.a.leaf(value=literal, requires_grad=requires_grad)

    def _network(self, number: int, *ends: int | str) -> Net | Network:
        plan = self.plan
        into, out = plan.widths(*ends)
        if plan.networks:
            network = rebuild_network(self.a, plan.networks[number], into, out, plan.layers)
            self.kept.update(network.parameters)
            return network
        made = []
        for layer in range(plan.layers):
            last = layer + 1 == plan.layers
            rows = out if last else plan.wide
            shapes = ((rows, into if layer == 0 else plan.wide), (rows,))[: 1 + plan.bias]
            made += [self.leaf(self.numbers(f"{number}, {layer}, {len(s)}", 0, s), True) for s in shapes]
        self.kept.update(made)
        return Net(tuple(made), plan.bias, plan.activation)

    def batch(
        self, role: str, iteration: int, width: int | None = None, requires_grad: bool = False, samples: int = 0
    ) -> Ref:
        """Returns the batch of a role (such as "x"): the same in each iteration or a fresh one, as the plan has it."""
        plan = self.plan
        key = role, iteration if plan.fresh else 0
        if key not in self.data:
            shape = (samples or plan.batch, plan.wide if width is None else width)
            self.data[key] = self.leaf(self.numbers(*key, shape), requires_grad)
            if not plan.fresh:
                self.kept.add(self.data[key])
        return self.data[key]

    def constant(self, value: float, shape: Shape) -> Ref:
        """Returns the leaf of a shape that is filled with one value and requires no grad; it is made when first
        needed.
        """
        key = f"{value} {shape}", 0
        if key not in self.data:
            self.data[key] = self.leaf(np.full(shape, value), False)
            self.kept.add(self.data[key])
        return self.data[key]

    # -- computing ----------------------------------------------------------------------------------------------------

    def apply(self, op: str, *args: Ref, **attrs: float | str) -> Ref:
        """Applies an op of one result."""
        return self.a.apply(op, args, tuple(attrs.items()))[0]

    def call(self, net: int, value: Ref, parameters: Sequence[Ref] | None = None) -> Ref:
        """Applies network number `net` to a value, with other parameters if given, and returns the result."""
        network = self.networks[net]
        return network.call(self.a, value, parameters) if isinstance(network, Net) else network.call(self.a, value)[0]

    def mean(self, value: Ref) -> Ref:
        """Computes the mean of all elements."""
        return self.a.apply("mean", (value,), self.a.alphabet.attributes("mean", self.a.shape(value))[0])[0]

    def loss(self, value: Ref, iteration: int, number: int = 0, target: float | None = None) -> Ref:
        """Computes one loss of a result, against the batch's targets (of several losses, `number` selects the targets)
        or against the number `target` for all samples. Outside the domain of the plan's loss, `mse_loss` is used.
        """
        a, shape = self.a, self.a.shape(value)
        row = OPS[self.plan.loss]
        fits = target is None or row.domain(1).holds(np.array(target))
        name = row.name if fits and row.domain(0).holds(a.reference.values[value]) else "mse_loss"
        operands: tuple[Ref, ...] = (value,)
        if name not in WITHOUT_TARGET:
            given = self._target(name, shape, iteration, number) if target is None else self.constant(target, shape)
            operands = value, given
        choices = a.alphabet.attributes(name, *map(a.shape, operands))
        attrs = next((c for c in choices if dict(c)["reduction"] == self.plan.reduction), choices[0])
        return a.apply(name, operands, attrs)[0]

    def _target(self, loss: str, shape: Shape, iteration: int, number: int) -> Ref:
        key = f"target {number} of {loss}", iteration if self.plan.fresh else 0
        if key not in self.data:
            self.data[key] = self.leaf(OPS[loss].domain(1).fit(np.abs(self.numbers(*key, shape))), False)
            if not self.plan.fresh:
                self.kept.add(self.data[key])
        return self.data[key]

    # -- an iteration -------------------------------------------------------------------------------------------------

    def iterations(self) -> Iterator[int]:
        """Yields the numbers of the iterations, fewer if values grow too large. Between two iterations, values that are
        not kept are deleted if the plan says so.
        """
        for number in range(self.plan.iterations):
            yield number
            if self.has_diverged():
                return
            if self.plan.deletes and number + 1 < self.plan.iterations:
                gone = [r for r in self.a.script.live if r not in self.kept]
                self.data = {key: ref for key, ref in self.data.items() if ref in self.kept}
                if gone:
                    self.a.actions.delete(*gone)

    def has_diverged(self) -> bool:
        """Whether a parameter or any other live value has grown too large."""
        values = self.a.reference.values
        parameters = (values[p] for leaves in self.leaves for p in leaves)
        calm = all(np.abs(p).max() <= LARGEST_PARAMETER for p in parameters)
        return not calm or not all(np.abs(values[r]).max(initial=0) <= LIMIT for r in self.a.script.live)

    def train(self, forward: Forward, backward_calls: BackwardCalls | None = None) -> None:
        """Writes all iterations of a loop with one optimizer, from functions that compute the losses and make the
        backward calls.
        """
        for i in self.iterations():
            self.update(0, i, forward, backward_calls)

    def update(self, number: int, i: int, forward: Forward, backward_calls: BackwardCalls | None = None) -> None:
        """Adds one update by one optimizer: clear, forward, backward, clip and step, in the plan's order."""
        self.clear(number, Clearing.FIRST)
        roots = forward(i)
        if self.has_bug(LoopBug.EARLY):
            self.step(number)
        self.clear(number, Clearing.BEFORE)
        (backward_calls or self.backward_calls)(number, roots)
        if self.has_bug(LoopBug.CLEARED):
            self.zero(number)
        self.clip(number)
        if not self.has_bug(LoopBug.EARLY) and not (self.has_bug(LoopBug.BETWEEN) and len(roots) > 1):
            self.step(number)
        self.clear(number, Clearing.LAST)

    def clear(self, number: int, where: Clearing) -> None:
        """Clears gradients if `where` is the point of an iteration at which the plan clears them."""
        if where is self.plan.clearing and not self.has_bug(LoopBug.ZERO):
            self.zero(number)

    def zero(self, number: int) -> None:
        """Clears the gradients of an optimizer's parameters."""
        self.a.actions.zero_grad(*self.leaves[number], to_none=self.plan.to_none)

    def clip(self, number: int) -> None:
        """Clips the gradients of an optimizer's parameters, if the plan does."""
        if self.plan.clip:
            self.a.actions.clip(self.leaves[number], *self.plan.clip)

    def step(self, number: int) -> None:
        """Adds one step of an optimizer."""
        self.a.actions.step(self.leaves[number], *self.plan.optimizers[number])

    def backward_calls(self, number: int, roots: Sequence[Ref], kept: bool = True) -> None:
        """Adds a backward call on each root. If the losses share a graph (`kept`), all calls but the last retain it."""
        for n, root in enumerate(roots):
            more = n + 1 < len(roots)
            self.backward(root, retain=more and kept and not self.has_bug(LoopBug.RETAIN))
            if more and self.has_bug(LoopBug.BETWEEN):
                self.step(number)
        if roots and self.has_bug(LoopBug.TWICE):
            self.backward(roots[-1])

    def backward(self, *roots: Ref, retain: bool = False) -> None:
        """Adds one backward call on the given losses together, without cotangents."""
        self.a.actions.backward(*roots, retain=True if retain else None, cotangents=(None,) * len(roots))

    def total(self, values: Iterable[Ref]) -> Ref:
        """Computes the sum of losses."""
        first, *others = values
        for other in others:
            first = self.apply("add", first, other)
        return first
