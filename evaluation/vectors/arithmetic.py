"""The arithmetic of a runner of vectors, as docs/vectors.md describes it: plain JSON on both sides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Any


def difference(got: Json, want: Json) -> str | None:
    """How a tensor differs from the expected one; None if it does not."""
    if got is None or want is None:
        is_right = got is want or (got is None and want.get("may_be_missing"))
        return None if is_right else "a tensor is missing, or should be"
    for form in ("shape", "dtype"):
        if got[form] != want[form]:
            return f"{form} {got[form]} in place of {want[form]}"
    if got.get("requires_grad", want.get("requires_grad")) != want.get("requires_grad", got.get("requires_grad")):
        return f"requires_grad is {got['requires_grad']}"
    for x, right, bound in zip(got["data"], want["data"], want["bound"], strict=True):
        if not abs(float(x) - right) <= bound:
            return f"{x} in place of {right}, which may be off by {bound}"
    return None


def wrong(seen: Json, want: Json) -> str | None:
    """How the outcome of an instruction differs from the expected one; None if it does not."""
    if "skipped" in want:
        return None if seen.get("skipped") else "it ran"
    if "raised" in want:
        return None if seen.get("raised", {}).get("kind") == want["raised"] else f"expected the error {want['raised']}"
    if "returned" not in seen:
        return f"expected that it returns: {seen}"
    fired: dict[str, list[Json]] = {}
    for call in seen.get("fired", ()):
        fired.setdefault(call["hook"], []).append(call["gradient"])
    if dict.fromkeys(want.get("fired", ()), 1) != {hook: len(calls) for hook, calls in fired.items()}:
        return "other hooks were called"
    last = {hook: calls[-1] for hook, calls in fired.items()}
    found = [difference(got, right) for got, right in zip(seen["returned"], want["returned"], strict=True)]
    found += _named(seen.get("gradients", {}), want.get("gradients", {}))
    found += _named(seen.get("values", {}), want.get("values", {})) + _named(last, want.get("fired", {}))
    return next(filter(None, found), None)


def _named(got: Mapping[str, Json], want: Mapping[str, Json]) -> list[str | None]:
    return [difference(got[name], right) for name, right in want.items() if name in got]


def first_wrong(observation: list[Json], expected: list[Json]) -> str | None:
    """The first difference in a program; None if the vector is right."""
    for seen, want in zip(observation, expected, strict=True):
        if "or_raised" in want and seen.get("raised", {}).get("kind") == want["or_raised"]:
            return None
        if found := wrong(seen, want):
            return found
    return None
