"""Why two facts cannot meet: a table of reasons, each with the pairs of facts that it excludes.

A pair without a reason is legal, and no strategy has drawn it yet.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache

from autograd_conformance.interactions.options import NUMBERS, class_of
from autograd_conformance.ops.catalogue import ROWS, VOCABULARY
from autograd_conformance.ops.modules import MODULES
from autograd_conformance.ops.optimizers import IMPLEMENTATION, OPTIMIZERS
from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.language import CLIPS, EFFECTS, INSTRUCTIONS

WORDS = frozenset(row.word for row in INSTRUCTIONS.values())

ORIGINS = ("is a leaf", "result", "of constants", "unrecorded", "detached")
"""The facts that say which instruction made a value."""

GRADIENTS = ("read gradient", "returned gradient")
"""The facts of values that are gradients, or that ops have computed from gradients."""

MADE_BY_OPS = ("view", "several results", "overlapping result")
"""The facts of values that only ops make."""

COMPUTED = ("result", "of constants", "unrecorded", *GRADIENTS, *MADE_BY_OPS)
"""The facts of values that are neither leaves nor detached."""

SHAPES = ("a number", "one element", "no elements")
"""The facts about the shape of a leaf. The results of an op with an empty operand have the last one, too."""

SUCCESSIVE = (
    ("hooked", "hooked again"),
    ("walked", "walked again"),
    ("stepped", "stepped again"),
    ("holds gradient", "cleared gradient"),
    ("holds gradient", "gradient of zeros"),
    ("differentiable gradient", "cleared gradient"),
    ("differentiable gradient", "gradient of zeros"),
)
"""Pairs of facts of which the second ends the first, or the first the second."""

LEAVES = ("is a leaf", "detached")

LEAVES_ONLY = ("optimizer", "step")
"""The instructions whose operands are leaves or detached values."""

ONE_OPERAND = ("detach", "detach_in_place", "held", "hook", "requires_grad", "retain_grad", "remove_hook")

DIFFERENT_OPERANDS = ("clip", "drop", "optimizer", "step", "zero_grad")
"""The instructions that list each value once."""

UNTOUCHED = ("leaf", "default_dtype", "remove_hook")
"""The instructions that touch no value: the operand of `remove_hook` is a handle."""

OF_HANDLES = ("place: operand", "requires no grad")
"""The facts that the handle of a hook has, too."""

PLACES = ("place: operand", "place: operand twice", "place: walked")


def kind(fact: str) -> str | None:
    """Returns the kind of instruction that a fact is about, such as "backward"; None for the other facts."""
    word = fact.partition(":")[0]
    return word if word in WORDS else None


def option(fact: str) -> str:
    """Returns the part of a fact after the kind of its instruction: "two roots" of "backward: two roots"."""
    return fact.partition(": ")[2]


def is_of_value(fact: str) -> bool:
    """Whether a fact is about a value that an instruction touches."""
    return kind(fact) is None and not fact.startswith("under ")


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason why pairs of facts cannot meet."""

    text: str
    """The reason, as a sentence."""
    excludes: Callable[[str, str], bool]
    """Whether it excludes that the first fact meets the second one. It is called in both orders."""


def _of_two_kinds(one: str, other: str) -> bool:
    return None not in (kind(one), kind(other)) and kind(one) != kind(other)


def _touches_nothing(one: str, other: str) -> bool:
    is_of_handle = kind(one) == "remove_hook" and other in OF_HANDLES
    return kind(one) in UNTOUCHED and is_of_value(other) and not is_of_handle


def _walks_nothing(one: str, other: str) -> bool:
    return kind(one) not in (None, "backward", "grad") and other == "place: walked"


def _lists_once(one: str, other: str) -> bool:
    return other == "place: operand twice" and (
        kind(one) in (*ONE_OPERAND, *DIFFERENT_OPERANDS)
        or one == "assign_grad: value None"
        or (kind(one) in ("apply", "write") and "operands" not in one and _lacks(one, "operands"))
    )


def _lacks(one: str, part: str) -> bool:
    """Whether no op of the class that a fact says has a fact with this part in its name."""
    word, its = kind(one), option(one)
    return bool(its) and not any(
        its in facts and any(part in fact or fact == "module" for fact in facts) for facts in _classes(word == "write")
    )


def _is_deleted(one: str, other: str) -> bool:
    return one == "deleted" and (
        other in PLACES[:2] or kind(other) not in (None, "backward", "grad") or other == "backward: no inputs"
    )


def _needs_leaves(one: str, other: str) -> bool:
    return kind(one) in LEAVES_ONLY and other in COMPUTED


def _other_value_of_one_option(one: str, other: str) -> bool:
    if kind(one) is None or kind(one) != kind(other):
        return False
    first, second = option(one), option(other)
    if second == f"no {first}":
        return True
    counts = [each.split()[-1] for each in (first, second) if each.startswith(NUMBERS) and not each.endswith("twice")]
    if len(counts) == len({*counts}) + 1:
        return True
    for prefix, values in (("effect ", EFFECTS), ("kind ", CLIPS), ("", DTYPES), ("optimizer ", tuple(OPTIMIZERS))):
        if {first, second} <= {f"{prefix}{value}" for value in values} and first != second:
            return True
    return {first, second} <= {*IMPLEMENTATION, "no foreach"}


