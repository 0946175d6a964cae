"""A framework that has no more than a class of tensors with arrays and a backward call is tested without an adapter."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import NoReturn

import numpy as np
import pytest

from autograd_conformance.checking.check import first_violation
from autograd_conformance.failures.script import script
from autograd_conformance.frameworks.loading.registry import load
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.frameworks.torchlike.adapter import TorchLike
from autograd_conformance.frameworks.torchlike.refusals import first_is_a_flag, refusal
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.printing.dialect import code
from autograd_conformance.programs.capabilities import Capability as C
from autograd_conformance.programs.formats.text import parse
from tests.failures.cases import failing
from tests.frameworks.torchlike import plain as plain_module

PLAIN = "torch-like:tests.frameworks.torchlike.plain"

TEXTS = (
    "a = leaf [1, 2]; b = relu a; c = multiply b a; d = sum c dim=(0,) keepdim=False; backward d; backward d",
    "a = leaf [[1, 2], [3, 4]]; b = reshape a shape=(4,); c = exp b; d = sum c dim=(0,) keepdim=False; backward d",
    "a = leaf f32 [1, 2]; b = multiply a a; backward b",
    "a = leaf 2; b = multiply a a; backward b; zero a; c = exp a; backward c",
)


@pytest.fixture(scope="module")
def plain() -> TorchLike:
    adapter = load(PLAIN)
    assert isinstance(adapter, TorchLike)
    return adapter


def test_what_it_has_is_found(plain: TorchLike):
    assert plain.ops == {"multiply", "multiply_scalar", "exp", "relu", "reshape", "sum"}
    found = {C.IMPERATIVE, C.ACCUMULATES, C.ZERO_TO_NONE, C.NON_SCALAR_CHECK, C.CONSTANTS, C.REQUIRES_GRAD}
    absent = {C.COTANGENTS, C.COTANGENT_CHECK, C.ZERO_TO_ZEROS, C.DETACH, C.FUNCTIONAL, C.RETAIN, C.WRITES, C.MODES}
    absent |= {C.MULTIPLE_ROOTS, C.NO_GRAD_CHECK, C.ASSIGNS}
    assert found <= plain.capabilities
    assert not absent & plain.capabilities
    assert plain.code.templates["reshape"] == "{0}.reshape(*{shape})"


def test_the_reason_names_the_module_that_a_function_is_missing_in(plain: TorchLike):
    module = "tests.frameworks.torchlike.plain.nn.functional"
    assert plain.findings.ops["softplus"] == f"AttributeError: module {module!r} has no attribute 'softplus'"


def test_a_class_may_take_an_array_alone():
    adapter = load(f"{PLAIN}_values")
    assert adapter.ops == {"multiply", "multiply_scalar", "exp", "relu", "reshape", "sum"}
    assert {C.IMPERATIVE, C.ACCUMULATES, C.NON_SCALAR_CHECK} <= adapter.capabilities
    assert not {C.CONSTANTS, C.REQUIRES_GRAD, C.NO_GRAD_CHECK} & adapter.capabilities
    assert adapter.dialect is not None
    printed = code(parse("a = leaf [1, 2]", VOCABULARY), adapter.dialect)
    assert "requires_grad" not in printed[0]
    program, target = parse(TEXTS[0], VOCABULARY), InProcess(adapter)
    assert first_violation(program, target.observe(program), target) is None


@pytest.mark.parametrize("text", TEXTS)
def test_it_is_judged(plain: TorchLike, text: str):
    program, target = parse(text, VOCABULARY), InProcess(plain)
    assert first_violation(program, target.observe(program), target) is None


def backward_from_an_array(self: plain_module.Tensor, gradient: np.ndarray | None = None) -> None:
    if isinstance(gradient, plain_module.Tensor):
        raise ValueError("not an array")
    start = self if gradient is None else (self * plain_module.Tensor(gradient)).sum()
    USUAL_BACKWARD(start)


USUAL_BACKWARD = plain_module.Tensor.backward


def test_arrays_are_cotangents_where_tensors_are_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plain_module.Tensor, "backward", backward_from_an_array)
    found = TorchLike("tests.frameworks.torchlike.plain")
    assert found.takes_arrays and C.COTANGENTS in found.capabilities
    assert C.FREES not in found.capabilities
    program = parse("a = leaf [1, 2]; b = exp a; backward b with [3, 4]", VOCABULARY)
    target = InProcess(found)
    assert first_violation(program, target.observe(program), target) is None
    assert found.dialect is not None
    printed = code(program, found.dialect)
    assert printed[-1] == "b.backward(numpy.array([3.0, 4.0], dtype='float64'))"
    assert found.dialect.prelude.count("import numpy") == 1


def test_its_printed_code_reads_arrays(plain: TorchLike):
    assert plain.dialect is not None
    assert (plain.dialect.elements, plain.dialect.in_full) == ("{value}.data", "{value}.data.tolist()")
    printed = code(parse("a = leaf [1, 2]; b = reshape a shape=(2, 1)", VOCABULARY), plain.dialect)
    assert printed[0].startswith("a = torch.Tensor(numpy.array([1.0, 2.0], ")
    assert printed[1] == "b = a.reshape(*(2, 1))"


@pytest.mark.parametrize(("factor", "shown"), [(2.0, "[2.0, 2.0]"), (None, "None")])
def test_the_script_of_a_wrong_gradient_prints_an_array_or_none(
    factor: float | None, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def backward(self: plain_module.Tensor) -> None:
        USUAL_BACKWARD(self)
        leaf = self.operands[0]
        leaf.grad = None if factor is None else factor * leaf.grad

    adapter = TorchLike("tests.frameworks.torchlike.plain")
    monkeypatch.setattr(plain_module.Tensor, "backward", backward)
    text = script(failing(adapter, "a = leaf [1, 2]; b = sum a dim=(0,) keepdim=False; backward b"))
    exec(compile(text, "script", "exec"), {})
    assert f"a.grad is       {shown}" in capsys.readouterr().out


class Incomparable(np.ndarray):
    """An array that no other one may be compared with."""

    def tolist(self) -> object:
        return self

    def __eq__(self, other: object) -> NoReturn:  # type: ignore[override]
        raise ValueError("cannot broadcast (2,) to ()")


def test_elements_that_cannot_be_compared_are_no_right_ones(monkeypatch: pytest.MonkeyPatch):
    made = staticmethod(lambda data, requires_grad=False: SimpleNamespace(data=np.asarray(data).view(Incomparable)))
    monkeypatch.setattr(plain_module, "Tensor", made)
    with pytest.raises(ValueError, match=r"has no tensors as PyTorch has them .* it needs an adapter"):
        TorchLike("tests.frameworks.torchlike.plain")


def test_a_method_that_takes_a_list_of_roots_for_a_tensor_is_missing():
    for given, is_missing in (([plain_module.Tensor(np.array(1.0))], True), ([1.0], False), ([], False)):
        with pytest.raises(AttributeError) as caught:
            given.requires_grad  # type: ignore[attr-defined]  # noqa: B018
        assert (refusal(caught.value) is not None) == is_missing


class PowerOfNumbers(plain_module.Tensor):
    """A tensor whose power asserts the type of its operand, and something else."""

    def __pow__(self, power: object) -> NoReturn:
        assert isinstance(power, int | float)
        assert self.data is None
        raise ValueError


@pytest.mark.parametrize(("power", "is_missing"), [("a tensor", True), (2.0, False)])
def test_an_assertion_of_the_type_of_an_operand_is_a_refusal(power: object, is_missing: bool):
    with pytest.raises(AssertionError) as caught:
        PowerOfNumbers(np.array(1.0)) ** power
    assert (refusal(caught.value) is not None) == is_missing


@pytest.mark.parametrize(
    ("backward", "flag"),
    [
        (lambda explain=False: None, "explain"),
        (lambda gradient=None, retain_graph=False: None, None),
        (lambda *, explain=False: None, None),
        (lambda: None, None),
        (type, None),  # a compiled function without a signature
    ],
)
def test_the_first_argument_of_a_backward_call_is_a_flag_or_not(backward: Callable[..., object], flag: str | None):
    assert first_is_a_flag(backward) == flag


def test_no_cotangent_is_given_to_a_flag(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plain_module.Tensor, "backward", lambda self, explain=False: USUAL_BACKWARD(self))
    adapter = TorchLike("tests.frameworks.torchlike.plain")
    assert adapter.findings.capabilities["COTANGENTS"] == "the first argument of backward() is explain, and no gradient"


def test_a_module_that_says_itself_which_names_it_lacks_lacks_them(monkeypatch: pytest.MonkeyPatch):
    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(f"module {plain_module.__name__!r} has no attribute {name!r}")

    monkeypatch.setattr(plain_module, "__getattr__", __getattr__, raising=False)
    adapter = TorchLike("tests.frameworks.torchlike.plain")
    assert not {C.FUNCTIONAL, C.MULTIPLE_ROOTS} & adapter.capabilities


def test_elements_may_be_read_by_numpy(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plain_module.Tensor, "numpy", lambda self: self.data.copy(), raising=False)
    adapter = load(PLAIN)
    assert adapter.dialect is not None
    assert adapter.dialect.elements == "{value}.numpy()"
    assert adapter.read(adapter.leaf(np.array([1.5, 2.0]), True)).tolist() == [1.5, 2.0]


def test_a_flag_that_is_not_claimed_is_not_read():
    adapter = load(PLAIN)
    assert isinstance(adapter, TorchLike)
    assert adapter.requires_grad(adapter.leaf(np.array(2.0), False)) is False
    adapter.capabilities -= {C.REQUIRES_GRAD}
    assert adapter.requires_grad(adapter.leaf(np.array(2.0), False)) is None


def test_functions_are_found_in_submodules_where_there_is_no_functional(monkeypatch: pytest.MonkeyPatch):
    package, functional = ModuleType("parted"), ModuleType("parted.functional")
    package.Tensor = plain_module.Tensor  # type: ignore[attr-defined]
    functional.square = lambda x: x * x  # type: ignore[attr-defined]
    package.functional = functional  # type: ignore[attr-defined]
    package.__path__ = []
    for module in (package, functional):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    adapter = TorchLike("parted")
    assert adapter.dialect is not None and "import parted.functional\nimport parted as torch" in adapter.dialect.prelude
    assert adapter.dialect.ops["square"] == "torch.functional.square({0})"
    program = parse("a = leaf 3; b = square a; backward b", VOCABULARY)
    target = InProcess(adapter)
    assert "square" in target.ops and first_violation(program, target.observe(program), target) is None


def squeeze(self: plain_module.Tensor, dim: int) -> plain_module.Tensor:
    shape = list(self.data.shape)
    del shape[range(self.data.ndim)[dim]]  # raises an error about its index if the dimension is a tuple
    return self.reshape(*shape)


def power(self: plain_module.Tensor, other: object) -> NoReturn:
    raise Exception("Power can only be float or int")


def test_one_dimension_in_place_of_a_tuple_is_another_form(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plain_module.Tensor, "squeeze", squeeze, raising=False)
    monkeypatch.setattr(plain_module.Tensor, "__pow__", power, raising=False)
    found = TorchLike("tests.frameworks.torchlike.plain")
    assert found.code.templates["squeeze"] == "{0}.squeeze(*{dim})"
    assert "pow" not in found.ops, "it says that it takes no tensor"
    program = parse(
        "a = leaf [[1], [2]]; b = squeeze a dim=(1,); c = exp b; d = sum c dim=(0,) keepdim=False", VOCABULARY
    )
    target = InProcess(found)
    assert first_violation(program, target.observe(program), target) is None
