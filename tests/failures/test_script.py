"""The script of a failure runs unchanged and shows what is wrong: values, gradients, hooks, errors inside grad
modes.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from autograd_conformance.failures.case import Case
from autograd_conformance.failures.listing import print_line
from autograd_conformance.failures.script import script
from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.loading.registry import load
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs import slugs
from autograd_conformance.programs.formats.text import names, parse
from autograd_conformance.programs.language import Attrs, Ref
from autograd_conformance.programs.observations import Kind, Raised
from autograd_conformance.rules.violations.behaviour import Expected, Observed
from autograd_conformance.rules.violations.expected import ExpectedError, ExpectedReturn, OldGradient
from autograd_conformance.rules.violations.observed import MovedMemory, OtherValue, RaisedError, ValueMemory
from autograd_conformance.rules.violations.shared import (
    Flag,
    GradientForm,
    HookCalled,
    OwnMemory,
    ResultDtype,
    ResultShape,
    SharedMemory,
)
from autograd_conformance.rules.violations.violation import Allowed, Violation
from evaluation.mutants.derivatives import AbsAtZero
from evaluation.mutants.printed import violation_of

TORCH = Torch()
RETURNS = ExpectedReturn()
OTHER = OtherValue()
RULE = slugs.GRADIENTS_FORWARD
A = "a = leaf [1, 2]; b = square a; s = sum b dim=(0,) keepdim=False"
H = "a = leaf 3; b = multiply a a; c = negative b"


def shown(
    text: str, subject: str | None = None, due: Expected = RETURNS, observed: Observed = OTHER, **about: Any
) -> list[str]:
    """The output of the script of a violation at the last instruction."""
    program = parse(text)
    by_name = {name: ref for ref, name in names(program).items()}
    about = {k: by_name[v] if isinstance(v, str) else np.array(v) for k, v in about.items()}
    ref: Ref | None = None if subject is None else by_name[subject]
    violation = Violation(RULE, len(program) - 1, observed, (Allowed(due, RULE),), ref, **about)
    code = script(Case(program, run(program, TORCH), violation, InProcess(TORCH)))
    printed = io.StringIO()
    with redirect_stdout(printed), warnings.catch_warnings(action="ignore"):
        exec(code, {})
    return printed.getvalue().splitlines()


def test_memory_is_printed_where_it_is_wrong():
    own = OwnMemory()
    lines = shown("a = leaf [1, 2]; b = negative a", "b", own, SharedMemory())
    assert lines[1] == "it shares the memory of a: False"
    lines = shown("a = leaf [1, 2]; b = reshape a shape=(2,1)", "b", own, SharedMemory())
    assert lines[-2] == "it shares the memory of a: True"
    text = "a = leaf [1, 2]; b = square a; backward b with [1, 2]; g = grad a wrt a with [1, 2]"
    lines = shown(text, "c", own, ValueMemory("a", of_gradient=True))
    assert lines[1] == "it shares the memory of a.grad: False"


def test_a_value_that_a_module_moved():
    text = "a = leaf [[1, 2]]; b = detach a; c = leaf [[3, 4]] const; d = nn_linear c a bias=False"
    value, memory, _ = shown(text, "a", SharedMemory(), MovedMemory("b"))
    assert value.startswith("a is  ")
    assert memory == "it shares the memory of b: True"


def test_a_value_after_a_write():
    lines = shown(f"{A}; no_grad: write a mul_ b", "a", got=[1.0, 8.0], want=[1.0, 9.0])
    assert lines == [
        "a is       tensor([1., 8.], dtype=torch.float64, requires_grad=True)",
        "it has to be  [1.0, 9.0]",
    ]


def test_all_digits_are_printed_where_only_the_last_are_wrong():
    lines = shown(f"{A}; no_grad: write a mul_scalar_ scalar=3", "a", got=[3.0, 6.0], want=[3.0, 6.0000001])
    assert lines == ["a is       [3.0, 6.0]", "it has to be  [3.0, 6.0000001]"]


def test_an_expected_value_that_is_no_number():
    lines = shown(A, "b", got=[1.0, 2.0], want=[float("nan"), float("-inf")])
    assert lines[-1] == "it has to be  [nan, -inf]"


def test_a_gradient_after_a_step():
    lines = shown(f"{A}; backward s; step a sgd lr=0.5", "a", got=[2.0, 4.0], want=[0.0, 0.0])
    assert lines == ["a.grad is       tensor([2., 4.], dtype=torch.float64)", "it has to be  [0.0, 0.0]"]


def test_a_result_of_the_functional_form():
    lines = shown(f"{A}; g, h = grad s wrt a, b", "e", got=[1.0, 1.0], want=[2.0, 2.0])
    assert lines == ["e is       tensor([1., 1.], dtype=torch.float64)", "it has to be  [2.0, 2.0]"]


def test_hooks_print_what_they_see():
    lines = shown(f"{A}; k = hook b observe; l = hook a observe accumulated; backward s", "a", grad_before=[1.0, 1.0])
    assert lines[:2] == [
        "hook on b: tensor([1., 1.], dtype=torch.float64)",
        "a now holds: tensor([2., 4.], dtype=torch.float64)",
    ]


def test_a_hook_that_was_called_wrongly():
    lines = shown(f"{A}; k = hook b observe; backward s", "d", HookCalled())
    assert lines == ["hook on b: tensor([1., 1.], dtype=torch.float64)", "allowed:       the hook is called"]


def test_what_raises_before_is_caught_and_what_needs_it_is_left_out():
    text = f"no_grad: a = leaf [1, 2]; enable_grad: write a zero_; {A.replace('a = leaf [1, 2]; ', '')}"
    assert shown(f"{text}; g = grad s wrt a unused=False materialize=True; h = exp g; backward s", "a") == [
        "a.grad is       tensor([2., 4.], dtype=torch.float64)",
        "allowed:       returns",
    ]


def test_what_a_hook_raises_is_caught():
    lines = shown(f"{A}; k = hook b raise; backward s", None, ExpectedError(Kind.HOOK_RAISED))
    assert lines == ["raised: division by zero"]


@pytest.mark.parametrize("last", ["no_grad: enable_grad: backward s", "g = grad s wrt a"])
def test_what_returns_though_it_must_raise(last: str):
    assert shown(f"{A}; {last}", None, ExpectedError(Kind.GRAPH_FREED)) == ["returned, but it must raise: graph freed"]


def test_gradients_that_share_memory():
    text = "a = leaf 1; b = leaf 2; c = stack a b dim=0; s = sum c dim=(0,) keepdim=False; backward s"
    assert shown(text, "b", partner="a") == [
        "b.grad was     tensor(1., dtype=torch.float64)",
        "b.grad is now  tensor(2., dtype=torch.float64) (it must not have changed)",
    ]
    lines = shown(f"{A}; retain b; backward s", "a", partner="b")
    assert [line.split(" is ")[0] for line in lines] == ["a.grad", "b.grad"]


def test_a_call_that_fails_and_leaves_something_wrong():
    text = f"{A}; backward s; no_grad: backward s"
    assert shown(text, "a", OldGradient(False), grad_before=[2.0, 4.0])[0].startswith("a.grad is       tensor([2., 4.]")


def test_steps_of_one_optimizer():
    lines = shown(f"{A}; backward s; step a adam lr=0.5; step a adam lr=0.5", "a", got=[0.0, 1.0], want=[0.5, 1.0])
    assert lines[0].startswith("a is       tensor([")


# -- scripts of frameworks whose fault is source code
# --------------------------------------------------------------------


class Unnoticed(Torch):
    """Does not notice that a product's saved operand was written to."""

    def __init__(self) -> None:
        super().__init__()
        self.dialect = replace(self.dialect, writes={**self.dialect.writes, "mul_scalar_": "{0}.data.mul_({scalar})"})

    def write(self, op: str, target: torch.Tensor, operands: Sequence[torch.Tensor], attrs: Attrs) -> None:
        if op == "mul_scalar_":
            target.data.mul_(dict(attrs)["scalar"])
        else:
            super().write(op, target, operands, attrs)


