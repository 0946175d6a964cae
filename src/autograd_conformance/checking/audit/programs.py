"""The programs with which the audit runs each op alone, and the outcome of each op.

Each op runs in a few fixed programs. An op that violates a rule is left out of the programs of all other suites, so
that one faulty op does not fail every test; the rule about single ops reports it. An op without a kernel on the device
is removed. An op whose second or third derivative is wrong or not implemented is left out of programs that
differentiate this many times.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from itertools import islice, product

from autograd_conformance.checking.audit.joining import to_run_alone
from autograd_conformance.checking.audit.outcome import AuditResult, Fault, FaultyValue, Outcome
from autograd_conformance.checking.category import category_of
from autograd_conformance.checking.check import first_violation, is_advisory
from autograd_conformance.checking.error_size import error_size
from autograd_conformance.checking.signature import signature_of
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.ops.catalogue import LONG
from autograd_conformance.ops.rows.domains import Domain
from autograd_conformance.ops.rows.row import Op, choices_of, rest_of, takes
from autograd_conformance.ops.rows.shapes import size
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.editing import inserted
from autograd_conformance.programs.formats.codec import to_json
from autograd_conformance.programs.formats.text import names
from autograd_conformance.programs.language import Apply, Attrs, Backward, DefaultDtype, Literal, Program, Ref, Shape
from autograd_conformance.programs.observations import Kind, Observation, Raised, is_inconclusive, lacks_kernel
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.rules.prose import shown_distinct
from autograd_conformance.rules.violations.observed import RaisedError
from autograd_conformance.rules.violations.shared import NoGradient
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drafts.draft import OTHER_DEFAULT, Draft
from autograd_conformance.strategies.building.randomness.choices import Choices, Rarity
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.higher_order import applies, differentiate

SAMPLES = 4
"""Number of random programs of an op in each dtype."""

DRAWS = 6
"""Largest number of draws for one program of an op; if all draw another op, there is no program."""

CALLS = frozenset({Capability.IMPERATIVE, Capability.FUNCTIONAL})
"""The forms of a backward call. A framework that claims neither has no programs of single ops."""

TIMES = {2: "twice", 3: "thrice"}

SWEPT = ("elementwise", "activations", "binary")
"""Families of elementwise ops, which also run on all values of `GRID`."""

GRID = np.arange(-32, 33) / 8.0
"""The multiples of 1/8 from -4 to 4, of which most drawn tensors consist."""


class NumpyChoices(Choices):
    """Draws choices from NumPy's random generator instead of Hypothesis. The given rare property is always drawn, and
    any other never.
    """

    def __init__(self, seed: int, rarity: Rarity | None) -> None:
        super().__init__(lambda strategy: True)
        self._random, self._rarity = np.random.default_rng(seed), rarity

    def below(self, n: int) -> int:
        return int(self._random.integers(n))

    def raw(self, size: int) -> bytes:
        return self._random.bytes(size)

    def rarely(self, rarity: Rarity) -> bool:
        return rarity == self._rarity


def sampling(
    seed: int, dtype: str, first: Shape | None = None, rarity: Rarity | None = None, tracked: bool = False
) -> Draft:
    """Returns a draft (a program under construction) whose choices depend only on the seed. All its leaves require
    grad, and no cotangent is zero. `first` is the shape of each op's first operand; `rarity` is a rare property that
    every op has if possible. A draft with writes has to be `tracked`.
    """
    draft = Draft(NumpyChoices(seed, rarity), dtype, tracked=tracked)
    draft.operands.requiring, draft.ops.first, draft.actions.explicit = (True,), first, True
    draft.script.refuses = False
    return draft


def supported(sampler: Draft) -> Program | None:
    """Returns the program of a draft; None if the framework does not support something in it."""
    return None if sampler.script.unsupported else sampler.program()


def sample(op: str, seed: int, dtype: str) -> Program | None:
    """Returns a program of an op on new leaves, with a backward call from all its results; None if every draw gave
    another op.
    """
    for draw in range(DRAWS):
        sampler = sampling(zlib.crc32(f"{op} {seed}{f' {draw}' if draw else ''}".encode()), dtype)
        program = called(sampler, sampler.ops.draw(op, fresh=True), op)
        if program is not None:
            return program
    return None


def shapes(op: str, dtype: str) -> Iterator[Program]:
    """Yields a program of an op for each shape of its first operand."""
    for first in filter(alphabet.current().admits, alphabet.current().row(op).fresh):
        program = _of_shape(op, dtype, first)
        if program is not None:
            yield program


def _of_shape(op: str, dtype: str, first: Shape) -> Program | None:
    """Returns a program of an op whose first operand has a shape; None if the op does not take it."""
    sampler = sampling(zlib.crc32(f"{op} {first}".encode()), dtype, first)
    return called(sampler, sampler.ops.draw(op, fresh=True), op) if takes(alphabet.current().row(op), first) else None


def _numbers(op: str, dtype: str) -> Iterator[Program]:
    """Yields a program of an op on a number, a tensor without dimensions, if the op takes one: frameworks that compute
    with NumPy's numbers may forget their dtype.
    """
    if () in alphabet.current().row(op).fresh and alphabet.current().admits(()):
        program = _of_shape(op, dtype, ())
        if program is not None:
            yield program


def forms(op: str, dtype: str) -> Iterator[Program]:
    """Yields a program of an op for each combination of its operands' shapes and its attributes."""
    row = alphabet.current().row(op)
    admits = alphabet.current().admits
    for first in filter(admits, row.fresh):
        for rest in rest_of(row, first) if takes(row, first) else ():
            for attrs in () if not all(map(admits, rest)) else choices_of(row, (first, *rest)):
                tried = (_formed(row, (first, *rest), attrs, dtype, draw) for draw in range(DRAWS))
                yield from islice((program for program in tried if program is not None), 1)


