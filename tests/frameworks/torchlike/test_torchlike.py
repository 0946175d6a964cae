"""Frameworks with PyTorch's interface: missing features are found by trying, and everything else is tested."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.loading.registry import AdapterError, UnknownFramework, load
from autograd_conformance.frameworks.probing.smallest import SMALLEST
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.remote.command import served
from autograd_conformance.frameworks.target import InProcess, load_adapter, open_target
from autograd_conformance.frameworks.torchlike import adapter as adapters
from autograd_conformance.frameworks.torchlike import interface
from autograd_conformance.frameworks.torchlike.adapter import TorchLike
from autograd_conformance.frameworks.torchlike.findings import TABLES, Findings, read, to_toml
from autograd_conformance.frameworks.torchlike.refusals import refusal
from autograd_conformance.frameworks.torchlike.search import FEW_DIGITS, UNTRIED
from autograd_conformance.frameworks.torchlike.trials import missing_capability
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.ops.limits import Limit
from autograd_conformance.printing.dialect import code
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Kind, Returned
from tests.frameworks.torchlike import partial as partial_module

PARTIAL = "tests.frameworks.torchlike.partial"
NAME = f"torch-like:{PARTIAL}"


@pytest.fixture(scope="module")
def partial() -> TorchLike:
    found = load_adapter(NAME)
    assert isinstance(found, TorchLike)
    return found


# -- searching --------------------------------------------------------------------------------------------------------


def test_pytorch_lacks_nothing_but_what_is_not_tried():
    found = load("torch-like:torch")
    assert isinstance(found, TorchLike)
    assert {*found.findings.capabilities} == {capability.name for capability in UNTRIED}
    assert {table: getattr(found.findings, table) for table in TABLES if table != "capabilities"} == {
        table: {} for table in TABLES if table != "capabilities"
    }
    assert {*found.capabilities} == {*Torch.capabilities} - {Capability.KNOWS_ERRORS, Capability.AUTOCAST}
    assert ({*found.ops}, {*found.modules}, found.optimizers) == (
        {*Torch.ops} - FEW_DIGITS,
        {*Torch.modules},
        Torch.optimizers,
    )


def test_every_capability_is_tried_or_found_otherwise():
    assert {*SMALLEST} | {*UNTRIED} | {Capability.MODULES, Capability.RANDOM} == {*Capability}


@pytest.mark.parametrize("capability", [*SMALLEST], ids=lambda each: each.name)
def test_pytorch_shows_each_capability_in_its_smallest_program(capability: Capability):
    assert missing_capability(Torch(), capability) is None


@pytest.mark.parametrize(
    "lacking", ["sum", "mul_scalar_", *(pytest.param(op, marks=pytest.mark.slow) for op in ("multiply", "negative"))]
)
def test_a_capability_is_shown_without_the_usual_op(lacking: str, monkeypatch: pytest.MonkeyPatch):
    """No capability depends on one op; what a framework shows by refusing is not shown by a refusal of the op."""
    adapter, right = TorchLike("torch"), TorchLike("torch").capabilities

    def refused(op: str) -> None:
        if op == lacking:
            raise TypeError(f"{op}() got an unexpected keyword argument 'keepdim'")

    apply, write = adapter.apply, adapter.write
    monkeypatch.setattr(adapter, "apply", lambda op, *given: (refused(op), apply(op, *given))[1])
    monkeypatch.setattr(adapter, "write", lambda op, *given: (refused(op), write(op, *given))[1])
    adapter.capabilities = right
    missing = [each.name for each in SMALLEST if each in right and missing_capability(adapter, each) is not None]
    assert missing == []


def test_what_is_missing_is_not_supported(partial: TorchLike):
    found = partial.findings
    assert (found.name, found.version, found.dtypes) == (PARTIAL, "3.1", {})
    assert {*found.ops} == {"cos", "complex_cos", "cosh", "trace", "batch_norm", "batch_norm_affine", "block_diag"}
    assert found.ops["block_diag"] == f"AttributeError: module {PARTIAL!r} has no attribute 'block_diag'"
    assert found.ops["cos"] == "NotImplementedError: cos is not implemented for this device"
    assert {*found.capabilities} - {each.name for each in UNTRIED} == {"DEFAULT_DTYPE", "FOREACH", "FUSED", "MODULES"}
    assert found.writes == {}
    assert not partial.ops & {*found.ops}


@pytest.mark.parametrize("settings", ["", " weight_decay=0.5"])
def test_another_default_of_an_optimizer_is_no_wrong_formula(partial: TorchLike, settings: str, tmp_path: Path):
    why = "its default is 0.0, that of PyTorch 0.01: programs give it"
    assert partial.findings.defaults == {"adamw.weight_decay": why}
    step = f"step a adamw lr=0.5{settings}"
    program = parse(f"a = leaf [1, 2]; b = multiply a a; backward b with [1, 1]; {step}; {step}", VOCABULARY)
    target = InProcess(partial)
    assert first_violation(program, target.observe(program), target) is None
    assert any(
        "weight_decay=0.5" if settings else "weight_decay=0.01" in line for line in code(program, partial.dialect)
    )
    templates = {
        "amax": "torch.amax({0}, axis={dim}, keepdims={keepdim})",
        "logsumexp": "torch.logsumexp({0}, dim={dim})",
        "var": "torch.var({0}, axis={dim})",
    }
    called = (f"{PARTIAL}: {op} is called as `{call}`: PyTorch's call is unsupported" for op, call in templates.items())
    assert target.notes == (f"{PARTIAL}: adamw.weight_decay: {why}", *called)
    (tmp_path / "found.toml").write_text(to_toml(partial.findings, "found.toml"))
    assert read(tmp_path / "found.toml") == partial.findings


def test_shapes_that_an_op_refuses_are_a_limit_and_namesakes_are_missing(partial: TorchLike):
    assert {*partial.findings.broadcasts} == {"hypot"} and not partial.limits["hypot"].broadcasts
    assert {*partial.findings.dimensions} == {"glu.4"} and partial.limits["glu"].dimensions == (1, 2, 3)
    assert partial.findings.ops["trace"] == "TypeError: 'Tensor' object is not callable"
    assert partial.findings.ops["batch_norm"] == "it takes no None: 'NoneType' object has no attribute 'shape'"
    assert partial.findings.optimizers == {"adagrad": "TypeError: Optimizer params must be Parameter instances"}


def test_a_method_stands_in_for_a_missing_function(partial: TorchLike):
    program = parse("a = leaf [1, 2]; b = tan a; backward b with [1, 1]", VOCABULARY)
    target = InProcess(partial)
    assert first_violation(program, target.observe(program), target) is None
    assert any("a.tan()" in line for line in code(program, partial.dialect))


@pytest.mark.parametrize(
    ("call", "template", "limit"),
    [
        ("logsumexp a dim=(0,) keepdim=False", "torch.logsumexp({0}, dim={dim})", Limit({"keepdim": (False,)})),
        ("amax a dim=(0,) keepdim=False", "torch.amax({0}, axis={dim}, keepdims={keepdim})", None),
        (
            "var a dim=(0,) keepdim=False correction=1",
            "torch.var({0}, axis={dim})",
            Limit({"correction": (1,), "keepdim": (False,)}),
        ),
    ],
)
def test_an_op_without_a_keyword_is_called_without_it(
    call: str, template: str, limit: Limit | None, partial: TorchLike
):
    op, target = call.partition(" ")[0], InProcess(partial)
    assert partial.findings.templates[op] == template and op not in partial.findings.ops
    assert partial.limits.get(op) == limit
    program = parse(f"a = leaf [[1, 2], [3, 5]]; b = {call}; backward b with [1, 1]", VOCABULARY)
    assert first_violation(program, target.observe(program), target) is None
    assert any(template.partition("{")[0] in line for line in code(program, partial.dialect))


def test_what_fails_otherwise_is_supported_and_judged(partial: TorchLike):
    assert {"sinh", "exp", "asinh"} <= partial.ops
    target = InProcess(partial)
    for op, rule in (("sinh", "errors/legal-returns"), ("exp", "gradients/forward")):
        program = parse(f"a = leaf [1, 2]; b = {op} a", VOCABULARY)
        violation = first_violation(program, target.observe(program), target)
        assert violation is not None
        assert (violation.rule, violation.op) == (rule, op)


def test_an_error_in_the_code_of_a_derivative_is_not_a_missing_feature(partial: TorchLike):
    target = InProcess(partial)
    program = parse("a = leaf [1, 2]; b = asinh a; backward b with [1, 1]", VOCABULARY)
    violation = first_violation(program, target.observe(program), target)
    assert violation is not None
    assert violation.rule == "errors/legal-returns"


def test_a_method_in_the_place_of_a_tensor_is_missing(partial: TorchLike):
    assert partial.findings.ops["cosh"] == "NotImplementedError: it is a method, where PyTorch has a property"


class _Silent(Torch):
    """Does nothing in a call of a freed graph."""

    def backward(self, *args: Any) -> None:
        with suppress(RuntimeError):
            super().backward(*args)


class _Keeps(Torch):
    """Never frees a graph."""

    def backward(self, roots: Any, cotangents: Any, retain_graph: Any, *rest: Any) -> None:
        super().backward(roots, cotangents, True, *rest)


class _Replaces(_Keeps):
    """Never frees a graph, and puts the gradient of the last call in place of what a leaf holds."""

    def backward(self, *args: Any) -> None:
        for holding in self._holding:
            holding().grad = None
        super().backward(*args)


def test_a_framework_frees_if_a_second_call_adds_nothing():
    lacks = "a second call of a graph adds gradients, or replaces them"
    assert missing_capability(_Silent(), Capability.FREES) is None
    assert missing_capability(_Keeps(), Capability.FREES) == lacks
    assert missing_capability(_Replaces(), Capability.FREES) == lacks


@pytest.mark.parametrize(
    "text",
    [
        "a = leaf [1, 2]; b = sin a; backward b with [1, 1]; backward b with [1, 1]",
        "a = leaf [1, 2]; b = multiply a a; write b mul_scalar_ scalar=2; c = sum b dim=(0,) keepdim=False; backward c",
        "a = leaf [1, 2]; h = hook a scale 2; b = exp2 a; backward b with [1, 1]; zero a; step a sgd lr=0.5",
        "a = leaf [[1, 2]]; b = reshape a shape=(2,); c = grad b wrt a with [1, 1]",
    ],
)
def test_programs_pass_as_with_pytorchs_own_adapter(text: str, partial: TorchLike):
    program = parse(text, VOCABULARY)
    for adapter in (partial, Torch()):
        target = InProcess(adapter)
        assert first_violation(program, target.observe(program), target) is None


def test_printed_code_imports_the_module_in_the_place_of_pytorch(partial: TorchLike):
    assert partial.dialect is not None
    assert partial.dialect.prelude == f"import {PARTIAL} as torch\nimport {PARTIAL}.nn.functional as F"
    printed = code(parse("a = leaf [1, 2]; b = sin a", VOCABULARY), partial.dialect)
    assert printed[1] == "b = torch.sin(a)"


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (NotImplementedError("no"), True),
        (ImportError("no module"), True),
        (AttributeError("module has no attribute 'sin'", name="sin", obj=sys), True),
        (AttributeError("'NoneType' object has no attribute 'shape'", name="shape", obj=None), False),
        (AttributeError("'dict' object has no attribute 'grad'", name="grad", obj={}), True),
        (TypeError("sum() got an unexpected keyword argument 'dim'"), True),
        (TypeError("sum(): incompatible function arguments. The following argument types are supported:"), True),
        (TypeError("unsupported operand type(s) for *: 'X' and 'X'"), True),
        (RuntimeError("sin is not yet implemented"), True),
        (RuntimeError("boom"), False),
        (ValueError("backward() is supported only for tensors of one element"), True),
        (ValueError("shapes do not match"), False),
        (ZeroDivisionError("division by zero"), False),
    ],
)
def test_an_error_says_that_something_is_missing_or_not(error: Exception, says: bool):
    assert (refusal(error) is not None) is says


def test_messages_are_known_in_any_case(partial: TorchLike):
    error = RuntimeError("Grad can be implicitly created only for scalar outputs")
    assert partial.classify(error) is Kind.NON_SCALAR_ROOT


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("a view was modified after its backward history became stale", Kind.VIEW_WRITTEN),
        ("a view with restricted mutation history cannot be modified inplace", Kind.VIEW_WRITTEN),
        ("One of the differentiated Tensors was not used in the graph", Kind.UNUSED_INPUT),
    ],
)
def test_other_words_for_pytorchs_errors_are_known(message: str, kind: Kind, partial: TorchLike):
    """A part of a split tensor that was written to may be refused, in whatever words."""
    assert partial.classify(RuntimeError(message)) is kind


# -- memory and identity -----------------------------------------------------------------------------------------------


class _Arrays:
    """A tensor that is a NumPy array, and names the address of its first element as that of its storage."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def detach(self) -> _Arrays:
        return self

    def numpy(self) -> np.ndarray:
        return self._array

    def untyped_storage(self) -> _Arrays:
        return self

    def data_ptr(self) -> int:
        return self._array.__array_interface__["data"][0]