class Modeless(Torch):
    """Records under no_grad, and does not report requires_grad."""

    def __init__(self) -> None:
        super().__init__()
        prelude = f"{self.dialect.prelude}\nfrom contextlib import nullcontext"
        self.dialect = replace(self.dialect, prelude=prelude, modes={"no_grad": "nullcontext()"})

    def mode(self, name: str) -> Any:
        return nullcontext()

    def requires_grad(self, value: torch.Tensor) -> Any:
        return None


class Deaf(Torch):
    """Calls hooks and ignores their results."""

    def __init__(self) -> None:
        super().__init__()
        self.dialect = replace(
            self.dialect, hook="{target}.register_hook(lambda g, hook={function}: (hook(g), None)[1])"
        )

    def hook(self, value: torch.Tensor, function: Any) -> Any:
        return value.register_hook(lambda g: (function(g), None)[1])


class Silent(Torch):
    """Does not call hooks."""

    def __init__(self) -> None:
        super().__init__()
        self.dialect = replace(self.dialect, hook="{target}.clone().register_hook({function})")

    def hook(self, value: torch.Tensor, function: Any) -> Any:
        return value.clone().register_hook(function)


class Doubling(Torch):
    """Returns twice the gradients of the functional form."""

    def __init__(self) -> None:
        super().__init__()
        doubled = "[2 * g for g in torch.autograd.grad({roots}, {inputs}{arguments})]"
        self.dialect = replace(self.dialect, grad=doubled)

    def grad(self, *call: Any) -> Sequence[torch.Tensor | None]:
        return [None if g is None else 2 * g for g in super().grad(*call)]


