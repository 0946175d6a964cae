"""Diagnosis of a wrong gradient: known faults, each computed and compared with the observed gradients.

A fault that explains the gradients of all leaves names the broken rule and describes the error, which "another
gradient" does not. The first match is reported; the simplest faults are tried first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain

from autograd_conformance.programs import slugs
from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.language import BackwardCall, Grad, Leaf, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.staging.derivatives import Array
from autograd_conformance.rules.diagnosis.earlier_calls import freed_nodes, kept_gradients, kept_inside
from autograd_conformance.rules.diagnosis.fault import Contributions
from autograd_conformance.rules.diagnosis.graph_faults import graph_faults, repeated_elements
from autograd_conformance.rules.diagnosis.kinds import Diagnosis, DiagnosisKind
from autograd_conformance.rules.diagnosis.state_faults import state_faults

Gradients = Mapping[Ref, Array | None]
"""The gradient that each value holds, or that the functional form returns for each input; None counts as zeros."""

BY_CHANCE = frozenset({DiagnosisKind.COTANGENT_IGNORED, DiagnosisKind.COTANGENT_SUMMED})
"""Faults that would give zeros by chance, as for an op whose results have a constant sum; zeros do not show them."""

Totals = dict[Ref, Array]
"""The gradient, or a call's contribution to it, of each value that the call adds to or returns a gradient for."""


def diagnose(
    reference: Reference,
    call: BackwardCall,
    leaf: Ref,
    old: Gradients,
    new: Gradients,
    alone: bool = False,
    accumulates: bool = True,
) -> Diagnosis | None:
    """Returns the first known fault that gives `leaf` a wrong gradient and explains all observed gradients, up to a
    thousand roundings; None if no known fault does.

    `old` are the gradients before the call, `new` those after it. For the functional form, `new` are the results, by
    input. `alone` says that the call goes through a single op; a fault that the op itself may have is then attributed
    to `gradients/op`. `accumulates` says that calls add to the gradients that leaves hold.
    """
    pulled = reference.pullbacks.of(call)
    into = call.inputs if isinstance(call, Grad) else reference.calls.receivers(call, dict(pulled))
    expected = {r: pulled[reference.tape.edge(r)] for r in into if r in new and reference.tape.edge(r) in pulled}
    if leaf not in expected:
        return None
    before = {r: np.zeros_like(c) if old.get(r) is None else np.asarray(old[r]) for r, c in expected.items()}
    observed = {r: np.zeros_like(c) if new[r] is None else np.asarray(new[r]) for r, c in expected.items()}
    found = chain(
        _explanations(reference, call, leaf, old, before, expected, alone),
        _held(reference, call, leaf, old, before, expected) if accumulates else (),
        _of_op(reference, call, before, expected, alone),
    )
    for diagnosis, faulty in found:
        if _same(before[leaf] + expected[leaf], faulty[leaf]):
            continue
        if all(faulty[r].shape == observed[r].shape and _same(observed[r], faulty[r]) for r in expected):
            return diagnosis
    return None


def _same(got: Array, want: Array) -> bool:
    scale = np.abs(want).max() if want.size else 0.0
    near = DTYPES[got.dtype.name if got.dtype.name in DTYPES else "float64"].roundings(1000)
    return bool((np.abs(got - want) <= near * scale).all())


def _total(reference: Reference, before: Totals, expected: Totals, contributions: Contributions) -> Totals:
    """Returns what each value would hold after a call with these contributions."""
    return {r: before[r] + contributions.get(reference.tape.edge(r), 0.0) for r in expected}