def _formed(op: Op, operands: Sequence[Shape], attrs: Attrs, dtype: str, draw: int) -> Program | None:
    sampler = sampling(zlib.crc32(f"{op.name} {operands} {attrs} {draw}".encode()), dtype)
    return called(sampler, sampler.ops.form(op, operands, attrs), op.name)


def sweep(op: str, dtype: str) -> Program | None:
    """Returns a program of an elementwise op on all numbers of `GRID`, the multiples of 1/8 from -4 to 4; None for
    other ops.
    """
    sampler = sampling(0, dtype)
    made = _on_every_value(sampler, op)
    return None if made is None else called(sampler, made, op)


def _on_every_value(sampler: Draft, op: str) -> Sequence[Ref] | None:
    row = alphabet.current().row(op)
    if (
        not alphabet.current().admits(GRID.shape)
        or row.family not in SWEPT
        or not row.accepts(GRID.shape)
        or rest_of(row, GRID.shape)[0] not in ((), (GRID.shape,))
    ):
        return None
    arity = 1 + len(rest_of(row, GRID.shape)[0])
    leaves = [sampler.leaf(value=_swept(row.domain(k), k, sampler.operands.dtype)) for k in range(arity)]
    values = [sampler.reference.values[leaf] for leaf in leaves]
    if row.apart is not None and not row.apart(*values):
        return None
    return sampler.apply(op, leaves, choices_of(row, (GRID.shape,) * arity)[0])


def _swept(domain: Domain, operand: int, dtype: str) -> Literal:
    values = domain.fit(np.roll(GRID, -7 * operand)).astype(dtype)
    return Literal(tuple(values.tolist()), GRID.shape, dtype)


def called(sampler: Draft, made: Sequence[Ref], op: str) -> Program | None:
    """Adds a backward call from some results to a draft (a program under construction), and returns the program; None
    if the draft drew another op, the results cannot be roots, or the framework claims no form of the call.
    """
    if not applies(sampler, op) or CALLS.isdisjoint(alphabet.current().capabilities):
        return None
    try:
        sampler.actions.backward(*made)
    except Unsupported:  # the call cannot begin at these results
        return None
    return supported(sampler)