class Attached(Torch):
    """Does not detach in place, and does not report requires_grad."""

    def __init__(self) -> None:
        super().__init__()
        self.dialect = replace(self.dialect, detach_in_place="pass  # {target}.detach_()")

    def detach_in_place(self, value: torch.Tensor) -> None:
        pass

    def requires_grad(self, value: torch.Tensor) -> Any:
        return None


class Forgetful(Torch):
    """Steps twice as far."""

    def __init__(self) -> None:
        super().__init__()
        self.dialect = replace(
            self.dialect, step="[torch.optim.{optimizer}([{leaves}]{settings}).step() for _ in '12']"
        )

    def step(self, leaves: Sequence[torch.Tensor], optimizer: str, settings: Attrs) -> None:
        super().step(leaves, optimizer, settings)
        super().step(leaves, optimizer, settings)


SCRIPTS = [
    (
        "a = leaf [1, 2]; b = square a; no_grad: write a mul_scalar_ scalar=3.0; backward b with [1, 1]",
        Unnoticed(),
        ["a.grad is       tensor([ 6., 12.], dtype=torch.float64)", "it has to be  [2.0, 4.0]"],
    ),
    (
        "a = leaf [1, 2]; no_grad: b = square a; c = multiply a b; backward c with [1, 2]",
        Modeless(),
        ["a.grad is       tensor([ 3., 24.], dtype=torch.float64)", "it has to be  [1.0, 8.0]"],
    ),
    (
        f"{H}; k = hook b scale 2.0; backward c",
        Deaf(),
        [
            "hook on b: tensor(-1., dtype=torch.float64)",
            "a.grad is       tensor(-6., dtype=torch.float64)",
            "it has to be  -12.0",
        ],
    ),
    (
        "a = leaf 3; b = square a; k = hook b observe; backward b",
        Silent(),
        [
            "calls of hooks on line 4:",
            "end of the calls; observed of b: the hook was not called",
            "allowed:       the hook is called",
        ],
    ),
    (
        "a = leaf 3; b = square a; g = grad b wrt a",
        Doubling(),
        ["c is       tensor(12., dtype=torch.float64)", "it has to be  6.0"],
    ),
    (
        "a = leaf [1, 2]; b = square a; detach_ b; c = multiply a b; backward c with [1, 2]",
        Attached(),
        ["a.grad is       tensor([ 3., 24.], dtype=torch.float64)", "it has to be  [1.0, 8.0]"],
    ),
    (
        "a = leaf 3; b = square a; backward b; step a sgd lr=0.5",
        Forgetful(),
        ["a is       tensor(-3., dtype=torch.float64, requires_grad=True)", "it has to be  0.0"],
    ),
]


PASTED = [
    "a = leaf [1, 2]; no_grad: b = square a; no_grad: write a mul_ b; enable_grad: c = exp a; backward c with [3, 4]",
    f"{A}; backward s; zero a to zeros; backward s; backward s; g = held a",
    f"{A}; k = hook b raise; backward s; unhook k; l = hook a observe accumulated; no_grad: d = exp a"
    "; no_grad: drop d; l = hook a scale 2.0; backward s",
    f"{A}; optimizer a adam lr=0.5; backward s; step a adam lr=0.5; zero a; no_grad: step a adam lr=0.5"
    "; clip_grad a norm 1.0",
    "a = leaf [1, 2]; enable_grad: write a zero_; b = square a; g = grad b wrt a unused=False materialize=True"
    "; h = exp g; no_grad: backward b with [1, 1]",
]


def test_what_is_printed_runs_where_it_is_pasted():
    """In an interpreter that reads line by line, as in a file: modes, hooks, optimizers, expected errors."""
    codes = []
    for program in (parse(text, VOCABULARY) for text in PASTED):
        last, seen = len(program) - 1, run(program, TORCH)
        for due, subject in ((RETURNS, Ref(0)), (ExpectedError(Kind.GRAPH_FREED), None)):
            got = None if subject is None else np.array([1.0, 2.0])
            violation = Violation(RULE, last, OtherValue(), (Allowed(due, RULE),), subject, got=got)
            codes.append(script(Case(program, seen, violation, InProcess(TORCH))))
    words = [sys.executable, "-iqW", "ignore"]
    pasted = subprocess.run(words, input="\n".join(codes), capture_output=True, text=True, check=True)
    assert not re.search("Error|Traceback", pasted.stderr), pasted.stderr
    with redirect_stdout(io.StringIO()) as out, warnings.catch_warnings(action="ignore"):
        for code in codes:
            exec(code, {})
    wanted = out.getvalue().splitlines()
    assert wanted and [line for line in pasted.stdout.splitlines() if line in wanted] == wanted