def _explanations(
    reference: Reference, call: BackwardCall, leaf: Ref, old: Gradients, before: Totals, expected: Totals, alone: bool
) -> Iterator[tuple[Diagnosis, Totals]]:
    total = partial(_total, reference, before, expected)
    for diagnosis, contributions in freed_nodes(reference, call):
        yield diagnosis, total(contributions)
    if old.get(leaf) is not None:
        yield from _old_and_new(reference, old, before, expected)
    for diagnosis, contributions in state_faults(reference, call):
        yield diagnosis, total(contributions)
    for diagnosis, contributions in graph_faults(reference, call):
        faulty = total(contributions)
        if diagnosis.kind not in BY_CHANCE or any((faulty[r] != before[r]).any() for r in expected):
            yield diagnosis, faulty
    for kind, contributions in _equals(reference, expected):
        yield Diagnosis(kind), {r: before[r] + contributions[r] for r in expected}
    again = (
        slugs.ACCUMULATION_ADDS
        if old.get(leaf) is not None
        else slugs.GRADIENTS_OP
        if alone
        else slugs.ACCUMULATION_FIRST
    )
    returns = isinstance(call, Grad)
    kind = DiagnosisKind.DOUBLED if returns else DiagnosisKind.ADDED_TWICE
    yield Diagnosis(kind, rule_of_call=again), {r: before[r] + 2 * c for r, c in expected.items()}
    kind = DiagnosisKind.NEGATED if returns else DiagnosisKind.SUBTRACTED
    yield Diagnosis(kind, rule_of_call=again), {r: before[r] - c for r, c in expected.items()}


def _held(
    reference: Reference, call: BackwardCall, leaf: Ref, old: Gradients, before: Totals, expected: Totals
) -> Iterator[tuple[Diagnosis, Totals]]:
    """Yields faults that pass on or add again what an earlier call left. Other faults are likelier where that is the
    call's contribution, too.
    """
    total = partial(_total, reference, before, expected)
    for diagnosis, contributions in kept_gradients(reference, call, True):
        yield diagnosis, total(contributions)
    if old.get(leaf) is not None:
        yield Diagnosis(DiagnosisKind.HELD_TWICE), {r: 2 * before[r] + c for r, c in expected.items()}
    for diagnosis, contributions in chain(
        kept_gradients(reference, call, True, outside=True), kept_inside(reference, call)
    ):
        yield diagnosis, total(contributions)


def _of_op(
    reference: Reference, call: BackwardCall, before: Totals, expected: Totals, alone: bool
) -> Iterator[tuple[Diagnosis, Totals]]:
    """Yields faults that single ops have: repeated elements, and a gradient that is turned."""
    rule = slugs.GRADIENTS_OP if alone else slugs.GRADIENTS_GRAPH
    for kind, contributions in repeated_elements(reference, call):
        yield Diagnosis(kind, rule_of_call=rule), _total(reference, before, expected, contributions)
    turned = {r: c.swapaxes(-1, -2) if c.ndim >= 2 and c.shape[-1] == c.shape[-2] else c for r, c in expected.items()}
    yield Diagnosis(DiagnosisKind.TRANSPOSED, rule_of_call=rule), {r: before[r] + turned[r] for r in expected}


def _old_and_new(
    reference: Reference, old: Gradients, before: Totals, expected: Totals
) -> Iterator[tuple[Diagnosis, Totals]]:
    """Yields faults of accumulation: leaves that held a gradient do not hold the sum; all other leaves hold the right
    gradient. Where leaves begin with zeros, zeros are no gradient that a leaf held.
    """
    zeros = reference.traits.begins_with_zeros
    had = {r: old.get(r) is not None and (before[r].any() or not zeros) for r in expected}
    yield Diagnosis(DiagnosisKind.OVERWRITTEN), dict(expected)
    yield Diagnosis(DiagnosisKind.NOTHING_ADDED), {r: before[r] if had[r] else c for r, c in expected.items()}
    yield Diagnosis(DiagnosisKind.OLD_ADDED), {r: 2 * before[r] if had[r] else c for r, c in expected.items()}


def _equals(reference: Reference, expected: Totals) -> Iterator[tuple[DiagnosisKind, Totals]]:
    """Yields faults that confuse leaves of equal values: the first or the last gets both gradients, both get both, or
    the gradients are swapped.
    """
    for first in expected:
        for second in expected:
            if first < second and isinstance(step := reference.steps[first.at], Leaf):
                if step != reference.steps[second.at]:
                    continue
                both, none = expected[first] + expected[second], np.zeros_like(expected[first])
                yield DiagnosisKind.LEAVES_MERGED, {**expected, first: both, second: none}
                yield DiagnosisKind.LEAVES_MERGED, {**expected, first: none, second: both}
                yield DiagnosisKind.LEAVES_MERGED, {**expected, first: both, second: both}
                swapped = {**expected, first: expected[second], second: expected[first]}
                yield DiagnosisKind.LEAVES_SWAPPED, swapped
