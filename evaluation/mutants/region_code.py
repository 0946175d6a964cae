"""Mutants that take functions for something else than they are: what a compiler loses, merges, moves or forgets."""

from __future__ import annotations

import re
from collections.abc import Callable

from evaluation.mutants.regions import REGION_LINE, PlainRegions

PURE = re.compile(r"torch\.(?:sin|cos|exp|square|tanh|sigmoid|sum|mean)\(.*\)|[xy]\d+ [-+*/] [xy]\d+")
"""A call that may be computed once for all its equals."""

Parts = re.Match[str]


def parts_of(line: str) -> Parts:
    """The parts of a line."""
    found = REGION_LINE.fullmatch(line)
    assert found is not None
    return found


def merged(lines: list[str], key: Callable[[Parts], str], moded: bool = True, ends: bool = True) -> list[str]:
    """Lines in which what was computed before is copied, if its key is the same; the copy is `moded` as the line was,
    and a write `ends` what is known.
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
    """What was computed under another grad mode is not computed again: its copy is taken."""

    killed_by = ("gradients/requires-grad", "modes/no-grad-result", "modes/recorded", "modes/restored")

    def rewrite(self, lines: list[str]) -> list[str]:
        return merged(lines, lambda parts: parts["call"], moded=False)


class MergesAcrossWrites(PlainRegions):
    """What was computed before a write is not computed again behind it: its copy is taken."""

    killed_by = ("gradients/forward", "writes/recorded", "gradients/graph")

    def rewrite(self, lines: list[str]) -> list[str]:
        return merged(lines, lambda parts: f"{parts['modes']}{parts['call']}", ends=False)


class MergesResults(PlainRegions):
    """Of equal computations, the results are one tensor."""

    killed_by = ("views/own-memory", "gradients/forward")

    def rewrite(self, lines: list[str]) -> list[str]:
        found = merged(lines, lambda parts: f"{parts['modes']}{parts['call']}")
        return [line.replace(".clone()", "") if parts_of(line)["call"].endswith(".clone()") else line for line in found]


class ForgetsDetach(PlainRegions):
    """A function's detach is left out."""

    killed_by = ("detach/values", "detach/blocks")

    def rewrite(self, lines: list[str]) -> list[str]:
        return [re.sub(r"(\w+)\.detach\(\)", r"\1.view_as(\1)", line) for line in lines]


class CopiesDetached(PlainRegions):
    """What a function detaches is a copy."""

    killed_by = ("views/shares", "writes/aliases")

    def rewrite(self, lines: list[str]) -> list[str]:
        return [line.replace(".detach()", ".detach().clone()") for line in lines]


class DropsLateWrites(PlainRegions):
    """A write to an input that no line of the function reads behind it is taken for one that nobody sees."""

    killed_by = ("writes/value",)

    def rewrite(self, lines: list[str]) -> list[str]:
        return [line for k, line in enumerate(lines) if not self.is_late(line, lines[k + 1 :])] or ["    pass"]

    def is_late(self, line: str, behind: list[str]) -> bool:
        """Whether a line writes to an input that those behind it do not mention."""
        parts = parts_of(line)
        target = re.match(r"x\d+", parts["call"])
        return bool(not parts["made"] and target and not re.search(rf"\b{target[0]}\b", "\n".join(behind)))


class BlursWrites(PlainRegions):
    """What a function writes over a value of float32 that it made is off by a thousandth."""

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
    """What a function writes into its inputs is written at its end."""

    killed_by = ("gradients/forward", "writes/recorded", "writes/value", "errors/legal-returns")

    def rewrite(self, lines: list[str]) -> list[str]:
        writes = [line for line in lines if not parts_of(line)["made"] and parts_of(line)["call"].startswith("x")]
        others = [line for line in lines if line not in writes]
        end = others[-1:] if others and others[-1].startswith("    return") else []
        return [*others[: len(others) - len(end)], *writes, *end]


class SkipsWhatNothingReads(PlainRegions):
    """What no other line of a function reads is taken for zeros, though it is given out; the last line is computed."""

    killed_by = ("gradients/forward", "gradients/requires-grad")

    def rewrite(self, lines: list[str]) -> list[str]:
        computing, last = lines[:-2], lines[-2:]
        for k, line in enumerate(computing):
            parts = parts_of(line)
            made, behind = parts["made"], "\n".join([*computing[k + 1 :], *last[:-1]])
            if made and made.isalnum() and not re.search(rf"\b{made}\b", behind):
                computing[k] = line.replace(parts["call"], f"torch.zeros_like({parts['call']})")
        return [*computing, *last]


class OneModeForAll(PlainRegions):
    """All of a function stands under the grad modes of its first line."""

    killed_by = ("modes/no-grad-result", "modes/recorded", "gradients/requires-grad", "modes/restored")

    def rewrite(self, lines: list[str]) -> list[str]:
        first = parts_of(lines[0])["modes"] or ""
        return [line if "return" in line else self.under(first, parts_of(line)) for line in lines]

    def under(self, modes: str, parts: Parts) -> str:
        """A line under other modes than its own."""
        made = f"{parts['made']} = " if parts["made"] else ""
        return f"    {modes}{made}{parts['call']}"


class OutermostMode(PlainRegions):
    """Of several grad modes inside a function, the outermost counts."""

    killed_by = ("modes/recorded", "gradients/requires-grad", "modes/no-grad-result")

    def rewrite(self, lines: list[str]) -> list[str]:
        return [re.sub(r"with (torch\.\w+\(\)), [^:]*: ", r"with \1: ", line) for line in lines]
