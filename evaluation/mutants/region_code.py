"""Mutants that change the code of regions, as a faulty compiler does: they drop, merge or move lines."""

from __future__ import annotations

import re
from collections.abc import Callable

from evaluation.mutants.regions import REGION_LINE, PlainRegions

PURE = re.compile(r"torch\.(?:sin|cos|exp|square|tanh|sigmoid|sum|mean)\(.*\)|[xy]\d+ [-+*/] [xy]\d+")
"""A call without side effects, of which equal ones may share a result."""

Parts = re.Match[str]


def parts_of(line: str) -> Parts:
    """The parts of a line of a region's source."""
    found = REGION_LINE.fullmatch(line)
    assert found is not None
    return found


def merged(lines: list[str], key: Callable[[Parts], str], moded: bool = True, ends: bool = True) -> list[str]:
    """The lines with each repeated call replaced by a copy of the earlier result; equal keys mark a repeated call.

    If `moded` is true, the copy has the line's grad modes. If `ends` is true, a write ends the reuse of earlier
    results.
    """
    known: dict[str, str] = {}
    found = []
    for line in lines:
        parts = parts_of(line)
        if not parts["made"]:
            known = {} if ends else known
        elif PURE.fullmatch(parts["call"]):
            before = known.setdefault(key(parts), parts["made"])
            if before != parts["made"]:
                modes = (parts["modes"] or "") if moded else ""
                line = f"    {modes}{parts['made']} = {before}.clone()"
        found.append(line)
    return found


class MergesAcrossModes(PlainRegions):
    """A region reuses a result that it computed under another grad mode instead of recomputing it."""

    killed_by = ("gradients/requires-grad", "modes/no-grad-result", "modes/recorded", "modes/restored")

    def rewrite(self, lines: list[str]) -> list[str]:
        return merged(lines, lambda parts: parts["call"], moded=False)


class MergesAcrossWrites(PlainRegions):
    """A region reuses a result that it computed before a write instead of recomputing it after the write."""

    killed_by = ("gradients/forward", "writes/recorded", "gradients/graph")

    def rewrite(self, lines: list[str]) -> list[str]:
        return merged(lines, lambda parts: f"{parts['modes']}{parts['call']}", ends=False)


class MergesResults(PlainRegions):
    """The results of equal computations in a region are one tensor."""

    killed_by = ("views/own-memory", "gradients/forward")

    def rewrite(self, lines: list[str]) -> list[str]:
        found = merged(lines, lambda parts: f"{parts['modes']}{parts['call']}")
        return [line.replace(".clone()", "") if parts_of(line)["call"].endswith(".clone()") else line for line in found]


class ForgetsDetach(PlainRegions):
    """A region leaves out its detach."""

    killed_by = ("detach/values", "detach/blocks")

    def rewrite(self, lines: list[str]) -> list[str]:
        return [re.sub(r"(\w+)\.detach\(\)", r"\1.view_as(\1)", line) for line in lines]


class CopiesDetached(PlainRegions):
    """A detach inside a region returns a copy."""

    killed_by = ("views/shares", "writes/aliases")

    def rewrite(self, lines: list[str]) -> list[str]:
        return [line.replace(".detach()", ".detach().clone()") for line in lines]


class DropsLateWrites(PlainRegions):
    """A region drops a write to an input that it does not read after the write."""

    killed_by = ("writes/value",)

    def rewrite(self, lines: list[str]) -> list[str]:
        return [line for k, line in enumerate(lines) if not self.is_late(line, lines[k + 1 :])] or ["    pass"]

    def is_late(self, line: str, later: list[str]) -> bool:
        """Whether a line writes to an input that no later line mentions."""
        parts = parts_of(line)
        target = re.match(r"x\d+", parts["call"])
        return bool(not parts["made"] and target and not re.search(rf"\b{target[0]}\b", "\n".join(later)))


class BlursWrites(PlainRegions):
    """A region's write to a float32 value that the region made is off by one part in a thousand."""

    killed_by = ("writes/value", "gradients/forward", "writes/aliases")

    def rewrite(self, lines: list[str]) -> list[str]:
        found: list[str] = []
        for line in lines:
            parts = parts_of(line)
            target = None if parts["made"] else re.match(r"y\d+", parts["call"])
            found.append(line)
            if target:
                found.append(f"    {target[0]}.data.mul_(1.001 if {target[0]}.dtype == torch.float32 else 1)")
        return found


class PutsWritesLast(PlainRegions):
    """A region delays its writes to inputs until its end."""

    killed_by = ("gradients/forward", "writes/recorded", "writes/value", "errors/legal-returns")

    def rewrite(self, lines: list[str]) -> list[str]:
        writes = [line for line in lines if not parts_of(line)["made"] and parts_of(line)["call"].startswith("x")]
        others = [line for line in lines if line not in writes]
        end = others[-1:] if others and others[-1].startswith("    return") else []
        return [*others[: len(others) - len(end)], *writes, *end]


class SkipsWhatNothingReads(PlainRegions):
    """A region returns zeros for a result that no other line of it reads, except for that of the last line."""

    killed_by = ("gradients/forward", "gradients/requires-grad")

    def rewrite(self, lines: list[str]) -> list[str]:
        computing, last = lines[:-2], lines[-2:]
        for k, line in enumerate(computing):
            parts = parts_of(line)
            made, later = parts["made"], "\n".join([*computing[k + 1 :], *last[:-1]])
            if made and made.isalnum() and not re.search(rf"\b{made}\b", later):
                computing[k] = line.replace(parts["call"], f"torch.zeros_like({parts['call']})")
        return [*computing, *last]


class OneModeForAll(PlainRegions):
    """A region runs all its lines under the grad modes of the first line."""

    killed_by = ("modes/no-grad-result", "modes/recorded", "gradients/requires-grad", "modes/restored")

    def rewrite(self, lines: list[str]) -> list[str]:
        first = parts_of(lines[0])["modes"] or ""
        return [line if "return" in line else self.under(first, parts_of(line)) for line in lines]

    def under(self, modes: str, parts: Parts) -> str:
        """A line under other modes than its own."""
        made = f"{parts['made']} = " if parts["made"] else ""
        return f"    {modes}{made}{parts['call']}"


class OutermostMode(PlainRegions):
    """Of several nested grad modes in a region, only the outermost applies."""

    killed_by = ("modes/recorded", "gradients/requires-grad", "modes/no-grad-result")

    def rewrite(self, lines: list[str]) -> list[str]:
        return [re.sub(r"with (torch\.\w+\(\)), [^:]*: ", r"with \1: ", line) for line in lines]