def test_the_memory_of_a_part_of_an_array_is_that_of_the_array():
    whole = np.arange(6.0)
    part = np.lib.stride_tricks.as_strided(whole[2:], (2, 2), (8, 8))
    assert _Arrays(part).data_ptr() != _Arrays(whole).data_ptr()
    assert adapters._owner(_Arrays(part)) == adapters._owner(_Arrays(whole)) != adapters._owner(_Arrays(whole.copy()))


def test_gradients_that_are_new_objects_each_time_have_no_identity(monkeypatch: pytest.MonkeyPatch):
    class Fresh(TorchLike):
        """Bindings that make a new object for `.grad` each time, and have no addresses."""

        module = PARTIAL

        def gradient(self, leaf: torch.Tensor) -> torch.Tensor | None:
            return None if leaf.grad is None else leaf.grad.detach()

    monkeypatch.setattr(adapters, "ADDRESSES", (lambda tensor: tensor.no_address,))
    fresh = Fresh()
    assert fresh.findings.capabilities["IDENTITY"] == "the gradients of two leaves cannot be distinguished"


def test_bindings_without_dtypes_print_those_of_pytorch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(partial_module, "LACKS", (*partial_module.LACKS, "float64", "float32"))
    target = InProcess(TorchLike(PARTIAL))
    program = parse("a = leaf [1, 2]; b = sin a; backward b with [1, 1]", VOCABULARY)
    assert target.dialect is not None
    assert (
        code(program, target.dialect)[0] == "a = torch.tensor([1.0, 2.0], dtype=libtorch.float64, requires_grad=True)"
    )
    assert all(isinstance(step.outcome, Returned) for step in target.observe_printed(program))


