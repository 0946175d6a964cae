"""The private names of Hypothesis that the suite uses. No other file uses any.

`INTERNALS` lists the names that a run needs and checks when it begins. `OF_TOOLS` lists the names that `evaluation/`
and `tests/` need. A test checks each name.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from autograd_conformance.package.internals import Internal, accepts, assigns

if TYPE_CHECKING:
    from hypothesis.internal.conjecture.data import ConjectureData
    from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
else:
    try:
        from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
    except ImportError:  # the run ends before a program is drawn
        AVAILABLE_PROVIDERS, HypothesisProvider = None, object

FILE = "strategies/building/randomness/hypothesis_internals.py"


class Provider(HypothesisProvider):
    """A Hypothesis backend that publishes the state of a program as `data` and the seed's generator as `random`, and
    draws no constants.

    Needs `PrimitiveProvider._cd`, `HypothesisProvider._random` and `HypothesisProvider._maybe_draw_constant`. The
    documented interface of backends has neither the state of the program nor the random numbers of the seed, and a test
    cannot switch the constants off.
    """

    data: ConjectureData | None
    """Hypothesis's state of the program; None if the provider draws none."""

    random: Random | None
    """The random numbers of the seed; None if the provider draws none."""

    def __init__(self, conjecturedata: ConjectureData | None, /) -> None:
        super().__init__(conjecturedata)
        self.data, self.random = self._cd, self._random

    def _maybe_draw_constant(self, *constraints: Any, **more: Any) -> None:
        """Returns None, so that Hypothesis draws no constants from the source code of loaded modules."""


def register(name: str, provider: type[Provider]) -> None:
    """Makes a backend known to Hypothesis's settings. Needs `AVAILABLE_PROVIDERS`: there is no function for it."""
    if has_providers():
        AVAILABLE_PROVIDERS[name] = f"{provider.__module__}.{provider.__name__}"


def has_providers() -> bool:
    """Whether backends can be registered with Hypothesis; if not, a run ends before it draws."""
    return AVAILABLE_PROVIDERS is not None


def provider_of(draw: Callable[..., Any]) -> object:
    """Returns the backend that the `draw` of a composite strategy uses; None if `draw` is another function.

    Needs `draw` to be a method of `ConjectureData`, and `ConjectureData.provider`: a strategy has no public way to its
    backend.
    """
    return getattr(getattr(draw, "__self__", None), "provider", None)


def record(data: ConjectureData, choice: int | bytes | bool) -> None:
    """Passes Hypothesis a choice that a backend has made already.

    Needs `draw_boolean`, `draw_integer` and `draw_bytes` of `ConjectureData` with `forced`: public strategies cannot
    draw a given value.
    """
    match choice:
        case bool():
            data.draw_boolean(forced=choice)
        case int():
            data.draw_integer(forced=choice)
        case bytes():
            data.draw_bytes(len(choice), len(choice), forced=choice)


def room(data: ConjectureData) -> int:
    """Returns the number of bytes that a program can still take. Needs `ConjectureData.max_length` and `.length`:
    Hypothesis publishes neither its limit nor the size so far.
    """
    return data.max_length - data.length


def has_ended(data: ConjectureData) -> bool:
    """Whether a program takes no more choices. Needs `ConjectureData.frozen`: a backend cannot find out otherwise."""
    return data.frozen


def examples_of(test: object) -> int | None:
    """Returns the largest number of examples that a test may draw (`max_examples`); None if it draws none. Needs
    `_hypothesis_internal_use_settings`: the settings of another test cannot be read in public.
    """
    given = getattr(test, "_hypothesis_internal_use_settings", None)
    return None if given is None else given.max_examples


def body_of(test: Callable[..., None]) -> tuple[Callable[..., None], dict[str, Any]]:
    """Returns the function under `@given`, and its strategies by name. Needs `_given_kwargs` of the test's handle: only
    `inner_test` is public.
    """
    handle = test.hypothesis  # type: ignore[attr-defined]
    return handle.inner_test, handle._given_kwargs


def makes_strategy(function: object) -> bool:
    """Whether a function is a composite strategy. Needs `is_hypothesis_strategy_function`: nothing public is set."""
    return getattr(function, "is_hypothesis_strategy_function", False)


@st.composite
def _nothing(draw: st.DrawFn) -> None:
    """Draws None; an example of a composite strategy on which private names are checked."""
    draw(st.none())


def _example(unused: None) -> None:
    """Does nothing; an example of a test with a drawn argument on which private names are checked."""


def _draws_with_data() -> bool:
    from hypothesis.strategies._internal.core import CompositeStrategy

    return assigns(CompositeStrategy.do_draw, "draw") and assigns(_data().__init__, "provider")


def _data() -> type[ConjectureData]:
    from hypothesis.internal.conjecture.data import ConjectureData

    return ConjectureData


def _listed(checks: dict[str, Callable[[], bool]]) -> tuple[Internal, ...]:
    return tuple(Internal("hypothesis", name, FILE, is_there) for name, is_there in checks.items())


INTERNALS = _listed(
    {
        "AVAILABLE_PROVIDERS and HypothesisProvider": has_providers,
        "PrimitiveProvider._cd": lambda: hasattr(HypothesisProvider(None), "_cd"),
        "HypothesisProvider._random": lambda: hasattr(HypothesisProvider(None), "_random"),
        "HypothesisProvider._maybe_draw_constant": lambda: hasattr(HypothesisProvider, "_maybe_draw_constant"),
        "CompositeStrategy.do_draw with ConjectureData.provider": _draws_with_data,
        "ConjectureData.draw_boolean(forced)": lambda: accepts(_data().draw_boolean, "forced"),
        "ConjectureData.draw_integer(forced)": lambda: accepts(_data().draw_integer, "forced"),
        "ConjectureData.draw_bytes(min_size, max_size, forced)": lambda: accepts(
            _data().draw_bytes, "min_size", "max_size", "forced"
        ),
        "ConjectureData.max_length": lambda: assigns(_data().__init__, "max_length"),
        "ConjectureData.length": lambda: assigns(_data().__init__, "length"),
        "ConjectureData.frozen": lambda: assigns(_data().__init__, "frozen"),
        "_hypothesis_internal_use_settings": lambda: examples_of(given(st.none())(_example)) is not None,
    }
)
"""The private names that a run needs, each with a check."""

OF_TOOLS = _listed(
    {
        "_given_kwargs": lambda: body_of(given(unused=st.none())(_example))[1].keys() == {"unused"},
        "is_hypothesis_strategy_function": lambda: makes_strategy(_nothing),
    }
)
"""The private names that only `evaluation/` and `tests/` need, each with a check."""
