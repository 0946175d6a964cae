"""Each rival finds an easy fault, passes PyTorch where nothing is wrong, and leaves PyTorch alone."""

from __future__ import annotations

import pytest
import torch
from autograd_conformance.frameworks.pytorch.eager import TorchEager

from tests.baselines import opinfo
from tests.baselines.cases import OURS, RIVALS
from tests.baselines.faulty import before, opened
from tests.baselines.race import Lap, changed, lap, race, sees
from tests.mutants import ZOO
from tests.mutants.generated import GENERATED
from tests.mutants.kit import Honest

OPS = ("sin", "multiply", "matmul", "exp")
NAMES = [name for name in RIVALS if name != "OpInfo" or opinfo.available()]


@pytest.fixture(scope="module")
def laps() -> dict[str, Lap]:
    return {name: lap(RIVALS[name], 1.5, OPS) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_finds_a_flipped_sign(name: str, laps: dict[str, Lap]) -> None:
    find = race(laps[name], GENERATED["sin_sign"])
    assert find.could and find.found


@pytest.mark.parametrize("name", NAMES)
def test_passes_what_is_right(name: str, laps: dict[str, Lap]) -> None:
    made = laps[name]
    assert made.cases
    assert len(made.alarms) <= len(made.cases) // 100  # a random graph may be badly conditioned
    honest = opened(Honest)()
    assert not any(case.complains(honest) for case in made.cases[:20])


def test_complains_about_what_torch_itself_does() -> None:
    assert lap(
        RIVALS["gradcheck"], 0.2, ("astype_float32",)
    ).alarms  # its results are too coarse for finite differences


def test_only_second_derivatives_show_a_bent_one(laps: dict[str, Lap]) -> None:
    bent = GENERATED["exp_bent"]
    assert race(laps["gradgradcheck"], bent).found
    assert not race(laps["gradcheck"], bent).could
    assert not any(case.complains(opened(bent)()) for case in laps["gradcheck"].cases[:20])


def test_what_is_too_small_or_elsewhere_is_not_seen() -> None:
    assert not any(sees(RIVALS[name], GENERATED["exp_slight"]) for name in RIVALS if name != OURS)
    assert sees(RIVALS[OURS], GENERATED["exp_slight"])
    assert changed(ZOO["zoo/overwrites"]) >= {"backward"}
    assert not sees(RIVALS["gradcheck"], ZOO["zoo/overwrites"])
    assert sees(RIVALS["graph fuzzer"], ZOO["zoo/overwrites"])


def test_the_members_calls_stand_in_for_torchs() -> None:
    class Loud(Honest):
        """A member whose functional gradient is a thousand times too large."""

        def grad(self, *given: object) -> list[torch.Tensor]:  # type: ignore[override]
            return [1000 * g for g in super().grad(*given)]  # type: ignore[arg-type, operator]

    member, kept = opened(Loud)(), torch.autograd.grad
    with before(member):
        x = torch.tensor(3.0, requires_grad=True)
        assert torch.autograd.grad(x * x, x)[0].item() == 6000
    assert torch.autograd.grad is kept
    assert TorchEager.apply.__module__ == "autograd_conformance.frameworks.pytorch.eager"


@pytest.mark.skipif(not opinfo.available(), reason="the database needs the package expecttest")
def test_most_ops_have_samples() -> None:
    assert sum(bool(opinfo.samples(op, 1)) for op in OPS) == len(OPS)
    assert opinfo.name_of("add_scaled") == "add"
    assert opinfo.name_of("layer_norm") == "nn.functional.layer_norm"
