"""The link to a far end: one process after the other that answers, each greeted before it is asked anything."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from autograd_conformance.frameworks.environment.process_end import Crashed, TimedOut, describe_exit
from autograd_conformance.frameworks.probing.descriptions import Description, describe_difference
from autograd_conformance.frameworks.registry import AdapterError, UnknownFramework
from autograd_conformance.frameworks.remote import protocol
from autograd_conformance.frameworks.remote.command import Command, environment
from autograd_conformance.frameworks.remote.process import Process, ProcessEnded, ReplyTimeout, ReplyTooLong
from autograd_conformance.frameworks.remote.protocol import ErrorReply, Handshake, MalformedReply
from autograd_conformance.programs.formats.text import render
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Observation

STARTING = 100.0
"""Seconds that a far end may take to load its framework and answer the greeting."""

STDERR_CHECK_INTERVAL = 256
"""After how many programs it is looked at how much a far end wrote to its standard error."""

TimeoutScale = Callable[[float], float]


def unscaled(seconds: float) -> float:
    """Seconds as they are."""
    return seconds


class Connection:
    """A far end that is started when it is needed, and again after it ended.

    `timeout` is how many seconds a program may take, and `stretched` makes of seconds how many they are here and now.
    """

    def __init__(
        self,
        command: Command,
        device: str = "cpu",
        counts_saved: bool = False,
        simpler_mode: str | None = None,
        timeout: float = 60.0,
        scale: TimeoutScale = unscaled,
    ) -> None:
        self.command, self.device, self.counts_saved, self.simpler_mode = command, device, counts_saved, simpler_mode
        self.timeout, self.scale = timeout, scale
        self.process: Process | None = None
        self.number = self.since = 0
        self.seed: int | None = None
        self.first_handshake: bytes | None = None
        self.described: Handshake | None = None
        self.closing: weakref.finalize[..., Any] | None = None

    def handshake(self) -> Handshake:
        """What the far end says of itself; `AdapterError` where it does not say it."""
        if self.described is None:
            self._process()
        assert self.described is not None
        return self.described

    def observe(self, programs: Iterable[Program], printed: bool = False) -> Iterator[Observation]:
        """What each of some programs does; several are on their way at a time, and what a process did not come to
        before it ended goes to the next one. Raises what `frameworks.process_end` names for the program that ended it.
        """
        waiting: list[tuple[int, Program, bytes]] = []

        def lines(most: int | None) -> Iterator[bytes]:
            for program in programs:
                self.number += 1
                seed, self.seed = self.seed, None
                line = protocol.run(self.number, program, printed, seed)
                waiting.append((self.number, program, line))
                yield line
                if most is not None and self.number - self.since >= most:
                    return

        while True:
            process = self._process()
            before = self.number
            for line in self._replies(process, lines(self.command.programs), waiting):
                number, program, _ = waiting.pop(0)
                yield self._read(partial(protocol.observation, line, number, program), program)
            if self.number == before or self.command.programs is None:
                return
            if self.number - self.since < self.command.programs:
                return

    def _replies(
        self, process: Process, lines: Iterable[bytes], waiting: Sequence[tuple[int, Program, bytes]]
    ) -> Iterator[bytes]:
        """The answers to programs; how the process ended, said of the program that it was running."""
        try:
            yield from process.replies(lines, lambda: self.scale(self.timeout))
        except ProcessEnded as error:
            self.process = None
            raise Crashed(waiting[0][1], _describe_end(error), error.status) from None
        except ReplyTimeout as error:
            self.process = None
            partial_line = ", and left half an answer" if error.partial_line else ""
            raise TimedOut(waiting[0][1], f"did not come back in time ({self.timeout:g} s){partial_line}") from None
        except ReplyTooLong:
            self.process = None
            raise AdapterError(f"{self._name}: its answer to a program has no end: {_text(waiting[0][1])}") from None

    def units(self, program: Program) -> tuple[tuple[int, ...], ...]:
        """The numbers of the instructions that run as one unit, for each unit of a program."""
        self.number += 1
        line = protocol.units(self.number, program)
        form = self._read(lambda: protocol.reply(self._single(line), self.number), program)
        found = form.get("units")
        if not isinstance(found, list) or not all(isinstance(steps, list) for steps in found):
            raise AdapterError(f"{self._name}: its answer to which units a program has holds no 'units'")
        return tuple(map(tuple, found))

    def another(self, counts_saved: bool = False, simpler_mode: str | None = None) -> Connection:
        """A link to another process of the same far end, which is greeted otherwise."""
        return Connection(self.command, self.device, counts_saved, simpler_mode, self.timeout, self.scale)

    def code(self, op: str, operands: Sequence[str], attrs: Mapping[str, Any]) -> str:
        """The code of an op, which the far end writes."""
        self.number += 1
        line = protocol.print_op(self.number, op, operands, tuple(attrs.items()))
        form = self._read(lambda: protocol.reply(self._single(line), self.number), None)
        if not isinstance(form.get("code"), str):
            raise AdapterError(f"{self._name}: its answer to what the code of {op} is has no 'code'")
        return form["code"]

    def _single(self, line: bytes) -> bytes:
        try:
            return next(self._process().replies([line], lambda: self.scale(self.timeout)))
        except (ProcessEnded, ReplyTimeout, ReplyTooLong) as error:
            self.process = None
            raise AdapterError(
                f"{self._name}: it did not answer what it was asked: {_describe_failure(error)}"
            ) from None

    def _read(self, read: Callable[[], Any], program: Program | None) -> Any:
        """What an answer says; `AdapterError` where it says nothing that can be understood."""
        try:
            return read()
        except ErrorReply as error:
            raise AdapterError(str(error)) from None
        except MalformedReply as error:
            of = "" if program is None else f"; it was asked to run: {_text(program)}"
            raise AdapterError(f"{self._name}: {error}{of}") from None

    @property
    def _name(self) -> str:
        return self.described.name if self.described else self.command.words[0]

    # -- processes

    def _process(self) -> Process:
        """The process that answers, greeted; another one where it is time, or there is none."""
        limit = self.command.programs
        if self.process is not None and limit is not None and self.number - self.since >= limit:
            self.close()
        if self.process is None:
            self._start()
        elif self.number % STDERR_CHECK_INTERVAL == 0:
            self.process.truncate_stderr()
        assert self.process is not None
        return self.process

    def _start(self) -> None:
        try:
            process = Process(self.command.words, environment(self.command))
        except OSError as error:
            said = f"{self.command.words[0]!r} cannot be started: {error.strerror or error}"
            raise (UnknownFramework if self.described is None else AdapterError)(said) from None
        self.closing = weakref.finalize(self, process.stop)
        try:
            line = next(
                process.replies(
                    [protocol.hello(self.device, self.counts_saved, self.simpler_mode)],
                    lambda: self.scale(STARTING),
                )
            )
            self.described = self._read(partial(protocol.handshake, line), None)
        except (ProcessEnded, ReplyTimeout, ReplyTooLong) as error:
            how = _describe_failure(error)
            raise AdapterError(f"{self.command.words[0]}: it was started, but did not greet: {how}") from None
        except AdapterError:
            process.stop()
            raise
        if self.first_handshake is not None and self.first_handshake != line:
            process.stop()
            raise AdapterError(_describe_change(partial(protocol.handshake, self.first_handshake), self.described))
        self.first_handshake, self.process, self.since = line, process, self.number

    def close(self) -> None:
        """Let the process end; the next program starts another one."""
        if self.process is not None:
            self.process.finish()
            self.process = None


def _describe_change(first_handshake: Callable[[], Handshake], handshake: Handshake) -> str:
    """How the greeting of a server that was started again differs from its first."""
    why = describe_difference(Description.of(first_handshake()), handshake, "a server that was started again")
    return why or f"{handshake.name}: started again, it greets otherwise than before (its digest, say, or its packages)"


def _describe_failure(error: ProcessEnded | ReplyTimeout | ReplyTooLong) -> str:
    """How a far end failed to answer, in words."""
    match error:
        case ProcessEnded():
            return _describe_end(error)
        case ReplyTimeout():
            return "it did not answer in time" + (
                f", after it wrote {error.partial_line[:80]!r}" if error.partial_line else ""
            )
        case _:
            return "its answer has no end"


def _describe_end(error: ProcessEnded) -> str:
    """How a far end ended, in words."""
    how = "the process closed its output" if error.status is None else describe_exit(error.status)
    partial_line = " in the middle of an answer" if error.partial_line else ""
    lines = error.stderr_tail.strip().splitlines()
    return how + partial_line + (f"; last it wrote: {lines[-1].strip()[:200]}" if lines else "")


def _text(program: Program) -> str:
    """A program on one line, as it can be tried by hand."""
    return "; ".join(render(program).splitlines())
