"""Each baseline finds an easy fault, passes PyTorch itself, and restores PyTorch's functions."""

from __future__ import annotations

import pytest
import torch

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from evaluation.baselines import opinfo
from evaluation.baselines.cases import BASELINES, OURS
from evaluation.baselines.comparison import Round, can_detect, changed, compare, round_of
from evaluation.baselines.substitution import substituted, with_tensor_cotangents
from evaluation.mutants import MUTANTS
from evaluation.mutants.generated import GENERATED
from evaluation.mutants.mutant import Honest

OPS = ("sin", "multiply", "matmul", "exp")
NAMES = [name for name in BASELINES if name != "OpInfo" or opinfo.available()]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rounds() -> dict[str, Round]:
    return {name: round_of(BASELINES[name], 4.0, OPS) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_finds_a_flipped_sign(name: str, rounds: dict[str, Round]) -> None:
    find = compare(rounds[name], GENERATED["sin_sign"])
    assert find.could and find.found


@pytest.mark.parametrize("name", NAMES)
def test_passes_pytorch_itself(name: str, rounds: dict[str, Round]) -> None:
    made = rounds[name]
    assert made.cases
    assert len(made.alarms) <= len(made.cases) // 100  # a random graph may be badly conditioned
    honest = with_tensor_cotangents(Honest)()
    assert not any(case.complains(honest) for case in made.cases[:20])


def test_complains_about_pytorch_itself() -> None:
    assert round_of(
        BASELINES["gradcheck"], 0.2, ("astype_float32",)
    ).alarms  # its results are too coarse for finite differences


def test_only_second_derivatives_show_a_bent_derivative(rounds: dict[str, Round]) -> None:
    bent = GENERATED["exp_bent"]
    assert compare(rounds["gradgradcheck"], bent).found
    assert not compare(rounds["gradcheck"], bent).could
    assert not any(case.complains(with_tensor_cotangents(bent)()) for case in rounds["gradcheck"].cases[:20])


def test_small_or_other_faults_cannot_be_detected() -> None:
    assert not any(can_detect(BASELINES[name], GENERATED["exp_slight"]) for name in BASELINES if name != OURS)
    assert can_detect(BASELINES[OURS], GENERATED["exp_slight"])
    assert changed(MUTANTS["mutants/overwrites"]) >= {"backward"}
    assert not can_detect(BASELINES["gradcheck"], MUTANTS["mutants/overwrites"])
    assert can_detect(BASELINES["graph fuzzer"], MUTANTS["mutants/overwrites"])


def test_the_mutants_calls_replace_torchs() -> None:
    class Loud(Honest):
        """A mutant whose functional gradient is a thousand times too large."""

        def grad(self, *given: object) -> list[torch.Tensor]:  # type: ignore[override]
            return [1000 * g for g in super().grad(*given)]  # type: ignore[arg-type, operator]

    mutant, kept, apply = with_tensor_cotangents(Loud)(), torch.autograd.grad, TorchEager.apply
    with substituted(mutant):
        x = torch.tensor(3.0, requires_grad=True)
        assert torch.autograd.grad(x * x, x)[0].item() == 6000
    assert torch.autograd.grad is kept
    assert TorchEager.apply is apply


@pytest.mark.skipif(not opinfo.available(), reason="the database needs the package expecttest")
def test_most_ops_have_samples() -> None:
    assert sum(bool(opinfo.samples(op, 1)) for op in OPS) == len(OPS)
    assert opinfo.name_of("add_scaled") == "add"
    assert opinfo.name_of("layer_norm") == "nn.functional.layer_norm"
