"""Judging what a framework does not specify: sharing that it does not document, retained graphs, and flags that lose a
gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from torch import Tensor

from autograd_conformance.checking.audit import tails
from autograd_conformance.checking.category import category_of
from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.blame.ownership import module_of
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Attrs, Grad
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.strategies.building.alphabet import EVERYTHING, Alphabet

MEMORY = frozenset({Capability.VIEWS, Capability.MEMORY, Capability.IDENTITY, Capability.LAYOUT})


class Shares(Torch):
    """PyTorch that says nothing about memory."""

    name = "shares"
    capabilities = frozenset(Torch.capabilities) - MEMORY


class Copies(Shares):
    """A framework whose detached values are copies."""

    name = "copies"

    def detach(self, value: Tensor) -> Tensor:
        return super().detach(value).clone()


class Documented(Copies):
    """A framework that claims views and shows which object a gradient is, and copies all the same."""

    name = "documented"
    capabilities = frozenset(Torch.capabilities) - MEMORY | {Capability.VIEWS, Capability.IDENTITY}


class Ends(Torch):
    """A framework whose calls end graphs unless they retain them."""

    name = "ends"
    traits = Traits(ends=True)


class Loses(Torch):
    """A framework that records no sort and no floor."""

    name = "loses"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Any:
        made = super().apply(op, operands, attrs)
        return tuple(x.detach() for x in made) if op in ("sort", "floor") else made


class DoublesSecond(Shares):
    """A framework whose second derivatives are wrong, and which says nothing about memory."""

    name = "doubles-second"

    def grad(self, *given: Any) -> Any:
        made, creates_graph = super().grad(*given), given[4]
        return made if creates_graph else [None if x is None else 2 * x for x in made]


class CopiesReshaped(Shares):
    """A framework whose reshaped values are copies, and which says nothing about memory."""

    name = "copies-reshaped"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Any:
        made = super().apply(op, operands, attrs)
        return made.clone() if op == "reshape" else made


def judged(adapter: type[Torch], text: str) -> Violation | None:
    target, program = InProcess(adapter()), parse(text, VOCABULARY)
    return first_violation(program, target.observe(program), target)


ASSIGNED = "a = leaf [1.5, 2]; b = detach a; assign a b; backward a with [3, 4]; c = multiply a a"
WRITTEN = "a = leaf [1.5, 2] const; b = detach a; write b mul_scalar_ scalar=2.0; c = multiply a a"


@pytest.mark.parametrize("text", [ASSIGNED, WRITTEN])
def test_sharing_is_judged_where_it_is_documented(text: str) -> None:
    assert [judged(adapter, text) for adapter in (Shares, Copies)] == [None, None]
    violation = judged(Documented, text)
    assert violation is not None and violation.rule in ("gradients/forward", "writes/aliases")


RESHAPED = "a = leaf [0.5, 2]; b = reshape a shape=(2,1); "


def test_a_value_that_may_be_a_view_is_judged_until_it_is_written_to() -> None:
    derived = "d = sum c dim=(0,1) keepdim=False; e = grad d wrt a create=True; "
    text = f"{RESHAPED}c = exp b; {derived}f = sum e dim=(0,) keepdim=False; g = grad f wrt a"
    assert judged(Shares, text) is None
    violation = judged(DoublesSecond, text)
    assert violation is not None and violation.rule.startswith("higher/")


@pytest.mark.parametrize(
    "text",
    [
        "no_grad: write a mul_scalar_ scalar=2.0; c = square b; backward c with [[1], [3]]",
        "c = square b; no_grad: write a mul_scalar_ scalar=2.0; backward c with [[1], [3]]; d = sin b",
        "c = square b; backward c with [[1], [3]] retain=True; step a sgd lr=0.1; backward c with [[1], [2]]",
        "c = square b; no_grad: write b mul_scalar_ scalar=2.0; d = sin a; backward c with [[1], [3]]",
        "c = square b; requires a False; d = sin b; backward d with [[1], [2]]; backward c with [[1], [3]]",
        "d = sin b; assign b d; detach_ b; c = square b; e = square a; backward e with [1, 2]",
    ],
)
def test_a_write_to_what_may_be_a_view_is_right_either_way(text: str) -> None:
    assert [judged(adapter, RESHAPED + text) for adapter in (Shares, CopiesReshaped)] == [None, None]


def test_a_call_that_retains_the_graph_does_not_end_it() -> None:
    text = "a = leaf [1, 2]; b = square a; backward b with [1, 2] retain=True; backward b with [3, 4]"
    assert judged(Ends, text) is None


@pytest.mark.parametrize(("op", "severity"), [("b = sort a dim=0 descending=False", "value"), ("b = floor a", "form")])
def test_a_flag_that_loses_a_gradient_is_a_wrong_number(op: str, severity: str) -> None:
    violation = judged(Loses, f"a = leaf [3.5, 1.25]; {op}")
    assert violation is not None and violation.rule == "gradients/requires-grad"
    assert category_of(violation).severity == severity


def test_a_method_of_a_compiled_class_belongs_to_the_module_of_the_class() -> None:
    method = Tensor.__dict__.get("add") or next(c.__dict__["add"] for c in Tensor.__mro__ if "add" in c.__dict__)
    assert module_of(method) == method.__objclass__.__module__ == "torch._C"


@pytest.mark.parametrize("claims", [{Capability.IMPERATIVE}, {Capability.IMPERATIVE, Capability.FUNCTIONAL}])
def test_tails_of_a_framework_without_second_derivatives_have_one_call(claims: set[Capability]) -> None:
    alphabet = Alphabet(EVERYTHING.ops, capabilities=frozenset(claims))
    programs = list(tails.programs("tanh", ("float64",), alphabet))
    assert len(programs) == 1 and not any(isinstance(step, Grad) for step in programs[0])
