"""Pairs of programs with networks: a module and the same network op by op, a packed batch and each of its sequences.

Each result is multiplied by a separate leaf (a probe) before a backward call. The gradient of the probe is the result,
so that values are compared, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograd_conformance.programs import slugs
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Backward, Instruction, Leaf, Literal, Program, Ref
from autograd_conformance.programs.operands import operands, refer
from autograd_conformance.programs.operands import results as results_of
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.rules.relations.relation import Alike, Related
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.networks.network import WEIGHT, Network, op
from autograd_conformance.strategies.networks.recurrent import Recurrent, recurrent
from autograd_conformance.strategies.relations.gradients import relation
from autograd_conformance.strategies.situations.networks import network

LENGTHS = ((3, 1), (2, 3), (1, 3, 2))
"""Combinations of lengths of the sequences of a packed batch."""


def _calls(a: Draft, roots: Sequence[Ref], cotangents: Sequence[Literal]) -> list[Backward]:
    """Makes one backward call on all roots, or one on each if the framework allows only one root."""
    given: list[Literal | None] = list(cotangents)
    if not a.can(Capability.COTANGENTS):
        roots, given = [a.ops.total(root) for root in roots], [None] * len(roots)
    if a.can(Capability.MULTIPLE_ROOTS) or len(roots) == 1:
        return [Backward(tuple(roots), tuple(given))]
    a.require(Capability.RETAIN)
    return [Backward((root,), (ct,), True) for root, ct in zip(roots, given, strict=True)]


def subprogram(
    steps: Sequence[Instruction], kept: Sequence[Ref], calls: Sequence[Backward]
) -> tuple[Program, dict[Ref, Ref]]:
    """Returns the program with the calls, their dependencies and the leaves `kept`; also the new reference of each
    value.
    """
    needed = {ref.at for ref in kept} | {ref.at for call in calls for ref in call.roots}
    for at in range(len(steps) - 1, -1, -1):
        if at in needed:
            needed.update(ref.at for ref in operands(steps[at]))
    new: dict[Ref, Ref] = {}
    made: list[Instruction] = []
    for at in sorted(needed):
        new.update({Ref(at, k): Ref(len(made), k) for k in range(results_of(steps[at]))})
        made.append(refer(steps[at], new))
    return Program((*made, *(refer(call, new) for call in calls))), new


def _related(
    a: Draft,
    rule: Slug,
    first: tuple[list[Ref], list[Literal]],
    second: tuple[list[Ref], list[Literal]],
    kept: list[Ref],
) -> Related:
    """Makes a pair of programs from roots and cotangents; the leaves `kept` must get equal gradients in both."""
    calls = _calls(a, *first), _calls(a, *second)
    steps = a.reference.steps
    (one, here), (other, there) = (subprogram(steps, kept, each) for each in calls)
    alike = tuple(Alike(here[ref], (there[ref],)) for ref in kept if a.requires(ref))
    return Related(rule, one, other, alike)


def _kept(a: Draft) -> list[Ref]:
    """Returns the leaves so far: parameters, inputs and probes (leaves that multiply results)."""
    return [Ref(at) for at, step in enumerate(a.reference.steps) if isinstance(step, Leaf)]


def _chosen(a: Draft, results: Sequence[Ref]) -> list[int]:
    """Draws the indices of the results to call backward on: all, or one."""
    return list(range(len(results))) if a.below(2) else [a.below(len(results))]


def _both_ways(a: Draft, rule: Slug, made: Network) -> Related:
    """Makes a pair of programs: a network called by its modules, and the same network computed op by op."""
    inputs = made.inputs(a, bool(a.below(4)))
    results = made.module(a, *inputs)
    chosen = _chosen(a, results)
    probes = [a.leaf(a.shape(results[k]), True, WEIGHT) for k in chosen]
    cotangents = [a.operands.tensor(a.shape(probe), a.operands.dtype, WEIGHT) for probe in probes]
    kept, again = _kept(a), made.composed(a, *inputs)
    first, second = (
        [op(a, "multiply", way[k], probe) for k, probe in zip(chosen, probes, strict=True)] for way in (results, again)
    )
    return _related(a, rule, (first, cotangents), (second, cotangents), kept)


@relation
def modules(a: Draft) -> Related:
    """Draws a network of any kind except recurrent ones, called by its modules and computed op by op."""
    return _both_ways(a, slugs.NETWORKS_MODULE, network(a))


@relation
def recurrent_modules(a: Draft) -> Related:
    """Draws a recurrent network, called by its module and computed op by op."""
    made = recurrent(a, frozen=True)
    made.needs_modules(a)
    return _both_ways(a, slugs.RECURRENT_MODULE, made)


@relation
def packed(a: Draft) -> Related:
    """Draws sequences of several lengths, through a recurrent module in one packed batch and separately."""
    made = recurrent(a, frozen=True)
    made.needs_modules(a)
    lengths = a.pick(LENGTHS)
    x = made.sequence(a, max(lengths), len(lengths), bool(a.below(4)))
    starts = made.first(a, x, bool(a.below(2))) if made.settings.state else []
    results = made.packed(a, lengths, x, *starts)
    chosen = _chosen(a, results)
    probes = [a.leaf(a.shape(results[k]), True, WEIGHT) for k in chosen]
    cotangents = [a.operands.tensor(a.shape(probe), a.operands.dtype, WEIGHT) for probe in probes]
    kept = _kept(a)
    whole = [op(a, "multiply", results[k], probe) for k, probe in zip(chosen, probes, strict=True)]
    roots, given = [], []
    for number, length in enumerate(lengths):
        alone = made.module(a, _cut(a, made, x, number, length), *(_one(a, s, 1, number) for s in starts))
        for k, probe, ct in zip(chosen, probes, cotangents, strict=True):
            part = _one(a, probe, 1, number) if k else _cut(a, made, probe, number, length)
            roots.append(op(a, "multiply", alone[k], part))
            given.append(_part(ct, made, number, length if k == 0 else None))
    return _related(a, slugs.RECURRENT_PACKED, (whole, cotangents), (roots, given), kept)


def _one(a: Draft, value: Ref, dim: int, number: int) -> Ref:
    """Returns one element of a batch, as a batch of size 1."""
    return op(a, "narrow", value, dim=dim, start=number, length=1)


def _cut(a: Draft, made: Recurrent, value: Ref, number: int, length: int) -> Ref:
    """Returns one sequence of a batch, without its padding."""
    along = made.time_dim(a, value)
    return op(a, "narrow", _one(a, value, 1 - along, number), dim=along, start=0, length=length)


def _part(whole: Literal, made: Recurrent, number: int, length: int | None) -> Literal:
    """Returns the part of a cotangent for one element of a batch; `length` is its sequence's length, or None for a
    state.
    """
    values = np.array(whole.data).reshape(whole.shape)
    along, dim = (1, 0) if made.settings.batch_first and length is not None else (0, 1)
    values = np.take(values, [number], axis=dim)
    values = values if length is None else np.take(values, range(length), axis=along)
    return Literal(tuple(values.ravel().tolist()), values.shape, whole.dtype)
