"""The default dtype: programs change it now and then, and it is restored after each program."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, seed, settings

from autograd_conformance.checking.audit import programs as audit
from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.reduce import reduced
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.pytorch.modes.checkpoints import TorchCheckpoint
from autograd_conformance.frameworks.pytorch.modes.compiled import TorchCompileAotDynamic
from autograd_conformance.frameworks.remote.worker import Worker
from autograd_conformance.frameworks.running.printed import run_printed
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import known
from autograd_conformance.ops.tables import OPS
from autograd_conformance.printing.dialect import code
from autograd_conformance.programs.capabilities import Capability, needs
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import parse, render
from autograd_conformance.programs.language import DefaultDtype, Program
from autograd_conformance.programs.observations import Raised, Returned
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.random_programs import programs
from autograd_conformance.strategies.relations.interleaving import interleavings
from autograd_conformance.strategies.sequences import sequences
from examples.tiny_adapter import Tiny

DET = parse("default_dtype float64; a = leaf f32 [[2, 1], [1, 3]]; b = det a; backward b")
SINE = parse("default_dtype float64; a = leaf f32 [1, 2]; b = sin a; backward b with f32 [1, 1]")
FAILS = parse("default_dtype float64; a = leaf f32 [1, 2]; b = sin a; backward b; c = sin b")


class Seen(Torch):
    """PyTorch that records the default dtype of each op."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[torch.dtype] = []

    def apply(self, op, operands, attrs):  # type: ignore[no-untyped-def]
        self.seen.append(torch.get_default_dtype())
        return super().apply(op, operands, attrs)


@pytest.mark.parametrize("program", [SINE, DET, FAILS])
def test_a_program_runs_under_it_and_leaves_nothing_behind(program: Program) -> None:
    adapter = Seen()
    run(program, adapter)
    assert set(adapter.seen) == {torch.float64}
    assert torch.get_default_dtype() == torch.float32


def test_it_may_change_in_the_midst_of_a_program() -> None:
    adapter = Seen()
    run(parse("a = leaf [1]; b = sin a; default_dtype float64; c = sin b; default_dtype float32; d = sin c"), adapter)
    assert adapter.seen == [torch.float32, torch.float64, torch.float32]


def test_a_process_whose_default_is_another_keeps_that() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        run(parse("default_dtype float32; a = leaf [1]; b = sin a"), Torch())
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_the_printed_code_does_the_same() -> None:
    adapter = Torch()
    assert code(SINE, adapter.dialect)[0] == "torch.set_default_dtype(torch.float64)"
    assert isinstance(run_printed(DET, adapter)[-1].outcome, Raised)
    assert all(isinstance(seen.outcome, Returned) for seen in run_printed(SINE, adapter))
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize("program", [SINE, DET])
def test_it_is_in_both_forms_of_a_program(program: Program) -> None:
    assert codec.loads(codec.dumps(program)) == program
    assert parse(render(program)) == program


def test_det_differs_as_it_is_known_to_and_without_it_does_not() -> None:
    check = Check(InProcess(Torch()))
    with pytest.raises(RuleViolated) as caught:
        check(DET)
    assert caught.value.violation.rule == "errors/legal-returns"
    check(parse("a = leaf f32 [[2, 1], [1, 3]]; b = det a; backward b"))
    Check(InProcess(Torch()), known=known("torch"))(DET)


def test_it_stays_in_a_reduced_program_only_where_it_matters() -> None:
    matters = parse("default_dtype float64; a = leaf f32 [[2, 1], [1, 3]]; b = sin a; c = det a; backward c")
    with pytest.raises(RuleViolated) as caught:
        Check(InProcess(Torch()))(matters)
    assert isinstance(reduced(Case.of(caught.value)).program[0], DefaultDtype)

    class Doubles(Torch):
        def apply(self, op, operands, attrs):  # type: ignore[no-untyped-def]
            return (
                [2 * made for made in super().apply(op, operands, attrs)]
                if op == "sin"
                else super().apply(op, operands, attrs)
            )

    with pytest.raises(RuleViolated) as caught:
        Check(InProcess(Doubles()))(SINE)
    assert not any(isinstance(step, DefaultDtype) for step in reduced(Case.of(caught.value)).program)


# -- who is asked


@pytest.mark.parametrize("adapter", [Tiny(), TorchCheckpoint(), TorchCompileAotDynamic()])
def test_who_does_not_claim_it_lacks_it(adapter) -> None:  # type: ignore[no-untyped-def]
    assert needs(SINE) >= {Capability.DEFAULT_DTYPE}
    assert unsupported_by(SINE, InProcess(adapter)) >= {Capability.DEFAULT_DTYPE.value}


def drawn(strategy, claims: bool, number: int = 300) -> list[Program]:  # type: ignore[no-untyped-def]
    """Programs for PyTorch, or for a framework that does not claim default dtypes."""
    found: list[Program] = []

    @seed(1)
    @settings(max_examples=number, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(strategy)
    def draw(case) -> None:  # type: ignore[no-untyped-def]
        found.extend([case.program] if isinstance(case, Drawn) else [case.first, case.second])

    its = alphabet_of(InProcess(Torch()), ("float64", "float32"))
    its = its if claims else replace(its, capabilities=its.capabilities - {Capability.DEFAULT_DTYPE})
    with alphabet.using(its):
        draw()
    return found


def share(programs: list[Program]) -> float:
    """The share of programs that change the default dtype."""
    return sum(any(isinstance(step, DefaultDtype) for step in each) for each in programs) / len(programs)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [programs(), sequences()])
def test_one_program_in_so_many_has_another(strategy) -> None:  # type: ignore[no-untyped-def]
    assert 0.01 < share(drawn(strategy, claims=True)) < 0.12
    assert share(drawn(strategy, claims=False)) == 0


def test_programs_that_are_to_agree_have_none() -> None:
    assert share(drawn(interleavings(), claims=True, number=60)) == 0


@pytest.mark.parametrize("op", ["det", "sin", "conv2d"])
def test_each_op_is_tried_under_another(op: str) -> None:
    with alphabet.using(alphabet_of(InProcess(Torch()), ("float64", "float32"))):
        (program,) = audit.under_another_default(op, ("float64", "float32"))
    assert program[0] == DefaultDtype("float64")
    with alphabet.using(alphabet_of(InProcess(Tiny()), ("float64",))):
        assert not list(audit.under_another_default("sin", ("float64",)))
    assert op in OPS


def test_a_worker_takes_it_and_leaves_nothing_behind() -> None:
    worker = Worker("torch")
    worker.reply({"do": "hello", "protocol": 1, "device": "cpu", "counts_saved": False, "plainer": None})
    answer = worker.reply({"do": "run", "id": 1, "program": codec.to_json(DET)})
    assert "lu_solve" in answer["observation"][-1]["raised"]["message"]
    assert torch.get_default_dtype() == torch.float32
