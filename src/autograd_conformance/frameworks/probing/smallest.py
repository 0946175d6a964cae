"""The smallest program of each capability: it shows whether a framework has the capability."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.observations import Observation

C = Capability


@dataclass(frozen=True)
class Smallest:
    """The smallest program that shows a capability."""

    text: str
    """The program, in the suite's notation."""
    shows: Callable[[Observation], bool] | None = None
    """Tests whether what happened shows the capability; None: that nothing is missing shows it, or only a refusal."""
    lacks: str = ""
    """The reason that is reported if the program runs, but does not show the capability."""
    refuses: bool = False
    """Whether the framework shows the capability by refusing a line of the program."""
    others: tuple[str, ...] = ()
    """Further programs that show the capability, for frameworks that lack something else that the first one needs."""
    on_numbers: bool = True
    """Whether the program shows the capability on single numbers, without cotangents, too."""

    @property
    def texts(self) -> Iterator[str]:
        """Yields the programs that show the capability: the smallest one, then others with other ops, and on single
        numbers, for frameworks without cotangents.
        """
        programs = (self.text, *self.others)
        for text in (*programs, *filter(None, map(_on_numbers, programs if self.on_numbers else ()))):
            places = [(old, new) for old, new in INSTEAD if old in text]
            for chosen in product((False, True), repeat=len(places)):
                made = text
                for (old, new), instead in zip(places, chosen, strict=True):
                    made = made.replace(old, new) if instead else made
                yield made


INSTEAD = (
    ("multiply a a", "square a"), ("multiply c c", "square c"), ("multiply a b", "add a b"), ("sum ", "mean "),
    ("negative a", "sin a"), ("negative b", "sin b"), ("mul_scalar_ scalar=2", "neg_"),
    ("reshape a shape=(2, 1)", "expand_dims a dim=1"),
)  # fmt: skip
"""Parts of the programs, each with a replacement that shows the same."""


ONES = re.compile(r" with \[1, 1\](, \[1, 1\])*")
"""The cotangents of the programs."""


def _on_numbers(text: str) -> str | None:
    """Returns a program on single numbers in place of vectors, without its cotangents; None for a program without any,
    or with an op of vectors.
    """
    if "sum " in text or not ONES.search(text):
        return None
    return ONES.sub("", text).replace("[1, 2]", "2").replace("[3, 4]", "4")


CALLED = "a = leaf [1, 2]; b = multiply a a; backward b with [1, 1]"
SUMMED = "a = leaf [1, 2]; b = multiply a a; c = sum b dim=(0,) keepdim=False; backward c"
STEPPED = f"{CALLED}; step a sgd lr=0.125"
TWICE = f"{CALLED}; c = multiply a a; backward c with [1, 1]"


def _same_grad_object(seen: Observation) -> bool:
    first, second = (list(seen[at].gradients.values()) for at in (2, 4))
    pairs = [(one, two) for one, two in zip(first, second, strict=True) if one is not None and two is not None]
    return bool(pairs) and all(one.identity is not None and one.identity == two.identity for one, two in pairs)


def _not_added(seen: Observation) -> bool:
    """Whether the second call left the gradient as it was, and the third one did not: the graph is gone without a word,
    and calls replace no gradient.
    """
    held = [next(iter(seen[at].gradients.values()), None) for at in (2, 3, 5)]
    first, second, third = (None if each is None else each.value.tolist() for each in held)
    return first is not None and first == second != third


def _different_objects(seen: Observation) -> bool:
    held = [gradient for gradient in seen[-1].gradients.values() if gradient is not None]
    return len(held) == 2 and None not in (held[0].identity, held[1].identity) and held[0].identity != held[1].identity


def _dtype(name: str) -> Callable[[Observation], bool]:
    return lambda seen: seen[-1].outcome.values[0].dtype == name  # type: ignore[union-attr]


def _written_through(seen: Observation) -> bool:
    base = next(iter(seen[-1].values.values()), None)
    return base is not None and bool(base.value[0] != 1.0)


def _shares(seen: Observation) -> bool:
    base, view, copy = (seen[at].outcome.values[0].memory for at in range(3))  # type: ignore[union-attr]
    return base is not None and base == view != copy


def _flags(seen: Observation) -> bool:
    return [seen[at].outcome.values[0].requires_grad for at in range(3)] == [True, False, True]  # type: ignore[union-attr]


