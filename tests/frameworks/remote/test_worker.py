"""A Python adapter in another environment: the same observations and the same printed code, without installing the
suite.
"""

from __future__ import annotations

import json
import math
import platform
import re
import sys
import venv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.remote import protocol
from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.frameworks.remote.command import OWN, environment, parse, served
from autograd_conformance.frameworks.remote.worker import handshake
from autograd_conformance.frameworks.target import InProcess, load_adapter, open_target
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.printing.dialect import code
from autograd_conformance.programs.formats import observation_codec
from autograd_conformance.programs.formats.text import parse as program
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Observation, Returned, StepObservation, Tensor
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.random_programs import programs
from tests.frameworks.adapters.limited import Limited

TINY, FEW = "examples.tiny_adapter:Tiny", "tests.frameworks.adapters.few:Few"


def remote(name: str, python: str = sys.executable) -> Remote:
    target = open_target(served(name, python, None))
    assert isinstance(target, Remote)
    return target


def drawn(target: InProcess, number: int) -> list[Program]:
    """Programs for a framework."""
    before, found = alphabet.current(), []
    alphabet.use(alphabet_of(target, target.dtypes))

    @seed(1)
    @settings(
        max_examples=number, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(programs())
    def draw(case: Drawn) -> None:
        found.append(case.program)

    try:
        draw()
    finally:
        alphabet.use(before)
    return found


def shown(observation: Observation) -> str:
    """An observation as text, without addresses, which differ between processes."""
    return re.sub(r"identity=\d+", "identity", repr(observation))


def test_what_is_observed_over_the_wire_is_what_is_observed_here():
    here, there = InProcess(load_adapter(TINY)), remote(TINY)
    cases = drawn(here, 100)
    assert [shown(seen) for seen in there.observe_all(cases)] == [shown(here.observe(each)) for each in cases]
    for name in ("name", "version", "capabilities", "traits", "ops", "dtypes", "optimizers", "modules", "dialect"):
        assert getattr(there, name) == getattr(here, name)


def test_the_environment_of_the_server_is_reported():
    assert remote(TINY).environment == (f"Python {platform.python_version()}", f"numpy {np.__version__}")
    assert InProcess(load_adapter(TINY)).environment == ()


def test_where_traits_are_documented_goes_over_the_wire():
    sources = remote("torch-checkpoint").trait_sources
    assert sources == InProcess(load_adapter("torch-checkpoint")).trait_sources
    assert sources


def test_writes_and_limits_go_over_the_wire():
    said = protocol.handshake(json.dumps(handshake(Limited())).encode())
    assert said.writes == frozenset(Limited.writes)
    assert said.limits == {
        name: replace(limit, attrs={key: tuple(values) for key, values in limit.attrs.items()})
        for name, limit in Limited.limits.items()
    }


def test_a_limit_on_what_there_is_not_is_refused():
    with pytest.raises(protocol.MalformedReply, match="limits names somersault, which does not exist"):
        protocol.handshake(json.dumps(handshake(Limited()) | {"limits": {"somersault": {}}}).encode())


def test_an_environment_with_numpy_alone_serves_an_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    venv.create(tmp_path / "bare", with_pip=False)
    (packages,) = (tmp_path / "bare" / "lib").glob("python*/site-packages")
    installed = Path(np.__file__).parents[1]
    for name in ("numpy", "numpy.libs"):
        if (installed / name).exists():
            (packages / name).symlink_to(installed / name)
    monkeypatch.setenv("PYTHONPATH", str(installed))  # which it is not handed
    target = remote(TINY, str(tmp_path / "bare" / "bin" / "python"))
    assert target.script == (str(tmp_path / "bare" / "bin" / "python"),)
    assert len(target.observe(program("a = leaf [1, 2]; b = sin a; backward b with [1, 1]", VOCABULARY))) == 3
    (packages / "numpy").unlink()
    with pytest.raises(AdapterError, match=r"bare/bin/python has no NumPy, which an adapter needs: .* -m pip install"):
        remote(TINY, str(tmp_path / "bare" / "bin" / "python"))


def test_a_command_has_the_environment_of_its_user(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", "/of/the/suite")
    monkeypatch.setenv(OWN, "/of/the/user")
    command, ours = parse("remote: node far.mjs"), parse(served(TINY, sys.executable, None))
    assert command is not None
    assert ours is not None
    assert environment(command)["PYTHONPATH"] == "/of/the/user"
    assert not {"PYTHONPATH", OWN} & environment(ours).keys()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("examples.tiny_adapter:Huge", "module examples.tiny_adapter has no 'Huge'"),
        ("tests.frameworks.adapters.unusable:Incomplete", "the adapter lacks backward, classify"),
        ("tests.frameworks.adapters.unusable:Leafless", "leaf() raised NotImplementedError: to be"),
    ],
)
def test_an_adapter_that_cannot_be_used_says_why(name: str, said: str):
    with pytest.raises(AdapterError) as caught:
        remote(name)
    assert said in str(caught.value)


