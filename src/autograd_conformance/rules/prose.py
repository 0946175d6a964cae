"""Writes lists, line numbers, counts and arrays as English text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Literal

from autograd_conformance.programs.own_numpy import np


def joined(words: Iterable[str]) -> str:
    """Returns a list in words, such as "x, y and z"; "nothing" for an empty list."""
    found = list(words)
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}" if found else "nothing"


def lines(at: Iterable[int]) -> str:
    """Returns the line numbers of instructions, which count from 0, in words, such as "lines 1 and 3"."""
    numbers = sorted({n + 1 for n in at})
    return f"line {numbers[0]}" if len(numbers) == 1 else f"lines {joined(map(str, numbers))}"


def saved_tensors(least: int | None, most: int | None, required: bool = False) -> str:
    """Returns a clause on the number of saved tensors that are, or have to be, alive, such as "at most 2 saved tensors
    are alive"; None means no bound, and equal bounds an exact number.
    """
    count = (most if least is None else least) or 0
    bound = "" if least == most else "at most " if least is None else "at least "
    are, tensors = ("is", "has to be"), "1 saved tensor"
    if count != 1:
        are, tensors = ("are", "have to be"), f"{count} saved tensors"
    return f"{bound}{tensors} {are[required]} alive"


DIGITS = 10
"""Maximum number of digits after the decimal point, unless more are needed to distinguish two numbers."""

NEAR = 1e4
"""Largest distance, in units in the last place, that is printed in these units."""


def shown(value: np.ndarray | None) -> str:
    """Returns an array as text on one line; `none` if there is no array."""
    return _written(value, DIGITS)


def shown_distinct(*values: np.ndarray | None) -> tuple[str, ...]:
    """Returns arrays as texts on one line each, with enough digits to distinguish those that differ."""
    texts = tuple(map(shown, values))
    if not _look_alike(values, texts):
        return texts
    exact = tuple(None if value is None else np.asarray(value, dtype=np.float64) for value in values)
    texts = tuple(_written(value, None) for value in exact)
    return _with_elements(exact, texts) if _look_alike(exact, texts) else texts


def shown_with_distance(value: np.ndarray | None, other: np.ndarray | None) -> tuple[str, str, str]:
    """Returns the texts of two arrays that differ, and a clause that gives their distance in units in the last place;
    the clause is empty if the distance is large.
    """
    one, two = shown_distinct(value, other)
    ulps = None if value is None or other is None else ulps_apart(value, other)
    if ulps is None or not 0 < ulps <= NEAR:
        return one, two, ""
    count = "1 unit" if ulps == 1 else f"{ulps:.4g} units"
    return one, two, f" ({count} in the last place of {_narrowest(value, other).name} apart)"


def ulps_apart(value: np.ndarray, other: np.ndarray) -> float | None:
    """Returns the largest distance between the elements of two arrays, in units in the last place of the narrower
    dtype; None if the shapes differ, there are no elements, or an element is not finite.
    """
    one, two = (np.asarray(each, dtype=np.float64) for each in (value, other))
    if one.shape != two.shape or not one.size or not np.isfinite([one, two]).all():
        return None
    ulp = np.spacing(np.maximum(np.abs(one), np.abs(two)).astype(_narrowest(value, other))).astype(np.float64)
    return float((np.abs(one - two) / ulp).max())


def _narrowest(*values: np.ndarray | None) -> np.dtype:
    """Returns the dtype with the fewest digits among some floating-point arrays."""
    given = (np.asarray(value).dtype for value in values if value is not None)
    floating = [dtype for dtype in given if dtype.kind == "f"]
    return min(floating, key=lambda dtype: dtype.itemsize, default=np.dtype(np.float64))


def _look_alike(values: Sequence[np.ndarray | None], texts: Sequence[str]) -> bool:
    """Whether two of some arrays differ although their texts are equal."""
    pairs = combinations(zip(values, texts, strict=True), 2)
    return any(one == two and not _is_same(value, other) for (value, one), (other, two) in pairs)


def _is_same(value: np.ndarray | None, other: np.ndarray | None) -> bool:
    if value is None or other is None:
        return value is other
    return np.array_equal(value, other, equal_nan=True)


def _with_elements(values: Sequence[np.ndarray | None], texts: Sequence[str]) -> tuple[str, ...]:
    """Returns the texts of arrays, each followed by the first element in which two of the arrays differ; for arrays
    printed without all elements.
    """
    pairs = combinations([value for value in values if value is not None], 2)
    differing = (np.argwhere(one != two) for one, two in pairs if np.shape(one) == np.shape(two))
    at = next((tuple(found[0].tolist()) for found in differing if len(found)), None)
    if at is None:
        return tuple(texts)
    place = ", ".join(map(str, at))
    return tuple(
        text if value is None or np.ndim(value) != len(at) else f"{text} with {float(value[at])!r} at [{place}]"
        for value, text in zip(values, texts, strict=True)
    )


def _written(value: np.ndarray | None, digits: int | None) -> str:
    """Returns an array as text on one line, with the given number of digits; if None, with as few digits as identify
    the numbers.
    """
    if value is None:
        return "none"
    mode: Literal["maxprec", "unique"] = "maxprec" if digits else "unique"
    with np.printoptions(precision=digits or 17, threshold=12, linewidth=10_000, floatmode=mode):
        text = np.array2string(np.asarray(value), separator=", ").replace("\n", "")
    return text if np.ndim(value) else text.removesuffix(".")
