"""PyTorch on the example device: loaded by name, tested with its own ops and dtypes, and compared with faulty
devices.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch

from autograd_conformance.checking.audit.outcome import AuditResult
from autograd_conformance.checking.audit.programs import outcomes
from autograd_conformance.checking.check import Check, violation_of
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.frameworks.environment.devices import Device
from autograd_conformance.frameworks.loading.registry import AdapterError, load
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.printed import run_printed
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import read
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Kind, Raised, Returned, lacks_kernel
from autograd_conformance.strategies.building import alphabet
from evaluation.mutants.kill import failure
from evaluation.mutants.probes import probes
from examples.device import memory, registry
from tests.devices.faults import DEVICE, Few, LosesFactor, OnExample
from tests.plugin.test_cli import ROOT, run

KNOWN = ROOT / "examples" / "device" / "known.toml"
EXAMPLE = Torch(DEVICE)
TARGET = InProcess(EXAMPLE)

WITHOUT = "a = leaf [1, 2, 3]; b = sin a; c = cummax b dim=0; d = multiply b b; backward d with [1, 1, 1]"
"""A program with an op that the device has no kernel for."""


# -- which device -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("cpu", Device("cpu")),
        ("cuda:1", Device("cuda:1")),
        ("package.backend:npu", Device("npu", "package.backend")),
        ("backend:npu:1", Device("npu:1", "backend")),
        ("a device", Device("a device")),
    ],
)
def test_a_device_is_named_with_the_module_that_brings_it(text: str, device: Device) -> None:
    assert Device.named(text) == device


def test_what_is_wrong_with_the_name_is_told() -> None:
    for name, said in (("no_such_backend:npu", "No module named 'no_such_backend'"), ("nonsense", "nonsense")):
        with pytest.raises(AdapterError, match=said):
            load("torch", name)


def test_everything_is_on_the_device() -> None:
    EXAMPLE.reset()
    leaf = EXAMPLE.leaf(memory.np.ones(3), True)
    (made,) = EXAMPLE.apply("sin", [leaf], ())
    assert leaf.device == made.device == memory.DEVICE
    assert EXAMPLE.saved_tensor_counter().device.type == memory.DEVICE.type


def test_printed_code_imports_the_module() -> None:
    for adapter in (EXAMPLE, EXAMPLE.saved_tensor_counter()):
        assert "import examples.device" in adapter.dialect.prelude
    program = parse("a = leaf [1, 2]; b = square a; backward b with [1, 1]; c = held a", VOCABULARY)
    assert all(isinstance(seen.outcome, Returned) for seen in run_printed(program, EXAMPLE))


KEPT = (
    "a = leaf f32 [1.5, 2]; b = tanh a; c = add b a; d = sigmoid c; e = sin d; "
    "backward e with f32 [2.5, 3] create=True; f = grad e wrt a with f32 [3.5, 4] create=True; drop a, b, c, d, e, f"
)


def test_saved_tensors_are_counted_once_the_devices_thread_has_let_go_of_them() -> None:
    program, counter = parse(KEPT, VOCABULARY), TARGET.saved_tensor_counter
    assert counter is not None
    assert len({counter.observe(program)[-1].saved for _ in range(30)}) == 1
    space: dict[str, Any] = {}
    exec(counter.adapter.dialect.prelude, space)
    try:
        assert eval(counter.adapter.dialect.saved, space) == 0
    finally:
        exec("torch._C._autograd._pop_saved_tensors_default_hooks()", space)


def test_the_dtypes_are_those_that_it_has() -> None:
    assert EXAMPLE.dtypes == ("float64", "float32")
    without = {dtype: array for dtype, array in memory.DTYPES.items() if dtype is not torch.float64}
    with mock.patch.object(memory, "DTYPES", without):
        assert Torch(DEVICE).dtypes == ("float32",)
    with mock.patch.object(memory, "DTYPES", {}), pytest.raises(TypeError, match=r"no torch\.bfloat16"):
        Torch(DEVICE)


def test_a_known_difference_names_the_device_without_its_module(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    entry = (
        'rule = "gradients/op"\nop = "sin"\nnan = true\nreason = "r"\nwitness = "a = leaf 1; b = sin a; backward b"\n'
    )
    file.write_text("".join(f'[[known]]\ndevice = "{device}"\n{entry}' for device in ("example", "cpu")))
    framework = FrameworkUnderTest(Settings("torch", device=DEVICE, known_files=(file,)))
    assert [entry.device for entry in framework.known] == [("example",)]


def test_what_is_known_of_the_example_shows_on_it_alone() -> None:
    own = [entry for entry in read(KNOWN) if not entry.inherited]
    for entry in own:
        violation = violation_of(entry.witness, TARGET)
        assert violation is not None
        assert violation.rule == entry.rule
        assert violation_of(entry.witness, InProcess(Torch())) is None


# -- what is missing --------------------------------------------------------------------------------------------------


def outcome(op: str, target: InProcess = TARGET) -> str:
    """The audit's result for an op."""
    with alphabet.using(alphabet_of(target, target.dtypes)):
        return [found for found, _ in outcomes(op, target, target.dtypes, thrice=False)][-1]


def test_what_has_no_kernel_is_missing() -> None:
    assert outcome("cummax") == "missing"


