"""Computes the rows of the matrix: runs every family of rules on a handmade mutant, and the op's tests on a generated
one.

The mutant's own family runs with the programs of the quick profile, and its failure is shrunk. The other families run
with few programs per test and stop at the first failure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from hypothesis import Phase

from autograd_conformance.checking.audit import corners
from autograd_conformance.checking.audit import programs as audit
from autograd_conformance.checking.check import RuleViolated
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.failures.case import Case
from autograd_conformance.known_differences import Known, known
from autograd_conformance.programs.language import Leaf, Program
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.alphabet import CORE
from autograd_conformance.strategies.higher_order import derivatives_of
from autograd_conformance.strategies.situations import gradients
from evaluation.kill_matrix.rows import Cell, Row
from evaluation.kill_matrix.settings import OTHERS, STANDARD
from evaluation.mutants import MUTANTS
from evaluation.mutants.generated import GENERATED, Generated, candidates
from evaluation.mutants.kill import FIRST_OPS, TORCH, Counting, failure, prepared
from evaluation.mutants.mutant import Faulty
from evaluation.mutants.probes import QUICK, Probe, check_drawn, probes, tests

COMPANIONS = ("multiply", "sum", "add", "negative")
"""Other ops in programs about a single op."""

SHARE = 8
"""Number of times that the op is listed beside these, so that about half of the drawn ops are this op."""

OTHER_FAMILY = {"gradients": "accumulation", "higher": "functional"}
"""The other family that runs on a generated mutant, by the mutant's own family."""


def row(name: str) -> Row:
    """The row of a mutant, by its name."""
    return generated(name) if name in candidates() else by_hand(MUTANTS[name])


def families() -> tuple[str, ...]:
    """All families of rules with tests, in the catalogue's order."""
    tested = {RULES[probe.rule].family for probe in tests()}
    return tuple(dict.fromkeys(rule.family for rule in RULES.values() if rule.family in tested))


def by_hand(mutant: type[Faulty]) -> Row:
    """The row of a handmade mutant: every family runs on it."""
    own = RULES[mutant.killed_by[0]].family
    with alphabet.using(alphabet.current()):
        framework, differences = prepared(mutant), known(mutant.framework, device="cpu")
        op_first = ("gradients/op",) * ("gradients/forward" in mutant.killed_by)
        first = tuple(dict.fromkeys(op_first + mutant.killed_by))
        found = probes(first, tuple(sorted(framework.faulty_ops)) or CORE[:FIRST_OPS], QUICK)
        cells = {
            family: _family([p for p in found if RULES[p.rule].family == family], framework, family == own, differences)
            for family in families()
        }
    return Row(mutant.name, False, mutant.__module__.rpartition(".")[2], None, own, mutant.killed_by, cells)


def _family(found: Sequence[Probe], framework: FrameworkUnderTest, own: bool, differences: tuple[Known, ...]) -> Cell:
    """Run a family's tests on a mutant until one fails. In the mutant's own family, the failure is shrunk, and the
    other tests run with few programs to find which of them fail.
    """
    began, before = time.process_time(), 0
    killed, failed = None, []
    for probe in found:
        if not RULES[probe.rule].needs <= framework.target.capabilities:
            continue
        check = Counting(framework.target, known=differences)
        whole = own and killed is None
        few = probe if whole else replace(probe, examples=min(probe.examples, OTHERS))
        phases = (Phase.generate, Phase.shrink) if whole else (Phase.generate,)
        failing = failure(few, check, 0, phases)
        if failing:
            failed.append(probe.rule)
        if failing and killed is None:
            count = before + (check.first_failing or check.programs)
            killed = _killed(failing[0], probe.name, count, time.process_time() - began, own)
        if killed is not None and not own:
            return killed
        before += check.programs
    if killed is not None:
        return replace(killed, tests=tuple(dict.fromkeys(failed)))
    return Cell(False, before, _rounded(time.process_time() - began))