def test_what_the_framework_prints_is_no_answer():
    there = remote("tests.frameworks.remote.adapters:Chatty")
    assert len(there.observe(program("a = leaf [1]; b = sin a", VOCABULARY))) == 2


def test_a_seed_goes_over_with_the_next_program():
    there = remote("tests.frameworks.remote.adapters:Drawing")
    case = program("a = leaf [0, 0]; b = sin a", VOCABULARY)
    assert there.random is not None

    def values() -> list[float]:
        outcome = there.observe(case)[1].outcome
        assert isinstance(outcome, Returned)
        assert outcome.values[0] is not None
        return outcome.values[0].value.tolist()

    there.random.seed(7)
    first, second = values(), values()
    there.random.seed(7)
    assert (values(), values()) == (first, second)
    assert first != second


@pytest.mark.slow
def test_pytorch_in_another_process_writes_the_same_code_and_counts_what_it_saves():
    here, there = InProcess(load_adapter(FEW)), remote(FEW)
    cases = drawn(here, 60)
    assert there.dialect is not None
    assert [code(each, there.dialect) for each in cases] == [code(each, here.dialect) for each in cases]
    counter = there.saved_tensor_counter
    if here.saved_tensor_counter is not None:
        assert counter is not None
        assert counter.capabilities == here.saved_tensor_counter.capabilities
    assert [len(seen) for seen in map(there.observe_printed, cases[:5])] == [len(each) for each in cases[:5]]


# -- numbers


NUMBERS = [0.1, -0.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan, 1 / 3]


@pytest.mark.parametrize(
    "value",
    [
        np.array(NUMBERS),
        np.array(NUMBERS[:3] + NUMBERS[4:]).astype("float32"),
        np.array([0.1, 65504, math.inf], "float16"),
        np.array([[1, 2], [3, -(2**53) - 1]], "int64"),
        np.array([2**64 - 1], "uint64"),
        np.array([True, False]),
        np.array([1 + 2j, complex(math.nan, -0.0)]),
        np.array(3.5),
        np.zeros((2, 0, 3), "float32"),
    ],
    ids=lambda value: f"{value.dtype}{list(value.shape)}",
)
def test_an_array_comes_back_bit_for_bit(value: np.ndarray):
    sent: Observation = (StepObservation(Returned((Tensor(value, value.dtype.name, True, 7, (1,)),))),)
    form = json.loads(json.dumps(observation_codec.to_json(sent), allow_nan=False))
    (seen,) = observation_codec.from_json(form, program("a = leaf [1]"))
    assert isinstance(seen.outcome, Returned)
    got = seen.outcome.values[0]
    assert got is not None
    assert (got.value.dtype, got.value.shape, got.value.tobytes()) == (value.dtype, value.shape, value.tobytes())
    assert (got.requires_grad, got.memory, got.strides) == (True, 7, (1,))


def test_a_dtype_that_numpy_lacks_says_how_its_numbers_are_read():
    sent: Observation = (StepObservation(Returned((Tensor(np.ones(2, "float32"), "bfloat16", None),))),)
    form = observation_codec.to_json(sent)
    assert form[0]["returned"][0]["array"] == "float32"
    (seen,) = observation_codec.from_json(form, program("a = leaf [1, 1]"))
    assert isinstance(seen.outcome, Returned)
    assert seen.outcome.values[0] is not None
    assert seen.outcome.values[0].dtype == "bfloat16"