def test_a_class_without_dtypes_prints_arrays(with_a_class: TorchLike, monkeypatch: pytest.MonkeyPatch):
    module = sys.modules["with_a_class"]
    for dtype in ("float64", "float32"):
        monkeypatch.setattr(partial_module, "LACKS", (*partial_module.LACKS, dtype))
    without_torch = SimpleNamespace(modules={})
    monkeypatch.setattr(adapters, "sys", without_torch)
    monkeypatch.setattr(interface, "sys", without_torch)
    printed = code(parse("a = leaf f32 [1, 2]; b = exp a", VOCABULARY), TorchLike(module.__name__).dialect)
    assert printed[0] == "a = torch.Tensor(numpy.array([1.0, 2.0], numpy.float32), requires_grad=True)"


def test_a_module_without_dtypes_prints_arrays(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(partial_module, "LACKS", (*partial_module.LACKS, "float64", "float32"))
    without_torch = SimpleNamespace(modules={})  # the module itself has to stay: importing it again breaks it
    monkeypatch.setattr(adapters, "sys", without_torch)
    monkeypatch.setattr(interface, "sys", without_torch)
    target = InProcess(TorchLike(PARTIAL))
    program = parse("a = leaf [1, 2]; b = sin a; backward b with [1, 1]", VOCABULARY)
    assert target.dialect is not None
    assert code(program, target.dialect)[0] == (
        "a = torch.tensor(numpy.array([1.0, 2.0], numpy.float64), requires_grad=True)"
    )
    assert all(isinstance(step.outcome, Returned) for step in target.observe_printed(program))


# -- findings as a file ------------------------------------------------------------------------------------------------


def test_findings_are_read_as_written(partial: TorchLike, tmp_path: Path):
    path = tmp_path / "partial.toml"
    path.write_text(to_toml(partial.findings, path.name))
    assert read(path) == partial.findings


def test_a_file_of_findings_is_believed(partial: TorchLike, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "partial.toml"
    text = to_toml(partial.findings, path.name)
    kept = [line for line in text.splitlines() if not line.startswith("cos =")]
    path.write_text("\n".join([*kept]).replace("[ops]", '[ops]\nsin = "not today"') + "\n")
    monkeypatch.setattr(adapters, "search", lambda adapter: pytest.fail("it was searched"))
    found = load(f"{NAME}@{path}")
    assert "cos" in found.ops
    assert "sin" not in found.ops


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[ops", "Expected"),
        ('name = "x"\nversion = "1"\n[opps]\n', "there is no table 'opps'; there are dtypes, capabilities, ops"),
        ('name = "x"\nversion = "1"\n[ops]\nsin = 1\n', '[ops] has lines of the form NAME = "reason"'),
        ("[ops]\n", "name and version are missing"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_line(text: str, problem: str, tmp_path: Path):
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(AdapterError, match=r"x\.toml") as caught:
        load(f"{NAME}@{path}")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_findings_without_reasons_lack_nothing():
    assert all(getattr(Findings("x", "1"), table) == {} for table in TABLES)


# -- names ------------------------------------------------------------------------------------------------------------


def test_a_name_without_a_module_is_refused():
    with pytest.raises(UnknownFramework, match="'torch-like:' names no module; write torch-like:MODULE"):
        load("torch-like:")


def test_a_module_that_is_not_there_is_named():
    with pytest.raises(UnknownFramework, match="there is no module 'no_such_framework' on the path") as caught:
        load("torch-like:no_such_framework")
    assert "name the interpreter that has it by --framework-python=PATH" in str(caught.value)
    assert str(caught.value).endswith("the module may have another name than the package.")


class WithoutGrad:
    """A tensor that holds no gradient, as a framework has it whose gradients are results."""

    def __init__(self, data, requires_grad=False) -> None:
        self.data, self.dtype, self.requires_grad = data, data.dtype, requires_grad

    def detach(self) -> WithoutGrad:
        return self

    def numpy(self) -> np.ndarray:
        return self.data


def test_a_module_whose_tensors_hold_no_gradients_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch):
    module = ModuleType("without_grad")
    module.Tensor = WithoutGrad  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "without_grad", module)
    with pytest.raises(AdapterError, match="without_grad has no tensors as PyTorch has them") as caught:
        load("torch-like:without_grad")
    assert "has no attribute 'grad'" in str(caught.value)


def test_a_module_without_tensors_is_refused_with_the_reason():
    with pytest.raises(AdapterError, match="math has no tensors as PyTorch has them") as caught:
        load("torch-like:math")
    assert "(math.tensor: there is none; math.Tensor: there is none)" in str(caught.value)
    assert str(caught.value).endswith("autograd-conformance new-adapter NAME --module math")


def test_a_module_whose_tensor_is_no_function_is_refused_with_the_reason(monkeypatch):
    module = ModuleType("with_a_module")
    module.tensor = ModuleType("with_a_module.tensor")
    monkeypatch.setitem(sys.modules, "with_a_module", module)
    with pytest.raises(AdapterError, match="with_a_module has no tensors as PyTorch has them") as caught:
        load("torch-like:with_a_module")
    assert "(with_a_module.tensor: it is a module, not a function; with_a_module.Tensor: there" in str(caught.value)


def _random(*shape: Any, **flags: Any) -> torch.Tensor:
    return torch.randn(*map(int, shape), **flags)


def _class(data: Any, requires_grad: bool = False) -> torch.Tensor:
    """Makes a tensor without a copy, of the array's dtype, which it does not take."""
    made = torch.from_numpy(data) if isinstance(data, np.ndarray) else torch.tensor(data)
    return made.requires_grad_(requires_grad)


@pytest.fixture(params=["module", "random", "no dtype"])
def with_a_class(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> TorchLike:
    """Returns a framework with leaves made by its class `Tensor` alone, which has all else of PyTorch."""
    module = ModuleType("with_a_class")
    module.__getattr__ = partial_module.__getattr__  # type: ignore[method-assign]
    module.tensor = ModuleType("with_a_class.tensor") if request.param == "module" else _random  # type: ignore[attr-defined]
    module.Tensor = _class if request.param == "no dtype" else torch.tensor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "with_a_class", module)
    monkeypatch.setattr(adapters, "search", lambda adapter: Findings("with_a_class", "1"))
    return TorchLike("with_a_class")


def test_leaves_are_made_by_the_class_where_the_function_makes_none(with_a_class: TorchLike):
    program = parse("a = leaf f32 [1, 2]; b = leaf (0,) []; write a zero_; c = exp a", VOCABULARY)
    data = np.ones(2, np.float32)
    leaf = with_a_class.leaf(data, False)
    leaf.zero_()
    assert with_a_class.maker.name == "Tensor" and data.tolist() == [1, 1]
    printed = code(program, with_a_class.dialect)
    assert printed[0].startswith("a = torch.Tensor(numpy.array([1.0, 2.0], dtype='float32')")
    target = InProcess(with_a_class)
    for one, two in zip(target.observe(program), target.observe_printed(program), strict=True):
        assert type(one.outcome) is type(two.outcome)
    values = target.observe_printed(program)[0].outcome.values  # type: ignore[union-attr]
    assert (values[0].dtype, values[0].value.tolist()) == ("float32", [1.0, 2.0])


def test_a_cotangent_that_is_a_number_loses_the_dimension_that_leaves_gain(monkeypatch: pytest.MonkeyPatch):
    module = ModuleType("with_one_number")
    module.__getattr__ = partial_module.__getattr__  # type: ignore[method-assign]
    module.tensor = lambda data, **flags: torch.tensor(np.atleast_1d(data), **flags)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "with_one_number", module)
    monkeypatch.setattr(adapters, "search", lambda adapter: Findings("with_one_number", "1"))
    target = InProcess(TorchLike("with_one_number"))
    program = parse("a = leaf [1, 2]; b = sum a dim=(0,) keepdim=False; backward b with 3", VOCABULARY)
    assert code(program, target.dialect)[-1].endswith(".reshape(()))")
    for observed in (target.observe(program), target.observe_printed(program)):
        (gradient,) = observed[-1].gradients.values()
        assert gradient is not None and gradient.value.tolist() == [3, 3]


def test_a_class_is_not_used_where_the_function_is_right():
    assert load("torch-like:torch").maker.name == "tensor"  # type: ignore[attr-defined]


def test_a_function_that_makes_other_numbers_is_named(monkeypatch: pytest.MonkeyPatch):
    module = ModuleType("with_zeros")
    module.Tensor = lambda data, requires_grad=False: torch.zeros(2, requires_grad=requires_grad)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "with_zeros", module)
    with pytest.raises(AdapterError, match="a tensor with elements"):
        load("torch-like:with_zeros")


