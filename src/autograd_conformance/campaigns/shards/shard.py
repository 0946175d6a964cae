"""Shards: a campaign's unit of work, which is an ordinary run of one seed, and the series that they make up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from autograd_conformance.campaigns.shards.texts import Texts, digest_name
from autograd_conformance.reporting.prose import listed

PROFILE = "thorough"
"""The profile of every shard: how much is tried of it is said by the number of programs, which is smaller."""

ALL = "all"
"""The name of all suites together."""


@dataclass(frozen=True, slots=True)
class Series:
    """Shards that differ by their seeds alone: one framework, some suites, one dtype, one device."""

    framework: str
    """The framework, as ``--framework`` takes it."""
    suites: tuple[str, ...]
    """What is run, as words of a command line; empty: everything."""
    dtype: str
    """The dtype, as ``--dtype`` takes it."""
    device: str
    """The device, as ``--device`` takes it."""
    programs: int
    """About how many programs each shard runs."""
    python: str | None = None
    """The interpreter of the framework's environment, as ``--framework-python`` takes it."""
    known: Texts = ()
    """Files of known differences of the user's own."""
    included: Texts = ()
    """Those that they include, which stand beside them."""
    confirm: int = 0
    """How many failures a shard runs again alone."""
    timeout: float | None = None
    """Seconds after which one program counts as hung; None: the suite's own."""
    resources: Mapping[str, float] = field(default_factory=dict, hash=False, compare=False)
    """What a worker has to offer, and how much of it one shard takes; it has no say in what is drawn or judged."""

    @property
    def about(self) -> dict[str, Any]:
        """Everything that the programs and verdicts of the series depend on, as plain data.

        Stored names and fingerprints are made of it, so that its keys stay: `patience` is the timeout.
        """
        fields = {name: value for name, value in asdict(self).items() if name not in ("resources", "timeout")}
        return fields | {"patience": self.timeout}

    @property
    def name(self) -> str:
        """The name of its folder: what people look for, and a digest of all that it is about."""
        return digest_name(self.title, self.about)

    @property
    def title(self) -> str:
        """The series in a few words."""
        environment = f" in {self.python}" if self.python else ""
        dtype, device = ("" if each in ("both", "cpu") else f" {each}" for each in (self.dtype, self.device))
        what = listed(Path(each).name.removeprefix("test_").removesuffix(".py") for each in self.suites)
        return f"{self.framework}{environment}{dtype}{device}{f': {what}' if what else ''}"

    @property
    def target(self) -> list[str]:
        """The options of a command line that name the framework and where it runs."""
        arguments = [f"--framework={self.framework}"]
        arguments += [f"--framework-python={self.python}"] if self.python else []
        return arguments + ([f"--device={self.device}"] if self.device != "cpu" else [])

    def overlaps(self, other: Series) -> bool:
        """Whether the two have a test in common, which with one seed draws the same programs for both."""
        if (self.target, self.dtype) != (other.target, other.dtype):
            return False
        pairs = [(a, b) for a in self.suites for b in other.suites]
        return not pairs or any(a == b or _selects_part(a, b) or _selects_part(b, a) for a, b in pairs)

    def options(self, folder: Path) -> list[str]:
        """The options of a command line that all its runs have; its files of known differences lie in a folder."""
        arguments = [*self.target, f"--dtype={self.dtype}"]
        arguments += [f"--patience={self.timeout:g}"] if self.timeout else []
        return arguments + [f"--known={folder / name}" for name, _ in self.known]


@dataclass(frozen=True, slots=True)
class Shard:
    """One run of a series, with a seed of its own."""

    series: Series
    seed: int

    @property
    def name(self) -> str:
        """Where its records are kept, within the storage."""
        return f"{SHARDS}/{self.series.name}/{self.seed:08d}.jsonl.gz"

    def arguments(self, folder: Path, report: Path) -> list[str]:
        """Its command line: one worker, so that a crash is a verdict, and as many wherever it runs: they share the
        programs.
        """
        series = self.series
        arguments = ["-n1", "-q", f"--hypothesis-seed={self.seed}", f"--hypothesis-profile={PROFILE}"]
        arguments += [f"--programs={series.programs}", f"--confirm={series.confirm}", f"--report={report}"]
        return [*arguments, *series.options(folder), *series.suites]


def _selects_part(test: str, suite: str) -> bool:
    """Whether what one word of a command line selects is a part of what another does."""
    return test.startswith((f"{suite}::", f"{suite}["))


SHARDS = "shards"
"""The folder of the storage that records are in, a folder for each series."""


def seed_of(name: str) -> int | None:
    """The seed of the shard whose records have some name in the storage; None where it is no such name."""
    found = re.fullmatch(r"(\d{8,})\.jsonl\.gz", name.rpartition("/")[2])
    return int(found[1]) if found else None
