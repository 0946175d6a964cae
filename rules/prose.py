"""Lists, lines and arrays in words."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_conformance.programs.own_numpy import np


def joined(words: Iterable[str]) -> str:
    """A list in words."""
    found = list(words)
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}" if found else "nothing"


def lines(at: Iterable[int]) -> str:
    """Some instructions as lines."""
    numbers = sorted({n + 1 for n in at})
    return f"line {numbers[0]}" if len(numbers) == 1 else f"lines {joined(map(str, numbers))}"


def shown(value: np.ndarray | None) -> str:
    """An array on one line, in as many digits as tell two results apart; `none` where there is none."""
    if value is None:
        return "none"
    with np.printoptions(precision=10, threshold=12, linewidth=10_000):
        text = np.array2string(np.asarray(value), separator=", ").replace("\n", "")
    return text if np.ndim(value) else text.removesuffix(".")
