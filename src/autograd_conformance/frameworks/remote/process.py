"""A server process with two pipes: request lines in, reply lines out, with a timeout for each reply."""

from __future__ import annotations

import os
import select
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from autograd_conformance.processes.child import Child

AHEAD = 32
"""Maximum number of requests that are sent ahead of their replies."""

LONGEST = 1 << 28
"""Maximum size of a reply, in bytes."""

TAIL = 2_000
"""Number of bytes at the end of standard error that are reported."""

CHUNK = 1 << 16
SOON, AGAIN = 0.05, 0.5
"""Seconds until the timeout and the process's state are checked, at first and from then on."""
ENDING = 1.0
"""Seconds that a process has to exit after its input or output was closed, before it is killed."""


class ProcessEnded(Exception):
    """The process ended, or closed its output."""

    def __init__(self, status: int | None, partial_line: bytes, stderr_tail: str) -> None:
        super().__init__(status)
        self.status = status
        """The exit code, or the negative number of a signal; None if the process closed its output without exiting."""
        self.partial_line = partial_line
        """The incomplete line that the process was writing."""
        self.stderr_tail = stderr_tail
        """The end of the process's standard error."""


class ReplyTimeout(Exception):
    """The process did not reply in time, and was killed."""

    def __init__(self, partial_line: bytes) -> None:
        super().__init__()
        self.partial_line = partial_line
        """The incomplete line that the process was writing."""


class ReplyTooLong(Exception):
    """The process wrote a line of more than `LONGEST` bytes, and was killed."""


class Process:
    """A process that replies to each line with a line.

    The process has a process group, which is killed with it. The end of its standard error is reported.
    """

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start the process; raises `OSError` if the program does not exist."""
        self.child = Child(words, environment, is_server=True)
        self.writing, self.reading = (pipe.fileno() for pipe in self.child.pipes)
        os.set_blocking(self.writing, False)
        os.set_blocking(self.reading, False)
        self.lines: deque[bytes] = deque()
        self.unfinished: list[bytes] = []
        """The incomplete line, in pieces; joining them after every read would copy a long line again and again."""
        self.size = 0
        self.replied = False
        """Whether the started process was still running when one of its replies arrived. A launcher, which starts the
        server and exits, was not, so that its end does not count as the server's.
        """

    def replies(self, lines: Iterable[bytes], timeout: Callable[[], float]) -> Iterator[bytes]:
        """Send each line, and yield its reply, in order.

        Up to `AHEAD` lines are sent before the first reply. `timeout` returns the number of seconds that a reply may
        take, and is called whenever they may have passed.
        """
        source, outgoing, pending, more = iter(lines), b"", 0, True
        poll = select.poll()
        poll.register(self.reading, select.POLLIN)
        since, writes = time.monotonic(), False
        while True:
            while more and pending < AHEAD and len(outgoing) < CHUNK:
                line = next(source, None)
                more = line is not None
                if line is not None:
                    outgoing, pending, since = outgoing + line, pending + 1, time.monotonic()
            if not pending:
                return
            if outgoing:
                outgoing = self._write(outgoing)
            if bool(outgoing) != writes:
                writes = bool(outgoing)
                poll.register(self.writing, select.POLLOUT) if writes else poll.unregister(self.writing)
            self._wait(poll, since, timeout)
            self._read()
            while pending and self.lines:
                reply = self.lines.popleft()
                pending -= 1
                self.replied = self.replied or self.child.status is None
                yield reply
                since = time.monotonic()
            if pending and time.monotonic() - since > SOON:
                self._remaining(since, timeout)

    def _wait(self, poll: select.poll, since: float, timeout: Callable[[], float]) -> None:
        """Wait until the pipes can be read or written."""
        seconds = SOON
        while not poll.poll(seconds * 1000):
            if self.replied and self.child.status is not None:  # its child may still have the output open
                if not poll.poll(ENDING * 1000):
                    raise self.gone()
                return
            seconds = min(self._remaining(since, timeout), AGAIN)

    def _remaining(self, since: float, timeout: Callable[[], float]) -> float:
        """Return the seconds that are left for the reply. If there are none, kill the process and raise `ReplyTimeout`,
        or `ProcessEnded` if the process has exited.
        """
        left = since + timeout() - time.monotonic()
        if left > 0:
            return left
        if self.child.status is not None:
            raise self.gone()
        partial_line = self._partial_line()
        self.child.stop()
        raise ReplyTimeout(partial_line)

    def _write(self, outgoing: bytes) -> bytes:
        """Write as much as the pipe accepts, and return the rest."""
        try:
            return outgoing[os.write(self.writing, outgoing) :]
        except BlockingIOError:
            return outgoing
        except BrokenPipeError:  # its last replies are read first, then its end
            return b""

    def _read(self) -> None:
        try:
            chunk = os.read(self.reading, CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            raise self.gone()
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self.lines.append(b"".join((*self.unfinished, end)))
            self.unfinished, self.size = [], 0
        self.unfinished.append(rest)
        self.size += len(rest)
        if self.size > LONGEST:
            self.child.stop()
            raise ReplyTooLong

    def _partial_line(self) -> bytes:
        """Returns the beginning of the incomplete line."""
        return b"".join(self.unfinished)[:CHUNK]

    def gone(self) -> ProcessEnded:
        """Kill what is left of the process, and return how the process ended."""
        status = self.child.wait(ENDING)
        partial_line = self._partial_line()
        self.child.stop()
        return ProcessEnded(status, partial_line, self.child.errors.text(TAIL))

    def finish(self) -> None:
        """Close the process's input, so that it exits, and kill it if it does not."""
        self.child.pipes[0].close()
        self.child.wait(ENDING)
        self.child.stop()
