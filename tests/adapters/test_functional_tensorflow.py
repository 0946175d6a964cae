"""TensorFlow, eager and with `tf.function`, as frameworks under test, if it is installed."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")

from autograd_conformance.adapters.tensorflow.adapter import TensorFlow, TensorFlowFunction
from autograd_conformance.adapters.tensorflow.forward import TensorFlowForward
from autograd_conformance.checking.check import first_violation, violation_of
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import is_known, known
from autograd_conformance.programs.observations import Kind, Raised, Returned
from tests.frameworks.test_functional import OF_NUMBER, PROGRAMS, SECOND, SEVERAL, ZEROS, program_of

ADAPTERS = (TensorFlow, TensorFlowFunction, TensorFlowForward)
TARGETS = {make.name: InProcess(make()) for make in ADAPTERS}

each = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


@pytest.mark.parametrize("make", ADAPTERS)
def test_they_are_adapters(make: type[TensorFlow]):
    smoke(make())


@each
@pytest.mark.parametrize("text", PROGRAMS)
def test_derivatives_of_every_order_are_right(text: str, target: InProcess):
    program = program_of(text)
    assert violation_of(program, target) is None
    assert all(isinstance(seen.outcome, Returned) for seen in target.observe(program))


@each
@pytest.mark.parametrize("text", [SECOND, SEVERAL, OF_NUMBER])
def test_printed_code_does_the_same(text: str, target: InProcess):
    program = program_of(text)
    printed = target.observe_printed(program)
    assert first_violation(program, printed, target) is None
    assert all(isinstance(seen.outcome, Returned) for seen in printed)


@each
@pytest.mark.parametrize(("op", "dims"), [("cholesky", "(0,1,2)"), ("eigvalsh", "(0,1)")])
def test_matrices_are_made_symmetric_one_by_one(op: str, dims: str, target: InProcess):
    text = f"a = leaf [[[4, 1], [2, 3]], [[5, 0], [1, 2]]]; b = {op} a"
    program = program_of(f"{text}; c = sum b dim={dims} keepdim=False; d = grad c wrt a with 1 {ZEROS}")
    assert violation_of(program, target) is None
    assert all(isinstance(seen.outcome, Returned) for seen in target.observe(program))


@pytest.mark.parametrize(
    ("mode", "entry"),
    [(mode, entry) for mode in ("tensorflow", "tensorflow-function") for entry in known(mode) if not entry.inherited],
    ids=lambda each: getattr(each, "op", each),
)
def test_each_difference_shows_in_its_witness(mode: str, entry):
    violation = violation_of(entry.witness, TARGETS[mode])
    assert violation is not None
    assert is_known(entry, entry.witness, violation)


@each
def test_a_fault_is_seen(target: InProcess):
    class Doubled(type(target.adapter)):  # type: ignore[misc]
        def vjp(self, function, values, cotangents):
            return [2 * made for made in super().vjp(function, values, cotangents)]

    violation = violation_of(program_of(SEVERAL), InProcess(Doubled()))
    assert violation is not None
    assert violation.rule.startswith("gradients/")


@each
def test_an_op_without_a_second_derivative_says_so(target: InProcess):
    program = program_of(SECOND.replace("sin", "softsign"))
    assert violation_of(program, target) is None
    refused = [seen.outcome for seen in target.observe(program) if isinstance(seen.outcome, Raised)]
    assert [each.kind for each in refused] == [Kind.NOT_IMPLEMENTED]