def _strides(seen: Observation) -> bool:
    return seen[0].outcome.values[0].strides == (2, 1)  # type: ignore[union-attr]


def _differentiable(seen: Observation) -> bool:
    held = next(iter(seen[2].gradients.values()), None)
    return held is not None and held.requires_grad is not False


SMALLEST: Mapping[Capability, Smallest] = {
    C.IMPERATIVE: Smallest(SUMMED, others=(CALLED, "a = leaf 2; b = multiply a a; backward b")),
    C.COTANGENTS: Smallest(CALLED, on_numbers=False),
    C.ACCUMULATES: Smallest(TWICE),
    C.RETAIN: Smallest("a = leaf [1, 2]; b = multiply a a; backward b with [1, 1] retain=True"),
    C.FREES: Smallest(
        f"{CALLED}; backward b with [1, 1]; c = multiply a a; backward c with [1, 1]",
        _not_added,
        refuses=True,
        lacks="a second call of a graph adds gradients, or replaces them",
    ),
    C.NON_SCALAR_CHECK: Smallest(
        "a = leaf [1, 2]; b = multiply a a; backward b", refuses=True, lacks="a root of two elements needs no cotangent"
    ),
    C.COTANGENT_CHECK: Smallest(
        "a = leaf [1, 2]; b = multiply a a; backward b with [1, 1, 1]",
        refuses=True,
        lacks="a cotangent of another shape is accepted",
    ),
    C.NO_GRAD_CHECK: Smallest(
        "a = leaf [1, 2] const; b = multiply a a; backward b with [1, 1]",
        refuses=True,
        lacks="a root that requires no grad is accepted",
    ),
    C.DETACH: Smallest("a = leaf [1, 2]; b = detach a"),
    C.ZERO_TO_NONE: Smallest(f"{CALLED}; zero a"),
    C.ZERO_TO_ZEROS: Smallest(f"{CALLED}; zero a to zeros"),
    C.CONSTANTS: Smallest("a = leaf [1, 2] const"),
    C.REQUIRES_GRAD: Smallest(
        "a = leaf [1, 2]; b = leaf [1, 2] const; c = multiply a a",
        _flags,
        lacks="requires_grad is not True for a leaf and a result, and False for a constant",
    ),
    C.IDENTITY: Smallest(
        "a = leaf [1, 2]; b = leaf [3, 4]; c = multiply a b; backward c with [1, 1]",
        _different_objects,
        lacks="the gradients of two leaves cannot be distinguished",
    ),
    C.PROMOTES: Smallest(
        "a = leaf [1, 2]; b = leaf f32 [1, 2]; c = multiply a b",
        _dtype("float64"),
        lacks="the product of float64 and float32 is not float64",
    ),
    C.MULTIPLE_ROOTS: Smallest("a = leaf [1, 2]; b = multiply a a; c = negative a; backward b, c with [1, 1], [1, 1]"),
    C.CREATES_IN_LEAVES: Smallest(
        "a = leaf [1, 2]; b = multiply a a; backward b with [1, 1] create=True",
        _differentiable,
        lacks="the gradient that a call with create_graph leaves does not require grad",
    ),
    C.ASSIGNS: Smallest("a = leaf [1, 2]; b = leaf [3, 4] const; assign a b"),
    C.OPTIMIZERS: Smallest(STEPPED),
    C.MAKES_OPTIMIZERS: Smallest(
        "a = leaf [1, 2]; optimizer a sgd lr=0.125; b = multiply a a; backward b with [1, 1]; step a sgd lr=0.125"
    ),
    C.GROUPS: Smallest(
        "a = leaf [1, 2]; b = leaf [3, 4]; c = multiply a b; backward c with [1, 1]; "
        "step a, b sgd lr=0.125 groups=((1, ()), (1, (('lr', 0.25),)))"
    ),
    C.FOREACH: Smallest(f"{STEPPED} foreach=True"),
    C.FUSED: Smallest(f"{STEPPED} fused=True"),
    C.CLIPS: Smallest(f"{CALLED}; clip_grad a norm 1.0"),
    C.WRITES: Smallest("a = leaf [1, 2] const; write a mul_scalar_ scalar=2"),
    C.VIEWS: Smallest(
        "a = leaf [1, 2] const; b = reshape a shape=(2, 1); write b mul_scalar_ scalar=2",
        _written_through,
        lacks="a write to a reshaped value does not change the value",
    ),
    C.MEMORY: Smallest(
        "a = leaf [1, 2] const; b = reshape a shape=(2, 1); c = multiply a a",
        _shares,
        lacks="the memory of a view is not that of its base, or that of a result is",
    ),
    C.LAYOUT: Smallest("a = leaf [[1, 2], [3, 4]]", _strides, lacks="the strides of a 2 by 2 matrix are not (2, 1)"),
    C.ADDS_IN_PLACE: Smallest(TWICE, _same_grad_object, lacks="a second call leaves another gradient object"),
    C.DETACHES_IN_PLACE: Smallest("a = leaf [1, 2]; b = multiply a a; detach_ b"),
    C.WRITE_CHECKS: Smallest("a = leaf [1, 2]; b = multiply a a; write b mul_scalar_ scalar=2"),
    C.MODES: Smallest("a = leaf [1, 2]; no_grad: b = multiply a a; no_grad: enable_grad: c = multiply a a"),
    C.AUTOCAST: Smallest(
        "a = leaf f32 [[1, 2], [3, 4]]; autocast: b = matmul a a",
        _dtype("bfloat16"),
        lacks="a product in a block of autocast is not bfloat16",
    ),
    C.DEFAULT_DTYPE: Smallest("default_dtype float32; a = leaf [1, 2]"),
    C.SWITCHES: Smallest("a = leaf [1, 2]; requires a False"),
    C.FUNCTIONAL: Smallest("a = leaf [1, 2]; b = multiply a a; c = grad b wrt a with [1, 1]"),
    C.CREATE_GRAPH: Smallest(
        "a = leaf [1, 2]; b = multiply a a; c = grad b wrt a with [1, 1] create=True; "
        "d = sum c dim=(0,) keepdim=False; backward d",
        others=("a = leaf [1, 2]; b = multiply a a; c = grad b wrt a with [1, 1] create=True; backward c with [1, 1]",),
    ),
    C.UNUSED: Smallest("a = leaf [1, 2]; b = leaf 3; c = multiply a a; d, e = grad c wrt a, b with [1, 1] unused=True"),
    C.MATERIALIZES: Smallest(
        "a = leaf [1, 2]; b = leaf 3; c = multiply a a; d, e = grad c wrt a, b with [1, 1] materialize=True"
    ),
    C.ANY_INPUTS: Smallest("a = leaf [1, 2]; b = multiply a a; c = negative b; d = grad c wrt b with [1, 1]"),
    C.INPUTS: Smallest("a = leaf [1, 2]; b = multiply a a; backward b inputs a with [1, 1]"),
    C.RETAINS_GRAD: Smallest("a = leaf [1, 2]; b = multiply a a; retain b; c = negative b; backward c with [1, 1]"),
    C.HOOKS: Smallest("a = leaf [1, 2]; h = hook a observe; b = multiply a a; backward b with [1, 1]; unhook h"),
    C.ACCUMULATED_HOOKS: Smallest(
        "a = leaf [1, 2]; h = hook a observe accumulated; b = multiply a a; backward b with [1, 1]; unhook h"
    ),
}
"""The smallest program of each capability. `MODULES`, `RANDOM` and the two that adapters declare are not in it."""

NEEDS: Mapping[Capability, Capability] = {
    C.VIEWS: C.WRITES, C.WRITE_CHECKS: C.WRITES, C.DETACHES_IN_PLACE: C.DETACH,
    C.ACCUMULATES: C.IMPERATIVE, C.RETAIN: C.IMPERATIVE,
    C.COTANGENT_CHECK: C.COTANGENTS, C.FREES: C.IMPERATIVE, C.UNUSED: C.FUNCTIONAL,
    C.MATERIALIZES: C.FUNCTIONAL, C.ANY_INPUTS: C.FUNCTIONAL,
    C.MAKES_OPTIMIZERS: C.OPTIMIZERS, C.GROUPS: C.OPTIMIZERS, C.FOREACH: C.OPTIMIZERS, C.FUSED: C.OPTIMIZERS,
}  # fmt: skip
"""For a capability, another one that it needs."""
