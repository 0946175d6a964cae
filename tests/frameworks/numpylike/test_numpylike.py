"""Functional frameworks with NumPy's interface: a way to differentiate and missing features are found by trying."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import autograd
import numpy as np
import pytest

from autograd_conformance.adapters.hips_autograd.adapter import HipsAutograd
from autograd_conformance.authoring import command
from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.loading.registry import AdapterError, UnknownFramework, load
from autograd_conformance.frameworks.numpylike.adapter import NumpyLike
from autograd_conformance.frameworks.numpylike.ops import FURTHER, TABLE
from autograd_conformance.frameworks.remote.command import served
from autograd_conformance.frameworks.target import InProcess, load_adapter, open_target
from autograd_conformance.frameworks.torchlike.findings import read, to_toml
from autograd_conformance.ops.catalogue import APPLIED, VOCABULARY
from autograd_conformance.printing.dialect import code
from autograd_conformance.printing.functional import definition
from autograd_conformance.programs.formats.text import names, parse
from autograd_conformance.programs.observations import Kind, Returned

PARTIAL = "numpy-like:tests.frameworks.numpylike.partial"
HIPS = "numpy-like:autograd"


@pytest.fixture(scope="module")
def partial() -> NumpyLike:
    found = load_adapter(PARTIAL)
    assert isinstance(found, NumpyLike)
    return found


@pytest.fixture(scope="module")
def hips() -> NumpyLike:
    found = load_adapter(HIPS)
    assert isinstance(found, NumpyLike)
    return found


# -- searching --------------------------------------------------------------------------------------------------------


def test_the_tables_name_ops_of_the_catalogue():
    assert {*TABLE, *FURTHER} <= APPLIED
    assert not {*TABLE} & {*FURTHER}


def test_hips_autograd_has_what_its_own_adapter_claims_and_two_ops_more(hips: NumpyLike):
    assert {*hips.capabilities} == {*HipsAutograd.capabilities}
    assert {*hips.ops} == {*HipsAutograd.ops} | {"logsumexp", "sort"}
    assert {*hips.dtypes} == {*HipsAutograd.dtypes}
    assert (hips.name, hips.version) == ("autograd", HipsAutograd.version)
    assert hips.findings.ops["flip"] == "NotImplementedError: VJP of flip wrt argnums (0,) not defined"


def test_what_is_missing_is_not_supported(partial: NumpyLike):
    found = partial.findings
    assert found.ops["tan"] == f"AttributeError: module {partial.name!r} has no attribute 'tan'"
    assert found.ops["erf"] == f"there is no module {partial.name}.scipy.special"
    assert found.ops["roll"].startswith("TypeError: roll() takes 1 positional argument but 3 were given")
    assert {"det", "cosh"} <= {*found.ops}
    assert found.capabilities["HOOKS"] == "a framework that differentiates functions has none"
    assert found.capabilities["DETACH"] == "it has no stop_gradient"
    assert not partial.ops & {*found.ops}


def test_what_fails_otherwise_is_supported_and_judged(partial: NumpyLike):
    assert {"sinh", "cumulative_sum"} <= partial.ops
    target = InProcess(partial)
    for op, attrs in (("sinh", ""), ("cumulative_sum", " dim=0")):
        program = parse(f"a = leaf [1, 2]; b = {op} a{attrs}; c = grad b wrt a with [1, 1]", VOCABULARY)
        assert first_violation(program, target.observe(program), target) is not None


def test_a_refused_call_of_an_op_is_missing_and_a_missing_derivative_not_implemented(hips: NumpyLike):
    with pytest.raises(TypeError) as caught:
        hips.apply("sin", (object(),), ())
    assert hips.classify(caught.value) is Kind.NO_KERNEL
    assert hips.classify(NotImplementedError("VJP of x not defined")) is Kind.NOT_IMPLEMENTED
    assert hips.classify(TypeError("unexpected keyword")) is Kind.UNKNOWN


# -- ways to differentiate --------------------------------------------------------------------------------------------

Function = Callable[..., Any]


def _like_jax(function: Function, *inputs: Any) -> Any:
    pull, value = autograd.make_vjp(_joined(function), tuple(range(len(inputs))))(*inputs)
    return value, pull


def _like_advect(function: Function, places: tuple[int, ...] = (0,)) -> Any:
    return lambda *inputs: autograd.make_vjp(_joined(function), places)(*inputs)[::-1]


def _like_mlx(function: Function, inputs: Sequence[Any], cotangents: Sequence[Any]) -> Any:
    value, pull = _like_jax(function, *inputs)
    return value, list(pull(cotangents[0] if len(cotangents) == 1 else tuple(cotangents)))


def _joined(function: Function) -> Function:
    """Makes HIPS autograd accept a plain tuple of results, as these frameworks do."""

    def joined(*inputs: Any) -> Any:
        results = function(*inputs)
        return autograd.builtins.tuple(results) if isinstance(results, tuple) else results

    return joined


@pytest.mark.parametrize(
    ("name", "way", "code"),
    [
        ("make_vjp", autograd.make_vjp, "ad.make_vjp("),
        ("vjp", _like_jax, "ad.vjp({function}, {inputs})[1]"),
        ("vjp", _like_advect, "ad.vjp({function}, ({places},))"),
        ("vjp", _like_mlx, "ad.vjp({function}, [{inputs}]"),
        ("grad", autograd.grad, "ad.grad(weighted("),
    ],
    ids=["hips", "jax", "advect", "mlx", "grad"],
)
def test_each_way_to_differentiate_is_found(name: str, way: Any, code: str, monkeypatch: pytest.MonkeyPatch):
    module = ModuleType("found_framework")
    module.__dict__.update({name: way, "builtins": autograd.builtins, "numpy": autograd.numpy})
    monkeypatch.setitem(sys.modules, "found_framework", module)
    monkeypatch.setitem(sys.modules, "found_framework.numpy", autograd.numpy)
    found = NumpyLike("found_framework")
    assert code in found.differentiate.way.vjp
    target = InProcess(found)
    for text in (
        "a = leaf [1, 2]; b = exp a; c = grad b wrt a with [1, 2]",
        "a = leaf [1, 2]; b = leaf [3, 4]; c = multiply a b; d = sin a; e, f = grad c, d wrt a, b with [1, 2], [3, 4]",
        "a = leaf [1, 2]; b = exp a; c = grad b wrt a with [1, 2] create=True; d = grad c wrt a with [1, 1]",
    ):
        program = parse(text, VOCABULARY)
        assert first_violation(program, target.observe(program), target) is None
        assert all(isinstance(step.outcome, Returned) for step in target.observe_printed(program))


def test_a_module_that_does_not_differentiate_is_refused_with_the_reason():
    with pytest.raises(AdapterError, match="math does not differentiate functions of NumPy arrays") as caught:
        load("numpy-like:math")
    assert str(caught.value).endswith("autograd-conformance new-adapter NAME --module math")
    with pytest.raises(UnknownFramework, match="'numpy-like:' names no module; write numpy-like:MODULE"):
        load("numpy-like:")


# -- code, findings and commands --------------------------------------------------------------------------------------


def test_printed_code_imports_the_frameworks_numpy(hips: NumpyLike):
    program = parse("a = leaf [1, 2]; b = sin a; c = grad b wrt a with [1, 1]", VOCABULARY)
    assert hips.dialect.prelude.splitlines() == [
        "import autograd as ad",
        "import autograd.numpy as np",
        "import autograd.scipy.special as special",
    ]
    lines = code(program, hips.dialect)
    assert lines[1] == "b = np.sin(a)"
    assert lines[2] == "(c,) = ad.make_vjp(function3, (0,))(a)[0](np.array([1.0, 1.0], np.float64))"
    assert definition(2, program, names(program), hips.dialect)[0] == "def function3(a):"


def test_findings_are_read_as_written_and_believed(partial: NumpyLike, tmp_path: Path):
    path = tmp_path / "partial.toml"
    path.write_text(to_toml(partial.findings, path.name, partial.like))
    assert f"--framework={PARTIAL}@partial.toml" in path.read_text()
    assert read(path) == partial.findings
    path.write_text(path.read_text().replace("tan =", "# tan ="))
    assert "tan" in load(f"{PARTIAL}@{path}").ops


def test_a_write_to_a_cotangent_is_seen(hips: NumpyLike):
    def writes(*inputs: Any) -> Any:
        return lambda cotangent: (cotangent.__setitem__(0, 9.0), (cotangent,))[1]

    cotangent, leaf = np.ones(2), hips.leaf(np.ones(2), True)
    kept = hips.differentiate
    try:
        hips.differentiate = lambda function, inputs, given: writes(*inputs)(*given)  # type: ignore[assignment]
        hips.vjp(lambda x: (x,), [leaf], [cotangent])
    finally:
        hips.differentiate = kept
    assert cotangent.tolist() == [9.0, 1.0]


def test_a_worker_serves_it_in_another_process():
    target = open_target(served(PARTIAL, sys.executable, None))
    program = parse("a = leaf [1, 2]; b = sin a; c = grad b wrt a with [1, 1]", VOCABULARY)
    assert "tan" not in target.ops
    assert first_violation(program, target.observe(program), target) is None


def test_probe_and_check_take_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert command.main(["probe", HIPS, "--write", str(tmp_path / "autograd.toml")]) == 0
    said = capsys.readouterr().out
    assert "missing      flip               NotImplementedError: VJP of flip" in said
    assert f"--framework={HIPS}@" in (tmp_path / "autograd.toml").read_text()
    assert command.main(["check", HIPS]) == 0