def test_lines_bear_their_numbers():
    program = parse(f"{A}; no_grad: write a mul_ a; backward s", VOCABULARY)
    violation = Violation(RULE, 4, OtherValue(), (Allowed(RETURNS, RULE),))
    lines = script(Case(program, run(program, TORCH), violation, InProcess(TORCH))).splitlines()
    assert [line.partition("  # ")[2] for line in lines if "  # " in line] == ["1", "2", "3", "4", "5 <--"]
    assert lines[lines.index("") + 1].startswith("a = torch.tensor(") and lines[-1].startswith("c.backward()" + " " * 9)


@pytest.mark.parametrize(("text", "framework", "printed"), SCRIPTS)
def test_a_lie_about_state_is_shown(text: str, framework: Torch, printed: list[str]):
    code = script_of(text, framework)
    with redirect_stdout(io.StringIO()) as out, warnings.catch_warnings(action="ignore"):
        exec(code, {})
    assert out.getvalue().splitlines() == printed


def test_a_wrong_shape_is_printed_as_a_shape():
    lines = shown(A, "c", ResultShape((1,)), ResultShape(()))
    assert lines == ["c.shape is       torch.Size([])", "allowed:       shape (1,)"]
    wrong, due = GradientForm((2,), "float64"), GradientForm((1,), "float64")
    lines = shown(f"{A}; backward s", "a", due, wrong)
    assert lines[0] == "a.grad.shape is       torch.Size([2])"
    lines = shown(f"{A}; backward s", "a", GradientForm((2,), "float32"), wrong)
    assert lines[0] == "a.grad.dtype is       torch.float64", "only the dtype is wrong"
    lines = shown(A, "c", ResultDtype("float32"), ResultDtype("float64"))
    assert lines == ["c.dtype is       torch.float64", "allowed:       float32"]


def test_a_wrong_flag_is_printed_as_a_flag():
    lines = shown("a = leaf [1, 2]; no_grad: b = square a", "b", Flag(True), Flag(False))
    assert lines == ["b.requires_grad is       False", "allowed:       the result requires grad"]


def test_before_a_call_that_raises_it_is_printed_that_it_must_return():
    program = parse(f"{A}; backward s; backward s")
    observation = run(program, TORCH)
    outcome = observation[-1].outcome
    assert isinstance(outcome, Raised)
    observed = RaisedError(outcome.kind, outcome.type, outcome.message)
    allowed = (Allowed(RETURNS, RULE), Allowed(ExpectedError(Kind.NON_SCALAR_ROOT), RULE))
    code = script(Case(program, observation, Violation(RULE, len(program) - 1, observed, allowed), InProcess(TORCH)))
    printed = io.StringIO()
    with redirect_stdout(printed), pytest.raises(RuntimeError, match="second time"):
        exec(code, {})
    assert printed.getvalue() == "allowed on line 5: returns or raises: non-scalar root\n"


def test_a_template_with_quotation_marks_is_printed_as_code():
    assert print_line('getattr(a, "grad") is', "1") == "print('getattr(a, \"grad\") is', 1)"
    assert print_line("a is", "a") == 'print("a is", a)'


def script_of(text: str, adapter: Adapter) -> str:
    """The script of the first violation of a program."""
    return script(Case(*violation_of(text, adapter), InProcess(adapter)))


def test_the_other_run_is_printed_too():
    code = script_of(
        "a = leaf 1; b = leaf 1; c = fmax a b; d, e = grad c wrt a, b with 2 materialize=True", load("torch-jvp")
    )
    with redirect_stdout(io.StringIO()) as out, warnings.catch_warnings(action="ignore"):
        exec(code, {})
    assert out.getvalue().splitlines() == [
        "d is       tensor(0., dtype=torch.float64)",
        "allowed:       the element is 2, as with torch.func.vjp",
        "d is       tensor(2., dtype=torch.float64)",
    ]


def test_the_other_run_has_the_other_dtype():
    code = script_of("a = leaf f32 0; b = abs a; backward b with f32 1", AbsAtZero())
    one, other = code.split("# The same in float64:\n")
    assert "torch.float32" in one and "torch.float64" in other and "torch.float32" not in other
    with redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    assert len(out.getvalue().splitlines()) == 3
