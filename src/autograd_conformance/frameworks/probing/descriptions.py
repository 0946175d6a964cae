"""What a framework says of itself, written down: so that another process can be held to it.

A run loads a framework many times: in the process that the user started, in workers, in the audit, in processes that
run a failure again, and a server is started again after it ended. All of them have to speak of the same framework.
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
"""How many names of a part are shown where more are different."""

Json = Any


class Described(Protocol):
    """A target, or the greeting of a server."""

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
    def modules(self) -> Collection[str]: ...
    @property
    def optimizers(self) -> Mapping[str, Collection[str]] | None: ...


@dataclass(frozen=True)
class Description:
    """What a framework says of itself, each part as texts in alphabetical order."""

    parts: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, framework: Described) -> Description:
        """The statement of a framework, in plain texts: a version may be of a class that compares in its own way."""
        return cls({name: tuple(sorted(f"{text}" for text in texts)) for name, texts in _parts(framework)})

    def to_json(self) -> dict[str, Json]:
        """Its JSON form."""
        return {name: list(texts) for name, texts in self.parts.items()}

    @classmethod
    def from_json(cls, form: Json) -> Description:
        """The statement in a JSON form."""
        return cls({name: tuple(texts) for name, texts in form.items()})

    def differences(self, other: Description) -> list[str]:
        """What another statement has otherwise, in words."""
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
    known = USUAL_OPTIMIZERS if optimizers is None else optimizers
    yield "optimizers", [f"{name}({', '.join(sorted(settings))})" for name, settings in known.items()]


def _ordered(limit: Limit) -> Limit:
    """A limit whose values stand in one order, whatever holds them."""
    return replace(limit, attrs={name: sorted(limit.attrs[name], key=repr) for name in sorted(limit.attrs)})


SINGLE = ("name", "version")
"""The parts that are one text."""


def _differences(name: str, said: tuple[str, ...], now: tuple[str, ...]) -> Iterator[str]:
    if name in SINGLE:
        if said != now:
            yield f"the {name} is {now[0]!r}, not {said[0]!r}"
        return
    if missing := sorted({*said} - {*now}):
        yield f"the {name} lack {_some(missing)}"
    if more := sorted({*now} - {*said}):
        yield f"the {name} have {_some(more)} besides"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return f"{', '.join(names[:MOST])}{more}"


def describe_difference(said: Description, framework: Described, where: str) -> str | None:
    """A sentence on how a framework, loaded again, differs from what it said of itself before; None where it does not.

    `where` says which process it was loaded in, as "a worker".
    """
    found = said.differences(Description.of(framework))
    if not found:
        return None
    said_otherwise = f"{framework.name}: in {where} it says other things of itself than where it was loaded first"
    return f"{said_otherwise}: {'; '.join(found)}"
