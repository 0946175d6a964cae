"""The claims and the answers of a framework that the suite does not run, in place of a connection to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.remote.client import Replies
from autograd_conformance.frameworks.remote.protocol import Handshake
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import render
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Observation

Json = Any


@dataclass(eq=False)
class Answers:
    """Known replies, in place of the connection to a server."""

    described: Handshake
    observations: Mapping[str, Observation] = field(default_factory=dict)
    """The observation of each program, by the program's JSON form."""
    seed: int | None = None

    def handshake(self) -> Handshake:
        """Returns the framework as it describes itself."""
        return self.described

    def observe(self, programs: Iterable[Program], printed: bool = False) -> Iterator[Observation]:
        """Yields the answers to several programs. Raises `AdapterError` if one has none."""
        for program in programs:
            found = self.observations.get(codec.dumps(program))
            if found is None:
                raise AdapterError(f"{self.described.name}: there is no answer to the program {render(program)!r}")
            yield found

    def regions(self, program: Program) -> tuple[tuple[int, ...], ...]:
        """Returns no regions: answers to vectors come without them."""
        return ()

    def another(self, counts_saved: bool = False, simpler_mode: str | None = None) -> Replies:
        """Returns the same answers: there is no other process."""
        return self

    def code(self, op: str, operands: Sequence[str], attrs: Mapping[str, Any]) -> str:
        """Raises `AdapterError`: answers print no code."""
        raise AdapterError(f"{self.described.name}: answers to vectors come without printed code")

    def close(self) -> None:
        """Does nothing: no process was started."""
