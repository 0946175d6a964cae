"""The gates of a run: the smallest programs of each stage, which run before the tests.

A stage is wholly broken if all its gates go wrong, in whatever op and form. Its first failure is then reported once,
and the tests of the stage, and of those that need it, wait. One right program is enough to open a stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.probing.smallest import CALLED, SMALLEST, STEPPED, TWICE
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs import slugs
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.editing import replaced
from autograd_conformance.programs.formats.parser import parse
from autograd_conformance.programs.language import Backward, Grad, Instruction, Leaf, Literal, Program
from autograd_conformance.programs.slugs import Family, Slug, family
from autograd_conformance.rules.violations.violation import Violation

C = Capability
NUMBER = "a = leaf 2; b = multiply a a; backward b"
EXP = "a = leaf [0.5, 1]; b = exp a; backward b with [1, 2]"
NEGATED = "a = leaf [1, 2]; b = negative a; backward b with [1, 2]"


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates of one stage."""

    rule: Slug
    """The rule that is reported if a gate ends the process."""
    programs: tuple[str, ...]
    """Programs of which each shows that the stage works, in the suite's notation."""
    needs: Capability | None = None
    """A capability without which the stage has no gates, besides those that the programs need."""
    others: tuple[Family, ...] = ()
    """Further families of rules that the programs break if the stage does not work, besides that of `rule`."""

    def is_broken_by(self, violation: Violation) -> bool:
        """Returns whether a violation in a gate shows that the stage does not work: it is of the stage's own rules, or
        a legal call raised. Any other violation has another cause, which the tests find.
        """
        legal = violation.rule == slugs.ERRORS_LEGAL_RETURNS
        return legal or family(Slug(violation.rule)) in (family(self.rule), *self.others)


GATES: dict[str, Gates] = {
    "forward values": Gates(
        slugs.GRADIENTS_FORWARD,
        (
            "a = leaf 2; b = multiply a a",
            "a = leaf 2; b = add a a",
            "a = leaf [1, 2]; b = negative a",
            "a = leaf [1, 2]; b = leaf [3, 4]; c = add a b",
            "a = leaf [0.5, 1]; b = exp a",
            "a = leaf [[1, 2], [3, 4]]; b = sum a dim=(0,) keepdim=False",
        ),
    ),
    "first gradients": Gates(
        slugs.GRADIENTS_OP,
        (
            NUMBER,
            "a = leaf 2; b = add a a; backward b",
            SMALLEST[C.IMPERATIVE].text,
            EXP,
            NEGATED,
            "a = leaf [1, 2]; b = leaf [3, 4]; c = add a b; backward c with [1, 1]",
            "a = leaf 2; b = multiply a a; c = grad b wrt a",
            SMALLEST[C.FUNCTIONAL].text,
            "a = leaf [1, 2]; b = negative a; c = grad b wrt a with [1, 2]",
        ),
        others=(slugs.ACCUMULATION, slugs.FUNCTIONAL),
    ),
    "accumulation and clearing": Gates(
        slugs.ACCUMULATION_ADDS,
        (
            f"{NUMBER}; c = multiply a a; backward c",
            "a = leaf 2; b = add a a; backward b; c = add a a; backward c",
            TWICE,
            f"{NEGATED}; c = negative a; backward c with [3, 4]",
            f"{EXP}; c = exp a; backward c with [3, 4]",
        ),
        C.ACCUMULATES,
    ),
    "lifetime and retain_graph": Gates(
        slugs.LIFETIME_RETAINED_WORKS,
        (
            f"{NUMBER} retain=True; backward b",
            f"{EXP} retain=True; backward b with [1, 2]",
            f"{NUMBER}; backward b",
            f"{EXP}; backward b with [1, 2]",
        ),
        C.ACCUMULATES,
    ),
    "detach and modes": Gates(
        slugs.DETACH_BLOCKS,
        (
            "a = leaf 2; b = detach a; c = multiply a b; backward c",
            "a = leaf [1, 2]; b = detach a; c = add a b; backward c with [1, 1]",
            "a = leaf 2; no_grad: b = multiply a a; c = multiply a b; backward c",
            "a = leaf [1, 2]; no_grad: b = negative a; c = add a b; backward c with [1, 1]",
        ),
        others=(slugs.MODES,),
    ),
    "writes and views": Gates(
        slugs.WRITES_VALUE,
        (
            "a = leaf 2 const; write a mul_scalar_ scalar=2",
            SMALLEST[C.WRITES].text,
            "a = leaf 2; b = negative a; write b mul_scalar_ scalar=2; backward b",
            "a = leaf [1, 2]; b = negative a; write b add_scalar_ scalar=2; backward b with [1, 1]",
        ),
    ),
    "hooks": Gates(
        slugs.HOOKS_CALLED,
        (
            "a = leaf 2; h = hook a observe; b = multiply a a; backward b",
            "a = leaf [1, 2]; h = hook a observe; b = negative a; backward b with [1, 2]",
            "a = leaf [1, 2]; b = multiply a a; h = hook b observe; c = negative b; backward c with [1, 2]",
            SMALLEST[C.ACCUMULATED_HOOKS].text,
        ),
    ),
    "higher order": Gates(
        slugs.HIGHER_DIFFERENTIABLE,
        (
            "a = leaf 2; b = multiply a a; c = grad b wrt a create=True; backward c",
            "a = leaf [0.5, 1]; b = exp a; c = grad b wrt a with [1, 2] create=True; backward c with [1, 1]",
            "a = leaf 2; b = multiply a a; c = grad b wrt a",
            SMALLEST[C.ANY_INPUTS].text,
        ),
        others=(slugs.FUNCTIONAL,),
    ),
    "optimizers and networks": Gates(
        slugs.OPTIMIZERS_FORMULA,
        (
            f"{NUMBER}; step a sgd lr=0.125",
            STEPPED,
            f"{NEGATED}; step a sgd lr=0.125",
            f"{CALLED}; step a adam lr=0.125",
        ),
    ),
}
"""The gates of each stage, by the stage's name. Stages that combine others have none."""


def gates_of(stage: str, target: Target, dtype: str) -> Iterator[Program]:
    """Yields the gates of a stage that a framework claims to support, with leaves of a dtype."""
    gates = GATES.get(stage)
    if gates is None or (gates.needs is not None and gates.needs not in target.capabilities):
        return
    for text in gates.programs:
        program = in_dtype(parse(text, VOCABULARY), dtype)
        if not unsupported_by(program, target):
            yield program


def in_dtype(program: Program, dtype: str) -> Program:
    """Returns a program with its leaves and cotangents in another dtype."""
    for at, step in enumerate(program):
        program = replaced(program, at, _in_dtype(step, dtype))
    return program


def _in_dtype(step: Instruction, dtype: str) -> Instruction:
    match step:
        case Leaf(value):
            return replace(step, value=replace(value, dtype=dtype))
        case Backward() | Grad():
            return replace(step, cotangents=_all_in_dtype(step.cotangents, dtype))
        case _:
            return step


def _all_in_dtype(given: Sequence[Literal | None], dtype: str) -> tuple[Literal | None, ...]:
    return tuple(None if each is None else replace(each, dtype=dtype) for each in given)