def test_what_has_kernels_of_some_forms_is_missing() -> None:
    assert outcome("nll_loss") == "missing"


def test_what_is_there_and_wrong_is_wrong() -> None:
    assert outcome("sigmoid") == "fine"
    with LosesFactor.faulty():
        assert outcome("sigmoid") == "wrong"


def test_an_error_of_a_kernel_is_no_missing_kernel() -> None:
    def broken(x: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
        raise ValueError("the kernel is broken")

    with mock.patch.dict(OnExample.kernels, {"sin.out": broken}), OnExample.faulty():
        assert outcome("sin") == "wrong"


def test_a_program_is_judged_as_far_as_there_are_kernels() -> None:
    program, check = parse(WITHOUT, VOCABULARY), Check(TARGET)
    observation = TARGET.observe(program)
    assert lacks_kernel(*observation)
    assert isinstance(raised := observation[2].outcome, Raised)
    assert raised.kind is Kind.NO_KERNEL
    check(program)
    assert check.judged == 2
    assert list(check.missing_kernels) == [
        "Could not run 'aten::_cummax_helper' with arguments from the 'example' backend"
    ]
    with mock.patch.object(registry, "write", lambda target, values: memory.array(target).fill(7.0)):
        violation = violation_of(program, TARGET)
    assert violation is not None
    assert violation.at == 1


def test_what_is_missing_is_asked_for_no_more() -> None:
    framework = FrameworkUnderTest(Settings("torch", device=DEVICE))
    framework.adopt_audit(AuditResult.from_json(AuditResult(missing=frozenset({"cummax"})).to_json()))
    assert {*EXAMPLE.ops} - {*framework.target.ops} == {"cummax"}
    assert "cummax" not in framework.saved_tensor_counter.ops
    assert "cummax" not in alphabet_of(framework.target, framework.drawable).ops
    assert unsupported_by(parse(WITHOUT, VOCABULARY), framework.target) == {"the op cummax"}
    assert "cummax" not in framework.faulty_ops


@pytest.mark.parametrize("device", ["cpu", DEVICE])
def test_checkpoints_work_where_the_device_is(device: str) -> None:
    target = InProcess(load("torch-checkpoint", device))
    program = parse("a = leaf [1, 2]; b = sin a; c = exp b; backward c with [1, 1]", VOCABULARY)
    assert target.regions(program)
    assert violation_of(program, target) is None


def test_a_young_device_may_lack_the_simplest_op() -> None:
    def absent(x: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError("Could not run 'aten::sin.out' with arguments from the 'example' backend")

    with mock.patch.dict(OnExample.kernels, {"sin.out": absent}), OnExample.faulty():
        smoke(Torch(DEVICE))


# -- runs -------------------------------------------------------------------------------------------------------------

FEW = 2
"""Number of programs that a test draws here."""


def test_the_rules_of_accumulation_are_kept() -> None:
    target = InProcess(OnExample())
    check = Check(target)
    with alphabet.using(alphabet_of(target, target.dtypes)):
        for probe in (probe for probe in probes((), (), FEW) if probe.rule.startswith("accumulation/")):
            assert failure(probe, check, 1) is None
    assert check.programs >= FEW * 10
    assert not check.missing_kernels


@pytest.mark.slow
def test_a_run_of_some_suites_passes(tmp_path: Path) -> None:
    suites = [f"suites/test_{name}.py" for name in ("accumulation", "lifetime", "modes")]
    framework = f"{OnExample.__module__}:{OnExample.__name__}"
    seen = run(tmp_path, *suites, f"--device={DEVICE}", f"--known={KNOWN}", framework=framework)
    assert seen.code == 0, seen.output
    assert seen.report is not None
    assert seen.report.header.device == DEVICE


@pytest.mark.slow
def test_a_run_says_what_is_missing(tmp_path: Path) -> None:
    missing, there = (f"suites/test_gradients.py::test_op_samples[{op}]" for op in ("cummax", "sin"))
    fused = "suites/test_corpus.py::test_corpus[fused-sgd-step-unseen]"
    framework = f"{Few.__module__}:{Few.__name__}"
    seen = run(tmp_path, missing, there, fused, f"--device={DEVICE}", framework=framework)
    assert seen.code == 0, seen.output
    assert "cummax" in seen.report.header.framework.missing_ops
    assert seen.report.header.framework.ops == len(Few.ops) - 1
    found = {result.test: (result.verdict, result.reason) for result in seen.report.results}
    assert found[there] == ("pass", None)
    assert found[missing] == ("not applicable", f"the device {DEVICE} has no cummax")
    assert found[fused] == (
        "not applicable",
        "no kernel for it: Could not run 'aten::_fused_sgd_' with arguments from the 'example' backend",
    )


ENDS = """
import torch, examples.device
a = torch.ones(3, device="example", requires_grad=True)
b = a.exp()
b.register_hook(lambda grad: 1 / 0)
b.sum().backward()
"""


@pytest.mark.slow
def test_a_hook_that_raises_ends_the_process() -> None:
    """In PyTorch 2.13, the guard of devices in Python calls Python for the device while the exception is still set."""
    ended = subprocess.run([sys.executable, "-c", ENDS], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode < 0
    assert "terminate called" in ended.stderr
