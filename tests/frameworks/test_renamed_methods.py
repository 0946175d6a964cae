"""Adapters that use old names of methods or protocols run, with a warning that gives the new name."""

from __future__ import annotations

from typing import Any

import pytest

from autograd_conformance.frameworks import adapter as contract
from autograd_conformance.frameworks import registry, requirements
from autograd_conformance.frameworks.adapter import HasPreparation, HasSimplerModes
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.parser import parse
from autograd_conformance.programs.language import Program
from tests.frameworks.adapters.small import Small

PROGRAM = parse("a = leaf [1, 2]", VOCABULARY)


def test_methods_under_old_names_are_called() -> None:
    calls: list[str] = []

    class Old(Small):
        def foresee(self, program: Program) -> None:
            calls.append("foresee")

        def plainer(self) -> dict[str, Any]:
            return {"without a layer": Small}

    with pytest.warns(FutureWarning) as warned:
        target = InProcess(Old())
    assert ["Old.foresee is named prepare now" in str(each.message) for each in warned] == [True, False]
    assert "plainer is named simpler_modes now" in str(warned[1].message)
    assert isinstance(target.adapter, HasPreparation)
    assert isinstance(target.adapter, HasSimplerModes)
    target.observe(PROGRAM)
    assert calls == ["foresee"]
    assert [*target.simpler_modes()] == ["without a layer"]


def test_an_override_under_the_old_name_replaces_the_inherited_method() -> None:
    class Base:
        def hook_result(self, gradient: Any, effect: str, factor: float) -> Any:
            return gradient * factor

    class Old(Base):
        def altered(self, gradient: Any, effect: str, factor: float) -> Any:
            return 1 + super().altered(gradient, effect, factor)  # type: ignore[misc]

    with pytest.warns(FutureWarning, match=r"Old\.altered is named hook_result now"):
        requirements.adopt_new_names(Old())
    assert Old().hook_result(3, "scale", 2) == 7


@pytest.mark.parametrize("old", ["HasForesight", "HasUnits", "HasCostlyUnits", "HasPlainer"])
def test_old_names_of_protocols(old: str) -> None:
    with pytest.warns(FutureWarning, match=f"{old} is named Has"):
        assert getattr(contract, old) is not None


def test_the_old_name_of_the_error() -> None:
    with pytest.warns(FutureWarning, match="BrokenAdapter is named AdapterError now"):
        assert registry.BrokenAdapter is registry.AdapterError
