"""Faults in what earlier calls left, and the gradients that each of them would give: values that keep gradients,
and nodes that are freed and pass nothing on.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product, takewhile

from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import Backward, BackwardCall, Grad
from autograd_conformance.reference.computation.reverse import GradientEdge, TapeEntry, VjpRule, exact_vjp, pull
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.staging.derivatives import Array
from autograd_conformance.rules.diagnosis.fault import Contributions, Fault
from autograd_conformance.rules.diagnosis.graph_faults import nothing_through
from autograd_conformance.rules.diagnosis.kinds import DiagnosisKind

MOST_PLACES = 6
"""Largest number of operands of different ops of a program for which values inside of an op are considered."""


def kept_gradients(
    reference: Reference,
    call: BackwardCall,
    with_roots: bool,
    outside: bool = False,
    inside: tuple[str, int] | None = None,
) -> Iterator[Fault]:
    """Yields the fault in which non-leaf values keep the gradients of earlier calls and pass these on again: all but
    the roots of a call, or these as well; with `outside`, also values that the call does not reach; with `inside`, an
    op and the place of an operand, also a value that the op computes from this operand on its way to the result.
    """
    calls = [each for each in _earlier(reference, call) if isinstance(each, Backward)]
    if not calls or isinstance(call, Grad):
        return
    kept: Contributions = {}
    vjp = exact_vjp if inside is None else _kept_inside(*inside)
    for each in (*calls, call):
        roots, reached = dict(reference.tape.roots(each)), reference.pullbacks.of(each)
        passed = {e: ct for e, ct in kept.items() if (with_roots if e in roots else outside or e in reached)}
        hooked = reference.hooks.functions()
        made = pull(reference.tape.entries, reference.values, (*roots.items(), *passed.items()), vjp, hooked=hooked)
        kept.update({edge: ct for edge, ct in made.items() if edge in reference.tape.producer})
    yield Fault.of(DiagnosisKind.GRADIENTS_KEPT, made)


def kept_inside(reference: Reference, call: BackwardCall) -> Iterator[Fault]:
    """Yields the fault of `kept_gradients` for each operand of each op of a small program, with values inside the op
    that keep their gradients, too: a difference may be the sum of one operand and of the other one's negative.
    """
    places = {(e.op, k) for e in reference.tape.entries if isinstance(e.op, str) for k in range(len(e.args))}
    for inside, with_roots in product(sorted(places) if len(places) <= MOST_PLACES else (), (False, True)):
        yield from kept_gradients(reference, call, with_roots, inside=inside)


def _kept_inside(op: str, place: int) -> VjpRule:
    """Returns a rule of derivatives by which each entry of an op passes to one operand also what it passed there in
    earlier calls.
    """
    passed: dict[tuple[GradientEdge, ...], Array] = {}

    def vjp(step: TapeEntry, operands: list[Array], cotangents: list[Array]) -> tuple[Array, ...]:
        made = list(exact_vjp(step, operands, cotangents))
        if step.op == op and place < len(made):  # another entry of the op may have fewer operands
            made[place] = passed[step.outs] = made[place] + passed.get(step.outs, 0.0)
        return tuple(made)

    return vjp


def freed_nodes(reference: Reference, call: BackwardCall) -> Iterator[Fault]:
    """Yields the fault in which nodes that an earlier call freed pass nothing on, where the call returns."""
    freed: set[GradientEdge] = set()
    for each in _earlier(reference, call):
        if not each.retains:
            freed.update(edge for edge, _ in reference.tape.roots(each))
            freed.update(reference.pullbacks.of(each))
    used = [entry for entry in reference.tape.entries if _saves(entry) and not freed.isdisjoint(entry.outs)]
    if not used:
        return
    vjp, hooked = nothing_through({out for entry in used for out in entry.outs}), reference.hooks.functions()
    made = pull(reference.tape.entries, reference.values, reference.tape.roots(call), vjp, hooked=hooked)
    yield Fault.of(DiagnosisKind.FREED_PASSES_NOTHING, made)


def _earlier(reference: Reference, call: BackwardCall) -> list[BackwardCall]:
    """Returns the calls before a call that the rules allow, and that were not left out."""
    before = takewhile(lambda step: step is not call, reference.steps)
    return [
        step
        for at, step in enumerate(before)
        if isinstance(step, BackwardCall) and at not in reference.skipped and reference.pullbacks.is_legal(step)
    ]


def _saves(entry: TapeEntry) -> bool:
    """Whether the derivative of an entry may need saved values."""
    return entry.op in OPS and OPS[entry.op].saves is not Certainty.NEVER
