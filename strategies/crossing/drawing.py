"""Draws crossed programs."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st

from autograd_conformance.interactions.meetings import place_of
from autograd_conformance.interactions.recorded import recorded
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import (
    Apply,
    Backward,
    Clip,
    Delete,
    Instruction,
    Modes,
    Optimizer,
    Ref,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.operands import operands, results, with_operands
from autograd_conformance.strategies.building.alphabet import current
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.randomness.choices import Draw
from autograd_conformance.strategies.building.tensors import literal
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.crossing.admission import can_follow
from autograd_conformance.strategies.crossing.copying import Copy
from autograd_conformance.strategies.crossing.donors import (
    LONGEST,
    Donor,
    Form,
    donors,
    form_of,
    is_handle,
    is_updatable,
    program,
)
from autograd_conformance.strategies.crossing.novelty import novelty, numbers
from autograd_conformance.strategies.crossing.variation import varied

MOST = 3
"""Largest number of instructions that a program takes."""

TRIES = 30
"""Number of instructions and operands that are compared before the one with the most new meetings is taken."""

BASES = 200
"""Number of recorded programs to try until one has a call that the framework supports. If none has, none is drawn."""

VARIED = 0.25
"""Part of the compared instructions that get other grad modes or another option than they have in their program."""

DISTINCT = (Step, Optimizer, Clip, Delete, ZeroGrad)
"""Instructions that list no value twice."""


@st.composite
def crossed(draw: Draw) -> Drawn:
    """Draws a recorded program that takes up to `MOST` instructions of other ones, each where it makes new pairs or
    triples of facts meet. What the framework does not support is left out.

    The program is a function of one drawn number: with a smaller number another program is drawn, not a simpler one.
    """
    current().require(Capability.IMPERATIVE, Capability.COTANGENTS)
    random = Random(draw(st.integers(0, 2**64 - 1)))
    for _ in range(BASES):
        drawn = Crossing(random).drawn()
        if drawn is not None:
            return drawn
    raise Unsupported("needs recorded programs with a call, which need more than the framework claims")


class Crossing:
    """A recorded program that is copied, with instructions of other programs in between."""

    def __init__(self, random: Random) -> None:
        self.random, self.made = random, Copy()
        self.script = self.made.script
        self.focus: list[Ref] = []
        """The values that the latest taken instruction has read or made."""
        self.optimizers: list[Optimizer] = []
        """The taken optimizers. Each makes a step at the end, without which it would have no effect."""

    def drawn(self) -> Drawn | None:
        """Returns the program; None if it is too long, or has nothing that the framework supports and can be judged."""
        base = program(self.random.randrange(len(recorded().lines)))
        if len(base) > LONGEST:
            return None
        places = [self.random.randint(1, len(base)) for _ in range(self.random.randint(1, MOST))]
        for at, step in enumerate(base):
            for _ in range(places.count(at)):
                self.take()
            self.made.copy(at, step, base.mode(at))
        for _ in range(places.count(len(base))):
            self.take()
        self.call()
        for each in self.optimizers:
            self._append(Step(each.leaves, each.optimizer, each.settings, each.groups))
        return self.made.drawn()

    def take(self) -> None:
        """Takes the instruction of another program that makes most facts meet that never met, of some that are drawn at
        random; and perhaps uses its result in place of an operand from there on.
        """
        forms, best, most = self._forms(), None, 0
        facts = {ref: self.made.history.facts(ref) for refs in forms.values() for ref in refs}
        fitting = [donor for needed, given in donors().items() if forms.keys() >= {*needed} for donor in given]
        for _ in range(TRIES if fitting else 0):
            donor = self.random.choice(fitting)
            if self.random.random() < VARIED:
                donor = varied(donor, self.random)
            given = self._operands(donor, forms)
            if given is None:
                continue
            new = sum(novelty(donor.facts, numbers((*facts[ref], place_of(ref, given)))) for ref in {*given})
            step = with_operands(donor.step, given)
            if new > most and can_follow(self.script, step, donor.modes) and self._is_certain(step, donor.modes):
                best, most = (step, donor.modes), new
        if best is not None:
            step, modes = best
            at = self.made.add(step, modes)
            made = [Ref(at, k) for k in range(results(step)) if Ref(at, k) in self.script.live]
            self.focus = [*made, *operands(step)]
            self.optimizers += [step] if isinstance(step, Optimizer) else []
            if isinstance(step, Apply) and len(made) == 1:
                self._use(made[0], step.args)

    def _forms(self) -> dict[Form, list[Ref]]:
        """Returns the values that an instruction may read here, by their forms."""
        script, found = self.script, dict[Form, list[Ref]]()
        handles = [Ref(at) for at in range(len(script.reference.steps)) if is_handle(script, Ref(at))]
        for ref in (*script.live, *handles):
            found.setdefault(form_of(script, ref, False), []).append(ref)
            if is_updatable(script, ref) and script.requires(ref):
                found.setdefault(form_of(script, ref, True), []).append(ref)
        return found

    def _operands(self, donor: Donor, forms: dict[Form, list[Ref]]) -> list[Ref] | None:
        """Returns values for the operands of a donor: of the forms that it needs, in half of the draws from the latest
        taken instruction. Returns None if there are none.
        """
        taken: dict[Ref, Ref] = {}
        for ref, form in zip(operands(donor.step), donor.forms, strict=True):
            options = forms[form]
            if isinstance(donor.step, DISTINCT):
                options = [each for each in options if each not in taken.values()]
            near = [each for each in options if each in self.focus]
            if not options:
                return None
            if ref not in taken:
                taken[ref] = self.random.choice(near if near and self.random.random() < 0.5 else options)
        return [taken[ref] for ref in operands(donor.step)]

    def _is_certain(self, step: Instruction, modes: Modes) -> bool:
        """Whether the rules specify what an instruction does here. Errors are certain, too, and taken now and then."""
        assert self.script.tape is not None
        expected = self.script.tape.expect(len(self.script.reference.steps), step, modes)
        return not expected.unspecified and (expected.returns is not None or self.random.random() < 0.25)

    def _use(self, made: Ref, args: Sequence[Ref]) -> None:
        """In half of the draws, puts a result in the place of an operand of its form in all later instructions."""
        form = form_of(self.script, made, False)
        drawn = self.script.reference.is_random  # a mask of dropout is that op's alone
        same = [ref for ref in args if form_of(self.script, ref, False) == form and not drawn(ref)]
        if same and self.random.random() < 0.5:
            old = self.random.choice(same)
            self.made.new = {ref: made if now == old else now for ref, now in self.made.new.items()}

    def call(self) -> None:
        """Ends the program with a backward call on a result, if one is legal."""
        script = self.script
        roots = [ref for ref in script.op_results() if ref in self.focus] or script.op_results()
        if roots:
            root = self.random.choice(roots)
            shape = script.shape(root)
            cotangent = literal(self.random.randbytes(script.reference.values[root].size), shape, script.dtypes[root])
            self._append(Backward((root,), (cotangent,)))

    def _append(self, step: Instruction) -> None:
        """Ends the program with an instruction, if it can follow and the rules specify what it does."""
        if can_follow(self.script, step, ()) and self._is_certain(step, ()):
            self.made.add(step, ())