def curvature(op: str, seed: int, dtype: str, weighted: bool, times: int = 2) -> Program | None:
    """Returns a program that differentiates an op this many times; None if every draw gave another op, or if the op's
    derivatives are constant before that order. If `weighted`, each result is first multiplied by a new leaf.
    """
    for draw in range(DRAWS):
        sampler = sampling(zlib.crc32(f"{op} {seed} {TIMES[times]} {draw}".encode()), dtype)
        made = sampler.ops.draw(op, fresh=True)
        program = _curved(sampler, made, op, weighted, times)
        if program or (applies(sampler, op) and size(sampler.shape(made[0])) and not weighted):
            return program
    return None


def _curved(sampler: Draft, made: Sequence[Ref], op: str, weighted: bool, times: int) -> Program | None:
    if not applies(sampler, op) or not differentiate(sampler, made, weighted, times):
        return None
    return supported(sampler)


def _swept_again(op: str, dtype: str, times: int) -> Program | None:
    sampler = sampling(1, dtype)
    made = _on_every_value(sampler, op)
    return None if made is None else _curved(sampler, made, op, False, times)


def programs(op: str, dtypes: Sequence[str]) -> Iterator[Program]:
    """Yields the fixed programs of an op that runs alone: one for each shape, one on a number in every dtype, samples
    in every dtype, and one on all values of `GRID`.
    """
    yield from shapes(op, dtypes[0])
    for dtype in dtypes[1:]:
        yield from _numbers(op, dtype)
    for dtype in dtypes:
        for program in (sweep(op, dtype), *(sample(op, seed, dtype) for seed in range(SAMPLES))):
            if program is not None:
                yield program


def under_another_default(op: str, dtypes: Sequence[str]) -> Iterator[Program]:
    """Yields a program of an op in each dtype other than float64, after an instruction that makes float64 the
    framework's default dtype.
    """
    for dtype in dtypes if Capability.DEFAULT_DTYPE in alphabet.current().capabilities else ():
        program = sample(op, 0, dtype) if dtype != OTHER_DEFAULT else None
        if program is not None:
            yield inserted(program, 0, DefaultDtype(OTHER_DEFAULT))


def curvatures(op: str, dtypes: Sequence[str], seeds: int = 1, times: int = 2) -> Iterator[Program]:
    """Yields the fixed programs that differentiate an op this many times: one on all values of `GRID` if the op is
    elementwise, one on the op's results, and one on the results multiplied by new leaves. Each dtype has different
    draws, to cover more attributes.
    """
    for other, dtype in enumerate(dtypes):
        swept = _swept_again(op, dtype, times)
        if swept is not None:
            yield swept
        for seed, weighted in product(range(seeds), (False, True)):
            alike = swept is not None and not seed and not weighted
            program = None if alike else curvature(op, seed + other * seeds, dtype, weighted, times)
            if program is not None:
                yield program


def audit(target: Target, dtypes: Sequence[str], thrice: bool) -> AuditResult:
    """Returns how many times each op of a framework can be differentiated; third derivatives run only with `thrice`.

    An op that ends its process ends this one. `checking.audit.worker` does the same in a separate process.
    """
    found: dict[str, Outcome] = {}
    faults: dict[str, Fault] = {}
    with alphabet.using(alphabet_of(target, dtypes)) as everything:
        for op in everything.ops:
            for outcome, fault in outcomes(op, target, dtypes, thrice):
                found[op] = outcome
                if fault is not None:
                    faults[op] = fault
    return AuditResult.of(found, faults)


def outcomes(op: str, target: Target, dtypes: Sequence[str], thrice: bool) -> Iterator[tuple[Outcome, Fault | None]]:
    """Yields the outcomes of an op as they improve, with the op's fault if it is wrong. A higher derivative runs only
    after the outcome of the lower one was yielded.

    The ops and dtypes that strategies draw from (`alphabet.current()`) have to be the target's.
    """
    fault, absent = _first_order(op, target, dtypes)
    if fault is not None or absent is not None:
        yield "wrong" if fault is not None else absent or "missing", fault
        return
    yield "once", None
    if not is_once_only(op, target, dtypes):
        yield "twice", None
        if not thrice or not is_twice_only(op, target, dtypes):
            yield "fine", None


