"""Makes vectors: the suite's fixed programs of each op, write, optimizer and way to fail, the smallest program of each
capability, the corpus, drawn programs of each situation, and recorded programs, as far as the framework supports them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest

from autograd_conformance.checking.audit import corners, failures, optimizer_steps, uses
from autograd_conformance.checking.audit.programs import curvatures, programs
from autograd_conformance.checking.corpus import corpus
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.probing.smallest import SMALLEST
from autograd_conformance.interactions.recorded import recorded
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs import slugs
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import usual
from autograd_conformance.programs.editing import computation
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.parser import parse
from autograd_conformance.programs.language import BackwardCall, Program
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.stages import NUMBER, stage_of
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.crossing import supported_part
from autograd_conformance.strategies.write_pairs import some_pairs
from autograd_conformance.vectors.expectations import Undetermined, expectations
from autograd_conformance.vectors.expected import Expected
from autograd_conformance.vectors.situations import drawn
from autograd_conformance.vectors.vector import LEVELS, Vector

EACH = 20
"""Number of vectors of one op alone, if nobody says otherwise."""

WRITTEN = 6
"""Largest number of programs of one op that change an operand or a result in place."""

FIRST_RECORDED = 3
"""The lowest level for which recorded programs are tried: hardly one has only first gradients."""

NOTHING = Program((), ())
"""The program without instructions."""

LONGEST = 60
"""Largest number of instructions of a vector. Longer programs are about memory, which no vector can show."""

INCIDENTAL = {
    slugs.ACCUMULATION_FIRST, slugs.ACCUMULATION_UNREACHED, slugs.ERRORS_LEGAL_RETURNS, slugs.GRADIENTS_REQUIRES_GRAD,
    slugs.SEQUENCES_HISTORY,
}  # fmt: skip
"""Rules that give a program no level, since nearly every program puts them to the test."""

UNSEEN = {Capability.MEMORY, Capability.IDENTITY, Capability.LAYOUT, Capability.COUNTS_SAVED}
"""Capabilities of frameworks whose objects have an identity. Rules about these give a program no level: a vector
compares numbers.
"""


def vectors(claimed: Target, observer: Target, each: int = EACH, level: int = LEVELS) -> Iterator[Vector]:
    """Yields the vectors of a framework that claims what `claimed` does, with outcomes that `observer`, a framework
    that follows the rules, shows: at most `each` for one op alone, and those of the levels up to `level`.
    """
    counts = Counter[Slug]()
    made = set[Program]()
    with alphabet.using(alphabet_of(claimed, usual(claimed.dtypes))):
        for whole in _programs(claimed, each, recorded().lines if level >= FIRST_RECORDED else ()):
            if whole is None or len(whole) > LONGEST or whole in made or unsupported_by(whole, claimed):
                continue
            program, expected, rules = _determined(whole, observer, claimed)
            is_new = program not in made
            made |= {whole, program}
            number, own = _level(rules, claimed)
            if is_new and own and number <= level:
                rule = min(own, key=lambda slug: (counts[slug], slug))
                counts[rule] += 1
                yield Vector(program, rule, tuple(rules), number, expected)


def _programs(claimed: Target, each: int, lines: Iterable[str]) -> Iterator[Program | None]:
    for op in alphabet.current().ops:
        alone = list(islice(_of_op(op, claimed), each))
        yield from map(computation, alone[:1])
        yield from alone
    yield from (parse(smallest.text, VOCABULARY) for smallest in SMALLEST.values())
    yield from (each.program for each in corpus())
    yield from _of_actions(claimed)
    yield from drawn()
    yield from (supported_part(codec.loads(line, VOCABULARY)) for line in lines)


def _of_op(op: str, claimed: Target) -> Iterator[Program]:
    """Yields the fixed programs of an op: one of each kind, then another of each kind, and so on."""
    can, dtypes = alphabet.current().can, usual(claimed.dtypes)
    kinds = [
        programs(op, dtypes),
        uses.programs(op, dtypes),
        curvatures(op, dtypes) if can(Capability.CREATE_GRAPH) else iter(()),
        corners.programs(op, dtypes),
        _written_around(op, dtypes) if can(Capability.WRITES) and can(Capability.IMPERATIVE) else iter(()),
    ]
    return (program for several in zip_longest(*kinds) for program in several if program is not None)


def _written_around(op: str, dtypes: Sequence[str]) -> Iterator[Program]:
    """Yields programs that change an operand or a result of an op in place, before or after a call."""
    return (sample.program(value, way, time) for sample, value, way, time in some_pairs(op, dtypes, WRITTEN))


def _of_actions(claimed: Target) -> Iterator[Program]:
    """Yields the fixed programs of each in-place op, of each optimizer and of each way to fail."""
    if Capability.CREATE_GRAPH in claimed.capabilities and Capability.WRITES in claimed.capabilities:
        for write in claimed.writes:
            yield from corners.written_curvatures(write, usual(claimed.dtypes))
    if Capability.OPTIMIZERS in claimed.capabilities:
        for name in claimed.optimizers:
            yield from optimizer_steps.programs(name, usual(claimed.dtypes))
    if Capability.IMPERATIVE in claimed.capabilities:
        for way in failures.WAYS:
            yield from failures.programs(way, usual(claimed.dtypes)[0])


Determined = tuple[Program, tuple[Expected, ...], list[Slug]]
"""A program, the outcome of each instruction, and the rules that the program puts to the test."""


def _determined(program: Program, observer: Target, claimed: Target) -> Determined:
    """Returns the first instructions of a program, as many as the rules determine, with their outcomes and the rules
    that they put to the test; no instructions if there is no call among them.
    """
    try:
        return program, *expectations(program, observer.observe(program), claimed)
    except Undetermined:
        pass
    nothing: Determined = NOTHING, (), []
    found, open_from = nothing, len(program)
    while open_from - len(found[0]) > 1:
        middle = (len(found[0]) + open_from) // 2
        first = Program(program.instructions[:middle], program.modes[:middle])
        try:
            found = first, *expectations(first, observer.observe(first), claimed)
        except Undetermined:
            open_from = middle
    return found if any(isinstance(step, BackwardCall) for step in found[0]) else nothing


def _level(rules: Iterable[Slug], claimed: Target) -> tuple[int, list[Slug]]:
    """Returns the number of the last stage of some rules, from 1, and the rules of that stage. Where all calls are
    functional, the rule about their values gives none.
    """
    common = INCIDENTAL if Capability.IMPERATIVE in claimed.capabilities else {*INCIDENTAL, slugs.FUNCTIONAL_VALUE}
    counting = [rule for rule in rules if rule not in common and UNSEEN.isdisjoint(RULES[rule].needs)]
    numbers = {rule: NUMBER[stage_of(rule).name] + 1 for rule in counting or rules}
    last = max(numbers.values(), default=0)
    return last, [rule for rule, number in numbers.items() if number == last]
