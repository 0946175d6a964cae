"""Checks of an entry of known differences for contradictions: no key names the case, limits waive everything, keys
exclude each other, or the witness program cannot show the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from autograd_conformance.known_differences.condition import Outcome
from autograd_conformance.known_differences.conditions.computed import values
from autograd_conformance.known_differences.conditions.subjects import Dimensions, Elements, WrongElements
from autograd_conformance.known_differences.entry import Known
from autograd_conformance.known_differences.limits import NO_LIMITS
from autograd_conformance.known_differences.table import LIMITS
from autograd_conformance.programs.language import Apply, InPlace, Program, Ref
from autograd_conformance.programs.operands import results
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.violations.observed import OtherGradient
from autograd_conformance.rules.violations.shared import Place
from autograd_conformance.rules.violations.violation import Violation


def problem(entry: Known) -> str | None:
    """Returns the first contradiction in an entry, as a message that begins with a key; None if there is none."""
    return next(filter(None, (check(entry) for check in CHECKS)), None)


def witness_problem(entry: Known) -> str | None:
    """Returns the reason why the entry's witness program cannot show the difference, as a message; None if it can.
    Computes the values of the program.
    """
    try:
        made = values(entry.witness)
    except Exception as error:  # operands of shapes that no op takes
        return f"witness: the program is not well-formed: {type(error).__name__}: {error}"
    sizes = {(each.size, each.ndim) for each in made.values()}
    if not any(_fits(entry, size, dimensions) for size, dimensions in sizes):
        return "witness: no value of the program has this number of elements and dimensions"
    conditions = [each for each in entry.conditions if each.by_program]
    if not any(
        all(each.holds(entry.witness, violation, entry.op) for each in conditions)
        for violation in imagined(entry.witness)
    ):
        return f"witness: no instruction of the program fulfils {', '.join(each.key for each in conditions)}"
    return None


def _fits(entry: Known, size: int, dimensions: int) -> bool:
    elements, ndim = entry.get(Elements), entry.get(Dimensions)
    return (elements is None or elements.value == size) and (ndim is None or ndim.value == dimensions)


def imagined(program: Program) -> Iterator[Violation]:
    """Yields a made-up violation for each instruction and for each value that exists by then, for testing conditions
    without a framework.
    """
    refs: list[Ref] = []
    for at, step in enumerate(program):
        refs += [Ref(at, k) for k in range(results(step))]
        yield from (Violation(Slug(""), at, OtherGradient(Place.LEAF), (), subject) for subject in (None, *refs))


# -- checks ------------------------------------------------------------------------------------------------------------


def _names_nothing(entry: Known) -> str | None:
    if any(each.names_case for each in entry.conditions):
        return None
    return (
        f"op: nothing names the case, so the entry would cover every violation of {entry.rule!r}; give an op, or a key "
        "that says where, such as after, message, graph_reused, grad_already_set or makes_view"
    )


def _op_is_missing(entry: Known) -> str | None:
    applied = {step.op for step in entry.witness if isinstance(step, (Apply, InPlace))}
    if entry.op is not None and entry.op not in applied:
        return f"witness: the program does not apply {entry.op!r}, the op of the entry"
    about = next((each for each in entry.conditions if each.about_op is not None), None)
    return f"{about.key}: {about.about_op}, and the entry has no op" if about is not None and entry.op is None else None


def _has_several_outcomes(entry: Known) -> str | None:
    limits = [(Outcome.VALUES, key) for key in LIMITS if getattr(entry.limits, key) not in (None, False)]
    if entry.limits.any_value and (entry.limits.limited or entry.limits.nan):
        return "any_value: it waives all values; leave out relative, absolute and nan"
    given = [*limits, *((each.outcome, each.key) for each in entry.conditions if each.outcome is not None)]
    found = [next((key for of, key in given if of is outcome), None) for outcome in Outcome]
    several = [(outcome.value, key) for outcome, key in zip(Outcome, found, strict=True) if key is not None]
    if len(several) < 2:
        return None
    (one, key), (other, second), *_ = several
    return f"{key}: it is about {one}, and {second} about {other}; write an entry for each"


def _is_boundless(entry: Known) -> str | None:
    for key, limit in (("relative", entry.limits.relative), ("absolute", entry.limits.absolute)):
        if limit is not None and limit > 1:
            return f"{key}: {limit!r} is above 1, which waives almost any value; write any_value = true instead"
    return None


def _is_impossible(entry: Known) -> str | None:
    elements, dimensions, wrong = entry.get(Elements), entry.get(Dimensions), entry.get(WrongElements)
    if elements is not None and elements.value != 1 and dimensions is not None and dimensions.value == 0:
        return f"elements: a value without dimensions has 1 element, not {elements.value}"
    if wrong is not None and wrong.value == 0:
        return "wrong_elements: with 0 wrong elements there is no difference; give 1 or more"
    if wrong is not None and elements is not None and wrong.value > elements.value:
        return f"wrong_elements: at most {elements.value} of {elements.value} elements can be wrong"
    return None


def _has_no_limit(entry: Known) -> str | None:
    other_outcome = any(each.outcome not in (None, Outcome.VALUES) for each in entry.conditions)
    if not RULES[entry.rule].compares_values or entry.limits != NO_LIMITS or other_outcome:
        return None
    return (
        f"relative: {entry.rule!r} is about values, and no key limits how far they may be off; give relative or "
        "absolute, or nan = true, or any_value = true if the framework reads memory with unknown contents"
    )


CHECKS: tuple[Callable[[Known], str | None], ...] = (
    _op_is_missing, _has_several_outcomes, _is_boundless, _is_impossible, _has_no_limit, _names_nothing,
)  # fmt: skip
"""The functions that check each entry, in this order; each returns a message or None."""