def fault_of(op: str, target: Target, dtypes: Sequence[str]) -> Fault | None:
    """Returns the first violation by the op itself in its fixed programs; None if there is none."""
    return _first_order(op, target, dtypes)[0]


def _first_order(op: str, target: Target, dtypes: Sequence[str]) -> tuple[Fault | None, Outcome | None]:
    """Returns the fault of an op, or None, and the outcome of an op that is left out without a fault: "missing" if some
    program found no kernel, "wrong" if one raised an error that may be the framework's or the adapter's.
    """
    absent: Outcome | None = None
    for program in to_run_alone(programs(op, dtypes), target):
        observation = target.observe(program)
        violation = first_violation(program, observation, target, is_advisory)
        if violation is not None and (violation.op == op or _loses_gradient(program, violation)):
            return as_fault(program, violation), absent
        if is_inconclusive(*observation):
            absent = "missing" if lacks_kernel(*observation) else absent or "wrong"
    return None, absent


def _loses_gradient(program: Program, violation: Violation) -> bool:
    """Whether the only op of a program passes no gradient on: a leaf has none after the call. No op is named by that,
    since a call may forget the leaf as well; whoever draws the op finds it in programs of all rules.
    """
    used = [step for step in program if isinstance(step, Apply)]
    return isinstance(violation.observed, NoGradient) and len(used) == 1


def as_fault(program: Program, violation: Violation) -> Fault:
    """Returns a violation in a program as data that can be sent to another process."""
    return Fault(
        to_json(program),
        violation.rule,
        violation.observed_text(),
        violation.at,
        violation.allowed_texts(),
        category_of(violation),
        error_size(program, violation),
        signature_of(program, violation),
        _faulty_value(program, violation),
    )


def _faulty_value(program: Program, violation: Violation) -> FaultyValue | None:
    """Returns the value or gradient that a violation is about; None if it is about neither."""
    is_call = isinstance(program[violation.at], Backward)
    subject = violation.subject or (None if is_call else Ref(violation.at))
    if subject is None or isinstance(violation.observed, RaisedError):
        return None
    name, got, want = names(program)[subject], violation.got, violation.want
    if got is None or want is None:
        return FaultyValue(name, is_call)
    observed, expected = shown_distinct(got, want)
    return FaultyValue(name, is_call, observed, expected, repr(np.asarray(want).tolist()))


def is_once_only(op: str, target: Target, dtypes: Sequence[str]) -> bool:
    """Returns whether an op's second derivative violates a rule in the most exact dtype, or is not implemented."""
    return _fails(op, target, dtypes, 2)


def is_twice_only(op: str, target: Target, dtypes: Sequence[str]) -> bool:
    """Returns whether an op's third derivative violates a rule in the most exact dtype, or is not implemented; False
    for ops whose third derivatives are not tested.
    """
    return not is_long(op) and _fails(op, target, dtypes, 3)


def _fails(op: str, target: Target, dtypes: Sequence[str], times: int) -> bool:
    if Capability.CREATE_GRAPH not in target.capabilities:
        return False
    for program in curvatures(op, dtypes[:1], times=times):
        observation = target.observe(program)
        if is_unimplemented(observation) or first_violation(program, observation, target, is_advisory):
            return True
    return False


def is_long(op: str) -> bool:
    """Returns whether an op's third derivative is a sum of so many products that rounding may exceed the error
    bounds.
    """
    return OPS[op].family in LONG


def is_unimplemented(observation: Observation) -> bool:
    """Returns whether the framework reports that it does not implement an instruction, or the observation cannot be
    judged.
    """
    found = (step.outcome for step in observation)
    refused = any(isinstance(outcome, Raised) and outcome.kind is Kind.NOT_IMPLEMENTED for outcome in found)
    return refused or is_inconclusive(*observation)
