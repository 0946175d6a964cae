"""A description of a framework as plain text, for comparing a framework that is loaded again with the first load.

A run loads a framework in several processes: the user's, pytest workers, the check that runs each op alone before the
tests, processes that repeat a failure, and a server that is restarted after a crash. The framework must be the same in
all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from autograd_conformance.frameworks.adapter import USUAL_OPTIMIZERS
from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.limits import Limit, Limits
from autograd_conformance.programs.capabilities import Capability, Traits

MOST = 5
"""Maximum number of differing names, such as names of ops, that a message shows for each part."""

Json = Any


class Described(Protocol):
    """A target, or the handshake of a server."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def capabilities(self) -> frozenset[Capability]: ...
    @property
    def traits(self) -> Traits: ...
    @property
    def ops(self) -> Collection[str]: ...
    @property
    def dtypes(self) -> Sequence[str]: ...
    @property
    def writes(self) -> Collection[str] | None: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def autocast(self) -> Mapping[str, str]: ...
    @property
    def modules(self) -> Collection[str]: ...
    @property
    def optimizers(self) -> Mapping[str, Collection[str]] | None: ...


@dataclass(frozen=True)
class Description:
    """The description of a framework: for each part, its texts in alphabetical order."""

    parts: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, framework: Described) -> Description:
        """Describe a framework in plain strings; a version may be an object with its own comparison."""
        return cls({name: tuple(sorted(f"{text}" for text in texts)) for name, texts in _parts(framework)})

    def to_json(self) -> dict[str, Json]:
        """Returns the JSON form: an object with the list of texts of each part."""
        return {name: list(texts) for name, texts in self.parts.items()}

    @classmethod
    def from_json(cls, form: Json) -> Description:
        """Returns the description in a JSON form."""
        return cls({name: tuple(texts) for name, texts in form.items()})

    def differences(self, other: Description) -> list[str]:
        """Returns the differences from another description in words, such as "the ops lack sin"."""
        return [words for name in self.parts for words in _differences(name, self.parts[name], other.parts[name])]


def _parts(framework: Described) -> Iterator[tuple[str, Collection[str]]]:
    writes, optimizers = framework.writes, framework.optimizers
    yield "name", [framework.name]
    yield "version", [framework.version]
    yield "capabilities", [capability.name for capability in framework.capabilities]
    yield "ops", framework.ops
    yield "dtypes", framework.dtypes
    yield "traits", [f"{name}={value}" for name, value in asdict(framework.traits).items()]
    yield "writes", WRITES if writes is None else writes
    yield "modules", framework.modules
    yield "limits", [f"{name} ({_ordered(limit)})" for name, limit in framework.limits.items()]
    yield "autocast", [f"{name}={dtype}" for name, dtype in framework.autocast.items()]
    known = USUAL_OPTIMIZERS if optimizers is None else optimizers
    yield "optimizers", [f"{name}({', '.join(sorted(settings))})" for name, settings in known.items()]


def _ordered(limit: Limit) -> Limit:
    """Returns a limit with its values in a fixed order."""
    return replace(limit, attrs={name: sorted(limit.attrs[name], key=repr) for name in sorted(limit.attrs)})


SINGLE = ("name", "version")
"""Parts of a description that have a single text; the other parts are lists of names."""


def _differences(name: str, earlier: tuple[str, ...], now: tuple[str, ...]) -> Iterator[str]:
    if name in SINGLE:
        if earlier != now:
            yield f"the {name} is {now[0]!r}, not {earlier[0]!r}"
        return
    if missing := sorted({*earlier} - {*now}):
        yield f"the {name} lack {_some(missing)}"
    if more := sorted({*now} - {*earlier}):
        yield f"the {name} also have {_some(more)}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return f"{', '.join(names[:MOST])}{more}"


def describe_difference(earlier: Description, framework: Described, where: str) -> str | None:
    """Returns a sentence on how a framework differs from an earlier description of it, or None if it does not.

    `where` names the process that loaded the framework now, such as "a worker".
    """
    found = earlier.differences(Description.of(framework))
    if not found:
        return None
    changed = f"{framework.name}: in {where} its description differs from that of the first load"
    return f"{changed}: {'; '.join(found)}"
