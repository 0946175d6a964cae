"""The connection to a server: starts its processes one after the other, and completes a handshake with each."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

from autograd_conformance.frameworks.environment.process_end import Crashed, TimedOut
from autograd_conformance.frameworks.loading.registry import AdapterError, LoadingEnded, UnknownFramework
from autograd_conformance.frameworks.probing.descriptions import Description, describe_difference
from autograd_conformance.frameworks.remote import protocol
from autograd_conformance.frameworks.remote.command import Command, environment
from autograd_conformance.frameworks.remote.process import Process, ProcessEnded, ReplyTimeout, ReplyTooLong
from autograd_conformance.frameworks.remote.protocol import ErrorReply, Handshake, MalformedReply
from autograd_conformance.processes.last_words import quoted
from autograd_conformance.processes.supervision import describe_exit
from autograd_conformance.programs.formats.text import render
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Observation

STARTING = 100.0
"""Maximum number of seconds for starting a server, loading its framework and replying to the handshake."""

STDERR_CHECK_INTERVAL = 256
"""Number of requests after which the file with the server's standard error is emptied if it is larger than
`MOST_STDERR`.
"""

MOST_STDERR = 1 << 20
"""Size of the file with the server's standard error, in bytes, above which the file is emptied."""

TimeoutScale = Callable[[float], float]


def unscaled(seconds: float) -> float:
    """Returns the seconds unchanged; the default of `scale`."""
    return seconds


class Connection:
    """A connection to a server, which is started on demand and restarted after it ends.

    `timeout` is the seconds that a program may take, and `scale` adapts seconds to the machine and its load. Without
    `checks`, the suite's worker runs neither the smoke test nor the probe.
    """

    def __init__(
        self,
        command: Command,
        device: str = "cpu",
        counts_saved: bool = False,
        simpler_mode: str | None = None,
        timeout: float = 60.0,
        scale: TimeoutScale = unscaled,
        checks: bool = True,
    ) -> None:
        self.command, self.device, self.counts_saved, self.simpler_mode = command, device, counts_saved, simpler_mode
        self.timeout, self.scale, self.checks = timeout, scale, checks
        self.process: Process | None = None
        self.number = self.since = 0
        self.seed: int | None = None
        self.described: Handshake | None = None
        self.closing: weakref.finalize[..., Any] | None = None

    def handshake(self) -> Handshake:
        """Returns the framework as the server describes it. Raises `AdapterError` if the handshake fails."""
        if self.described is None:
            self._process()
        assert self.described is not None
        return self.described

    def observe(self, programs: Iterable[Program], printed: bool = False) -> Iterator[Observation]:
        """Run several programs, and yield their observations. Several requests are sent ahead of the replies.

        After `command.programs` programs, another process continues. If a process ends, this raises `Crashed` or
        `TimedOut` of `frameworks.environment.process_end` for the program that was running, and runs no further
        programs.
        """
        pending: list[tuple[int, Program, bytes]] = []

        def lines(most: int | None) -> Iterator[bytes]:
            for program in programs:
                self.number += 1
                seed, self.seed = self.seed, None
                line = protocol.run(self.number, program, printed, seed)
                pending.append((self.number, program, line))
                yield line
                if most is not None and self.number - self.since >= most:
                    return

        while True:
            process = self._process()
            before = self.number
            for line in self._replies(process, lines(self.command.programs), pending):
                number, program, _ = pending.pop(0)
                yield self._read(partial(protocol.observation, line, number, program), program)
            if self.number == before or self.command.programs is None:
                return
            if self.number - self.since < self.command.programs:
                return

    def _replies(
        self, process: Process, lines: Iterable[bytes], pending: Sequence[tuple[int, Program, bytes]]
    ) -> Iterator[bytes]:
        """Yield the replies to requests. If the process ends, the exception names the program that was running."""
        try:
            yield from process.replies(lines, lambda: self.scale(self.timeout))
        except ProcessEnded as error:
            self.process = None
            raise Crashed(pending[0][1], _describe_end(error), error.status) from None
        except ReplyTimeout as error:
            self.process = None
            partial_line = ", after an incomplete reply" if error.partial_line else ""
            raise TimedOut(pending[0][1], f"did not come back in time ({self.timeout:g} s){partial_line}") from None
        except ReplyTooLong:
            self.process = None
            raise AdapterError(
                f"{self._name}: its reply is too long; the program was: {_text(pending[0][1])}"
            ) from None

    def regions(self, program: Program) -> tuple[tuple[int, ...], ...]:
        """Returns, for each region of a program, the numbers of its instructions, which run as one function."""
        self.number += 1
        line = protocol.regions(self.number, program)
        form = self._read(lambda: protocol.reply(self._single(line), self.number), program)
        found = form.get("units")
        if not isinstance(found, list) or not all(isinstance(steps, list) for steps in found):
            raise AdapterError(f"{self._name}: its reply to the request for regions has no 'units'")
        return tuple(map(tuple, found))

    def another(self, counts_saved: bool = False, simpler_mode: str | None = None) -> Connection:
        """Returns a connection to another process of the same server, which is started to count saved tensors or in a
        mode with fewer layers.
        """
        return Connection(self.command, self.device, counts_saved, simpler_mode, self.timeout, self.scale, self.checks)

    def code(self, op: str, operands: Sequence[str], attrs: Mapping[str, Any]) -> str:
        """Request the code of an op in the framework's language from the server, such as ``torch.sin(x)``."""
        self.number += 1
        line = protocol.print_op(self.number, op, operands, tuple(attrs.items()))
        form = self._read(lambda: protocol.reply(self._single(line), self.number), None)
        if not isinstance(form.get("code"), str):
            raise AdapterError(f"{self._name}: its reply to the request for the code of {op} has no 'code'")
        return form["code"]

    def _single(self, line: bytes) -> bytes:
        try:
            return next(self._process().replies([line], lambda: self.scale(self.timeout)))
        except (ProcessEnded, ReplyTimeout, ReplyTooLong) as error:
            self.process = None
            raise AdapterError(f"{self._name}: it did not reply: {_describe_failure(error)}") from None

    def _read(self, read: Callable[[], Any], program: Program | None) -> Any:
        """Parse a reply. Raises `AdapterError` if it is malformed or reports an error."""
        try:
            return read()
        except ErrorReply as error:
            raise AdapterError(str(error)) from None
        except MalformedReply as error:
            of = "" if program is None else f"; the program was: {_text(program)}"
            raise AdapterError(f"{self._name}: {error}{of}") from None

    @property
    def _name(self) -> str:
        return self.described.name if self.described else self.command.words[0]

    # -- processes

    def _process(self) -> Process:
        """Returns the current process, after its handshake; a new one if there is none, or if the process has run its
        last program.
        """
        limit = self.command.programs
        if self.process is not None and limit is not None and self.number - self.since >= limit:
            self.close()
        if self.process is None:
            self._start()
        elif self.number % STDERR_CHECK_INTERVAL == 0:
            self.process.child.errors.truncate(MOST_STDERR)
        assert self.process is not None
        return self.process

    def _start(self) -> None:
        try:
            process = Process(self.command.words, environment(self.command))
        except OSError as error:
            text = f"{self.command.words[0]!r} cannot be started: {error.strerror or error}"
            raise (UnknownFramework if self.described is None else AdapterError)(text) from None
        self.closing = weakref.finalize(self, process.child.stop)
        try:
            line = next(
                process.replies(
                    [protocol.hello(self.device, self.counts_saved, self.simpler_mode, self.checks)],
                    lambda: self.scale(STARTING),
                )
            )
            handshake = self._read(partial(protocol.handshake, line), None)
        except (ProcessEnded, ReplyTimeout, ReplyTooLong) as error:
            how = _describe_failure(error)
            raised = AdapterError if isinstance(error, ReplyTooLong) else LoadingEnded
            raise raised(f"{self.command.words[0]}: it was started, but sent no handshake: {how}") from None
        except AdapterError:
            process.child.stop()
            raise
        if self.described is not None and (changed := _changed(self.described, handshake)):
            process.child.stop()
            raise AdapterError(_describe_change(self.described, handshake, changed))
        self.described, self.process, self.since = self.described or handshake, process, self.number

    def close(self) -> None:
        """Let the process end; the next program starts another one."""
        if self.process is not None:
            self.process.finish()
            self.process = None


