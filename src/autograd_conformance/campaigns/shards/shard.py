"""Shards, the tasks of a campaign: each is an ordinary run with one seed. Shards of a series differ by their seeds
alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from autograd_conformance.campaigns.shards.texts import Texts, digest_name
from autograd_conformance.reporting.prose import listed

PROFILE = "thorough"
"""The Hypothesis profile of each shard. The shard's number of programs is the smaller limit."""

ALL = "all"
"""The name in a plan for all suites together."""


@dataclass(frozen=True, slots=True)
class Series:
    """Shards that differ by their seeds alone: one framework, some suites, one dtype, one device."""

    framework: str
    """The framework, as ``--framework`` takes it."""
    suites: tuple[str, ...]
    """The suites or tests, as words of a command line; empty means all suites."""
    dtype: str
    """The dtype, as ``--dtype`` takes it."""
    device: str
    """The device, as ``--device`` takes it."""
    programs: int
    """Approximate number of programs of each shard."""
    python: str | None = None
    """The interpreter of the framework's environment, as ``--framework-python`` takes it."""
    known: Texts = ()
    """The user's files of known differences, as names and contents."""
    included: Texts = ()
    """Files that the user's files include, which are stored in the same folder."""
    confirm: int = 0
    """Maximum number of failures that a shard runs again in fresh processes."""
    timeout: float | None = None
    """Time limit of one program in seconds; None is the suite's default."""
    resources: Mapping[str, float] = field(default_factory=dict, hash=False, compare=False)
    """The amount of each resource that a shard occupies on a worker, such as ``{"GPU": 1}``. It does not affect
    programs or verdicts."""

    @property
    def about(self) -> dict[str, Any]:
        """Everything on which the programs and verdicts of the series depend, as plain data.

        Names in the storage and fingerprints are made of this data, so its keys must not change. The key of the timeout
        is older than the name of the field.
        """
        fields = {name: value for name, value in asdict(self).items() if name not in ("resources", "timeout")}
        return fields | {"patience": self.timeout}

    @property
    def name(self) -> str:
        """The name of the series' folder in the storage: words of its title, and a digest of `about`."""
        return digest_name(self.title, self.about)

    @property
    def title(self) -> str:
        """A short title of the series, such as "torch float32: views"."""
        environment = f" in {self.python}" if self.python else ""
        dtype, device = ("" if each in ("both", "cpu") else f" {each}" for each in (self.dtype, self.device))
        what = listed(Path(each).name.removeprefix("test_").removesuffix(".py") for each in self.suites)
        return f"{self.framework}{environment}{dtype}{device}{f': {what}' if what else ''}"

    @property
    def target(self) -> list[str]:
        """The options that select the framework, its environment and the device: ``["--framework=torch"]``."""
        arguments = [f"--framework={self.framework}"]
        arguments += [f"--framework-python={self.python}"] if self.python else []
        return arguments + ([f"--device={self.device}"] if self.device != "cpu" else [])

    def overlaps(self, other: Series) -> bool:
        """Whether this series and another have a test in common, on the same framework, device and dtype. With the same
        seed, both would draw the same programs for such a test.
        """
        if (self.target, self.dtype) != (other.target, other.dtype):
            return False
        pairs = [(a, b) for a in self.suites for b in other.suites]
        return not pairs or any(a == b or _selects_part(a, b) or _selects_part(b, a) for a, b in pairs)

    def options(self, folder: Path) -> list[str]:
        """Returns the options that shards of the series and replays of its failures have in common. `folder` contains
        the files of known differences.
        """
        arguments = [*self.target, f"--dtype={self.dtype}"]
        arguments += [f"--patience={self.timeout:g}"] if self.timeout else []
        return arguments + [f"--known={folder / name}" for name, _ in self.known]


@dataclass(frozen=True, slots=True)
class Shard:
    """One run of a series, with one seed."""

    series: Series
    seed: int

    @property
    def name(self) -> str:
        """The name in the storage of the file for the shard's records."""
        return f"{SHARDS}/{self.series.name}/{self.seed:08d}.jsonl.gz"

    def arguments(self, folder: Path, report: Path) -> list[str]:
        """Returns the command line of the shard. It always has one worker process: a crash is then a verdict, and the
        programs do not depend on the number of workers.
        """
        series = self.series
        arguments = ["-n1", "-q", f"--hypothesis-seed={self.seed}", f"--hypothesis-profile={PROFILE}"]
        arguments += [f"--programs={series.programs}", f"--confirm={series.confirm}", f"--report={report}"]
        return [*arguments, *series.options(folder), *series.suites]


def _selects_part(test: str, suite: str) -> bool:
    """Whether `test`, a word of a command line, selects a part of the tests that `suite` selects."""
    return test.startswith((f"{suite}::", f"{suite}["))


SHARDS = "shards"
"""The folder in the storage for records, with one folder for each series."""


def seed_of(name: str) -> int | None:
    """Returns the seed of the shard with this name in the storage; None if it is not the name of a shard."""
    found = re.fullmatch(r"(\d{8,})\.jsonl\.gz", name.rpartition("/")[2])
    return int(found[1]) if found else None