@pytest.mark.parametrize("capability", [*SMALLEST], ids=lambda each: each.name)
def test_a_capability_is_tried_where_no_gradient_and_no_value_can_be_read(capability: Capability):
    class Unreadable(Torch):
        """Gradients and values of no leaf can be read."""

        def gradient(self, leaf: Any) -> Any:
            raise RuntimeError("no gradient")

    assert missing_capability(Unreadable(), capability) in (None, *missing_words())


def missing_words() -> set[str | None]:
    """Returns the reasons that programs have."""
    return {each.lacks for each in SMALLEST.values()} | {"RuntimeError: no gradient"}


def test_a_subclass_names_its_module():
    class Partial(TorchLike):
        """The same framework by a class of its user."""

        module = PARTIAL

    assert isinstance(Partial().torch, ModuleType)
    assert Partial().name == PARTIAL


def test_a_worker_serves_it_in_another_process():
    target = open_target(served(NAME, sys.executable, None))
    program = parse("a = leaf [1, 2]; b = sin a; backward b with [1, 1]", VOCABULARY)
    assert "block_diag" not in target.ops
    assert first_violation(program, target.observe(program), target) is None


@pytest.mark.parametrize("error", [AttributeError, UserWarning])
def test_a_framework_that_refuses_to_clear_a_gradient_can_be_reset(error: type[Exception]):
    class Refusing:
        """A tensor whose gradient cannot be set."""

        grad = property(fset=lambda self, value: (_ for _ in ()).throw(error("needs no grad")))

    adapter, tensor = Torch(), Refusing()
    adapter.hold(tensor)
    adapter.reset()
    with pytest.raises(error):
        tensor.grad = None  # type: ignore[misc, assignment]