WORDS = ("notes", "lacks")
"""Parts of a handshake that only people read. They may quote messages, which may differ."""


def _changed(first: Handshake, now: Handshake) -> list[str]:
    """Returns the names of the parts in which a restarted server's handshake differs from the first one, whatever the
    order in which it names things.
    """
    names = (each.name for each in fields(Handshake) if each.name not in WORDS)
    return [name for name in names if getattr(first, name) != getattr(now, name)]


def _describe_change(first: Handshake, now: Handshake, changed: Sequence[str]) -> str:
    """Describe how a restarted server's handshake differs from the first one."""
    why = describe_difference(Description.of(first), now, "a server that was started again")
    return why or f"{now.name}: after a restart its handshake differs, in {', '.join(changed)}"


def _describe_failure(error: ProcessEnded | ReplyTimeout | ReplyTooLong) -> str:
    """Describe why a server did not reply."""
    match error:
        case ProcessEnded():
            return _describe_end(error)
        case ReplyTimeout():
            return "it did not reply in time" + (
                f", after it wrote {error.partial_line[:80]!r}" if error.partial_line else ""
            )
        case _:
            return "its reply is too long"


def _describe_end(error: ProcessEnded) -> str:
    """Describe how a server ended."""
    how = "the process closed its output" if error.status is None else describe_exit(error.status)
    partial_line = " in the middle of a reply" if error.partial_line else ""
    return f"{how}{partial_line}{quoted(error.stderr_tail)}"


def _text(program: Program) -> str:
    """Returns a program on one line, ready to be tried by hand."""
    return "; ".join(render(program).splitlines())
