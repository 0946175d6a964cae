"""Adapters that do not inherit `Adapter`, or that use old names, run with a warning that says what to change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from autograd_conformance.frameworks import adapter as contract
from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.loading import older_adapters, registry
from autograd_conformance.frameworks.remote.worker import handshake
from autograd_conformance.frameworks.target import InProcess, load_adapter
from autograd_conformance.ops.catalogue import VOCABULARY, WRITES
from autograd_conformance.ops.limits import Limit
from autograd_conformance.programs.capabilities import PYTORCH, Capability, Traits
from autograd_conformance.programs.formats.parser import parse
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Returned
from examples.tiny_adapter import Tiny
from tests.frameworks.adapters.small import Functions, Small

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
        older_adapters.adopt_new_names(Old())
    assert Old().hook_result(3, "scale", 2) == 7


@pytest.mark.parametrize("old", ["HasForesight", "HasUnits", "HasTraits", "HasSimplerModes", "HasVjp", "FullAdapter"])
def test_names_of_former_protocols(old: str) -> None:
    with pytest.warns(FutureWarning, match=f"{old} is a part of Adapter now"):
        assert getattr(contract, old) is Adapter


def test_the_old_name_of_the_error() -> None:
    with pytest.warns(FutureWarning, match="BrokenAdapter is named AdapterError now"):
        assert registry.BrokenAdapter is registry.AdapterError


def without_base(like: type[Adapter], **members: Any) -> Any:
    """An adapter like another one, whose class does not inherit `Adapter`."""
    own: dict[str, Any] = {}
    for each in reversed(like.__mro__[: like.__mro__.index(Adapter)]):
        own.update({name: value for name, value in vars(each).items() if name not in ("__dict__", "__weakref__")})
    return type("Duck", (), own | members)()


def opened(like: type[Adapter], **members: Any) -> InProcess:
    with pytest.warns(FutureWarning, match="Duck has to inherit autograd_conformance.frameworks.adapter.Adapter"):
        return InProcess(without_base(like, **members))


def test_an_adapter_without_the_base_class_has_its_defaults() -> None:
    target, usual = opened(Tiny, insists=()), InProcess(type("Usual", (Tiny,), {"insists": ()})())
    assert not isinstance(target.adapter, Adapter)
    for each in (target, usual):
        assert each.traits == PYTORCH and each.trait_sources == {} and each.limits == {} and each.variables == {}
        assert each.writes == {*WRITES} and each.optimizers == contract.USUAL_OPTIMIZERS and each.modules == ()
        assert each.random is None and each.saved_tensor_counter is None and each.simpler_modes() == {}
        assert not each.has_regions and each.regions(PROGRAM) == () and each.programs_each == 0
    assert repr(target.observe(PROGRAM)) == repr(usual.observe(PROGRAM))
    assert handshake(target.adapter).keys() == handshake(usual.adapter).keys()


class Source:
    """A random number generator that remembers nothing."""

    def seed(self, number: int) -> None: ...
    def getstate(self) -> int:
        return 7

    def setstate(self, state: int) -> None: ...


@pytest.mark.parametrize(
    ("member", "value", "read"),
    [
        ("traits", Traits(copies=True), lambda target: target.traits),
        ("trait_sources", {"copies": "a page"}, lambda target: target.trait_sources),
        ("optimizers", {"sgd": ("lr",)}, lambda target: target.optimizers),
        ("writes", frozenset({"mul_"}), lambda target: target.writes),
        ("limits", {"sum": Limit(dimensions=(1,))}, lambda target: target.limits),
        ("modules", ("linear",), lambda target: target.modules),
        ("packages", ("examples",), lambda target: target.adapter.packages),
        ("insists", ("float64",), lambda target: target.adapter.insists),
        ("programs_each", 8, lambda target: target.programs_each),
    ],
)
def test_an_attribute_of_an_adapter_without_the_base_class(
    member: str, value: object, read: Callable[[InProcess], object]
) -> None:
    assert read(opened(Tiny, **{member: value})) == value


def test_methods_of_an_adapter_without_the_base_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_MODE", "on")
    prepared: list[Program] = []
    target = opened(
        Tiny,
        random=Source(),
        variables=("TINY_",),
        prepare=lambda self, program: prepared.append(program),
        simpler_modes=lambda self: {"without a layer": Tiny},
        saved_tensor_counter=lambda self: Tiny(),
    )
    target.observe(PROGRAM)
    assert prepared == [PROGRAM]
    assert [*target.simpler_modes()] == ["without a layer"]
    assert target.saved_tensor_counter is not None and isinstance(target.saved_tensor_counter.adapter, Tiny)
    assert target.random is not None and target.random.getstate() == 7
    assert target.variables == {"TINY_MODE": "on"}


def test_regions_of_an_adapter_without_the_base_class() -> None:
    units: list[str] = []

    def unit(self: Any, source: str, inputs: Any) -> Any:
        units.append(source)
        return (self.apply("sin", inputs, ())[0],)

    target = opened(Tiny, holds=lambda self, program, at, run: True, unit=unit)
    program = parse("a = leaf [1, 2]; b = sin a", VOCABULARY)
    assert target.has_regions and len(target.regions(program)) == 1
    assert isinstance(target.observe(program)[1].outcome, Returned)
    assert len(units) == 1


def test_a_functional_adapter_without_the_base_class() -> None:
    program = parse("a = leaf [1, 2]; b = multiply a a; c = grad b wrt a", VOCABULARY)
    target = opened(Functions)
    assert not hasattr(target.adapter, "grad")
    assert repr(target.observe(program)) == repr(InProcess(Functions()).observe(program))


@pytest.mark.filterwarnings("ignore:.*has to inherit:FutureWarning")
def test_an_adapter_without_the_base_class_is_loaded_and_tested() -> None:
    assert load_adapter(f"{__name__}:loaded").name == "tiny"
    with pytest.raises(registry.AdapterError, match=r"lacks write\(\), as it claims WRITES"):
        load_adapter(f"{__name__}:claiming")


def loaded(device: str) -> Any:
    return without_base(Tiny)


def claiming(device: str) -> Any:
    return without_base(Tiny, capabilities=Tiny.capabilities | {Capability.WRITES})


@pytest.mark.filterwarnings("ignore:.*has to inherit:FutureWarning")
def test_an_adapter_with_slots_is_completed() -> None:
    target = InProcess(without_base(Tiny, __slots__=()))
    assert target.modules == () and target.adapter.modules == ()


def test_a_base_that_is_listed_last_is_not_hidden_by_the_defaults() -> None:
    class Mixed:
        programs_each = 4
        traits = Traits(copies=True)

        def detach_in_place(self, value: Any) -> None: ...

    class Mine(Tiny, Mixed):
        traits = PYTORCH

    target = InProcess(Mine())
    assert target.programs_each == 4 and target.traits == PYTORCH
    assert contract.defines(target.adapter, "detach_in_place") and not contract.defines(target.adapter, "write")


def test_an_adapter_defines_a_method_of_its_class_or_of_itself() -> None:
    adapter = Tiny()
    assert contract.defines(adapter, "leaf") and not contract.defines(adapter, "saved")
    adapter.saved = lambda: 0  # type: ignore[method-assign]
    assert contract.defines(adapter, "saved")