def generated(name: str) -> Row:
    """The row of a generated mutant: the tests of its op and one other family run on it."""
    mutant = GENERATED[name]
    own = RULES[mutant.killed_by[0]].family
    with alphabet.using(alphabet.current()):
        framework = FrameworkUnderTest(Settings(f"{mutant.__module__}:{name}"))
        framework.prepare()
        cells = {own: by_op_tests(mutant, framework)}
        near = tuple(op for op in COMPANIONS if op in mutant.ops and op != mutant.op)
        alphabet.use(replace(alphabet.current(), ops=(*near, *(mutant.op,) * SHARE)))
        about = [replace(probe, examples=OTHERS) for probe in tests() if RULES[probe.rule].family == OTHER_FAMILY[own]]
        cells[OTHER_FAMILY[own]] = _family(about, framework, False, TORCH)
    return Row(mutant.name, True, candidates()[name][1], mutant.op, own, mutant.killed_by, cells)


def by_op_tests(mutant: type[Generated], framework: FrameworkUnderTest) -> Cell:
    """Run a quick run's tests for one op: first the fixed programs, then drawn ones, whose failure is shrunk."""
    began = time.process_time()
    op, twice = mutant.op, mutant.killed_by[0] == "higher/op"
    fixed = audit.curvatures(op, framework.drawable) if twice else _fixed(op, framework)
    strategy = derivatives_of(op) if twice else gradients.single_ops(op)
    probe = Probe(mutant.killed_by[0], f"op[{op}]", check_drawn, {"drawn": strategy}, QUICK // 6)
    check = Counting(framework.target, known=TORCH)
    broken = _first(fixed, check)
    count = check.first_failing or check.programs
    drawn = Counting(framework.target, known=TORCH)
    drawn_failure = failure(probe, drawn, 0)
    if broken is None and (drawn_failure is None or twice):  # a quick run draws no second derivatives
        tried = count if twice else count + drawn.programs
        spent = _rounded(time.process_time() - began)
        return Cell(False, tried, spent, later=_later(mutant, probe, framework))
    count += 0 if broken else drawn.first_failing or drawn.programs
    shrunk = drawn_failure[0] if drawn_failure else broken
    assert shrunk is not None
    made = _killed(broken or shrunk, f"op_samples[{op}]" if broken else probe.name, count, 0.0, False)
    return replace(made, size=len(shrunk.program), seconds=_rounded(time.process_time() - began))


def _fixed(op: str, framework: FrameworkUnderTest) -> Iterator[Program]:
    """The fixed programs of a quick run for one op."""
    yield from audit.programs(op, framework.drawable)
    yield from corners.programs(op, framework.drawable)


def _later(mutant: type[Generated], probe: Probe, framework: FrameworkUnderTest) -> bool:
    """Whether the programs that a standard run adds for an op kill a mutant: all forms of the op, and more random
    programs.
    """
    forms = audit.forms(mutant.op, framework.drawable[0]) if probe.rule == "gradients/op" else ()
    check = Counting(framework.target, known=TORCH)
    return bool(_first(forms, check) or failure(replace(probe, examples=STANDARD // 10), check, 0, (Phase.generate,)))


def _first(programs: Iterable[Program], check: Callable[[Program], None]) -> Case | None:
    for program in programs:
        try:
            check(program)
        except RuleViolated as error:
            return Case.of(error)
    return None


def _killed(broken: Case, test: str, programs: int, seconds: float, shrunk: bool) -> Cell:
    leaves = (step for step in broken.program if isinstance(step, Leaf))
    dtype = next((leaf.value.dtype for leaf in leaves), None)
    size = len(broken.program) if shrunk else None
    found = broken.violation
    return Cell(True, programs, _rounded(seconds), test, found.rule, found.op, dtype, size)


def _rounded(seconds: float) -> float:
    return round(seconds, 3)