def _follows_the_list(one: str, other: str) -> bool:
    """Whether the second fact follows from the value that the first one excludes: `inputs` says that there is one."""
    if kind(one) is None or kind(one) != kind(other):
        return False
    first, second = option(one), option(other)
    single = ("inputs", "one of inputs twice", "two inputs", "three or more inputs")
    return (first in single and second == "no inputs") or (first == "inputs" and second in single[1:])


def _setting_of_another(one: str, other: str) -> bool:
    if kind(one) not in LEAVES_ONLY or kind(one) != kind(other):
        return False
    having = [name for name in OPTIMIZERS if _has(name, option(one)) and _has(name, option(other))]
    return not having


def _has(name: str, text: str) -> bool:
    """Whether an optimizer may have a setting; True for facts that are about no setting."""
    row = OPTIMIZERS[name]
    if text.startswith("optimizer "):
        return text == f"optimizer {name}"
    implementations = {setting for variant in row.variants for setting, _ in variant}
    settings = {setting for each in OPTIMIZERS.values() for setting, _ in each.defaults}
    if text.removeprefix("no ") in IMPLEMENTATION:
        on = not text.startswith("no ")
        return any((text.removeprefix("no "), on) in variant for variant in row.variants) or not implementations
    return text not in settings or text in dict(row.defaults)


def _class_of_no_op(one: str, other: str) -> bool:
    word = kind(one)
    if word not in ("apply", "write") or kind(other) != word:
        return False
    wanted = {option(one), option(other)}
    return "" not in wanted and not any(wanted <= facts for facts in _classes(word == "write"))


@lru_cache(maxsize=2)
def _classes(writes: bool) -> Collection[frozenset[str]]:
    """Returns the sets of facts that an op, or a write, may have in its class and its number of operands."""
    names = VOCABULARY.writes if writes else VOCABULARY.ops
    found = set[frozenset[str]]()
    for name in names:
        facts = class_of(name)
        count = next((at for at, word in enumerate(NUMBERS) if f"{word} operands" in facts), 1)
        least, most = (max(count - 1, 0), count) if writes else (count, count)
        if name in MODULES or ROWS[name].sequence:
            least, most = 1, 3
        for args in range(least, most + 1):
            listed = (f"{NUMBERS[args]} args",) if args != 1 else ()
            found.add(frozenset((*facts, *listed)))
            if args > 1:
                found.add(frozenset((*facts, *listed, "one of args twice")))
    return found


def _origins(one: str, other: str) -> bool:
    return (one != other and one in ORIGINS and other in ORIGINS) or (one in GRADIENTS and other in LEAVES)


def _of_ops(one: str, other: str) -> bool:
    return one in MADE_BY_OPS and other in LEAVES


def _shape_of_leaf(one: str, other: str) -> bool:
    return one in SHAPES[:2] and other in (*COMPUTED, "detached")


def _two_shapes(one: str, other: str) -> bool:
    return one != other and one in SHAPES and other in SHAPES


def _successive(one: str, other: str) -> bool:
    return (one, other) in SUCCESSIVE


def _steps_take_leaves(one: str, other: str) -> bool:
    return one in ("stepped", "stepped again") and other in COMPUTED


def _nesterov(one: str, other: str) -> bool:
    return option(one) == "dampening" and option(other) == "nesterov"


def _only_observes(one: str, other: str) -> bool:
    return one == "hook: accumulated" and option(other).startswith("effect ")


def _two_modes(one: str, other: str) -> bool:
    return (one, other) == ("under enable_grad", "under no_grad")


def _two_places(one: str, other: str) -> bool:
    return one != other and one in PLACES and other in PLACES


def _walks_what_requires_grad(one: str, other: str) -> bool:
    return one == "place: walked" and other == "requires no grad"


REASONS = (
    Reason("An instruction is of one kind.", _of_two_kinds),
    Reason("The instruction touches no value.", _touches_nothing),
    Reason("The instruction walks no graph: only backward calls do.", _walks_nothing),
    Reason("The instruction has one operand, or may not list a value twice.", _lists_once),
    Reason("No instruction may name a deleted value; only the graph still has it.", _is_deleted),
    Reason("The operands of the instruction are leaves.", _needs_leaves),
    Reason("An option has one value at a time.", _other_value_of_one_option),
    Reason("`inputs` says that there is exactly one input.", _follows_the_list),
    Reason("No optimizer has both settings.", _setting_of_another),
    Reason("No op of the tables is of both classes.", _class_of_no_op),
    Reason("One instruction makes a value.", _origins),
    Reason("Only ops make such values.", _of_ops),
    Reason("The facts say a shape of leaves only.", _shape_of_leaf),
    Reason("A value has one shape.", _two_shapes),
    Reason("The one ends the other.", _successive),
    Reason("A step changes leaves.", _steps_take_leaves),
    Reason("Nesterov's momentum is not dampened: PyTorch refuses both settings.", _nesterov),
    Reason("A hook that is called after accumulation only observes.", _only_observes),
    Reason("The innermost mode counts.", _two_modes),
    Reason("A value has one place in an instruction.", _two_places),
    Reason("A backward call walks only values that require grad.", _walks_what_requires_grad),
)


def reason(one: str, other: str) -> Reason | None:
    """Returns the first reason why two facts cannot meet; None if there is none."""
    return next((each for each in REASONS if each.excludes(one, other) or each.excludes(other, one)), None)
