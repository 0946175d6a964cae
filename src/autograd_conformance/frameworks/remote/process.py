"""A server process with two pipes: request lines in, reply lines out, with a timeout for each reply."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from tempfile import TemporaryFile

AHEAD = 32
"""Maximum number of requests that are sent ahead of their replies."""

LONGEST = 1 << 28
"""Maximum size of a reply, in bytes."""

TAIL = 2_000
"""Number of bytes at the end of standard error that are reported."""

MOST = 1 << 20
"""Maximum size of standard error on disk, in bytes."""

CHUNK = 1 << 16
SOON, AGAIN = 0.05, 0.5
"""Seconds until the timeout and the process's state are checked, at first and from then on."""
ENDING = 1.0
"""Seconds that a process has to exit after its input or output was closed."""


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

    The process has a process group, which is killed with it. Its standard error goes to a file, whose end is reported.
    """

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start the process; raises `OSError` if the program does not exist."""
        self.stderr_file = TemporaryFile()  # noqa: SIM115 - open as long as the process runs
        fcntl.fcntl(self.stderr_file, fcntl.F_SETFL, os.O_APPEND)  # the file may be truncated while the process writes
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr_file,
            env=dict(environment),
            bufsize=0,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.writing, self.reading = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self.writing, False)
        os.set_blocking(self.reading, False)
        self.lines: deque[bytes] = deque()
        self.unfinished: list[bytes] = []
        """The incomplete line, in pieces; joining them after every read would copy a long line again and again."""
        self.size = 0
        self.replied = False
        """Whether the process was running when one of its replies arrived. A launcher has exited by then."""

    @property
    def ended(self) -> bool:
        """Whether the process has exited."""
        return self.process.poll() is not None

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
                self.replied = self.replied or not self.ended
                yield reply
                since = time.monotonic()
            if pending and time.monotonic() - since > SOON:
                self._remaining(since, timeout)

    def _wait(self, poll: select.poll, since: float, timeout: Callable[[], float]) -> None:
        """Wait until the pipes can be read or written."""
        seconds = SOON
        while not poll.poll(seconds * 1000):
            if self.replied and self.ended:  # its child may still have the output open
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
        if self.ended:
            raise self.gone()
        partial_line = self._partial_line()
        self.stop()
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
            self.stop()
            raise ReplyTooLong

    def _partial_line(self) -> bytes:
        """Returns the beginning of the incomplete line."""
        return b"".join(self.unfinished)[:CHUNK]

    def gone(self) -> ProcessEnded:
        """Kill what is left of the process, and return how the process ended."""
        try:
            status: int | None = self.process.wait(ENDING)
        except subprocess.TimeoutExpired:
            status = None
        partial_line = self._partial_line()
        self.stop()
        return ProcessEnded(status, partial_line, self.stderr_tail())

    def stderr_tail(self) -> str:
        """Returns the end of the process's standard error."""
        size = os.fstat(self.stderr_file.fileno()).st_size
        text = os.pread(self.stderr_file.fileno(), TAIL, max(0, size - TAIL)).decode(errors="replace")
        return text if size <= TAIL else text.partition("\n")[2]

    def truncate_stderr(self) -> None:
        """Empty the file of standard error if it is large."""
        if os.fstat(self.stderr_file.fileno()).st_size > MOST:
            os.ftruncate(self.stderr_file.fileno(), 0)

    def stop(self) -> None:
        """Kill the process and its process group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._close()

    def finish(self) -> None:
        """Close the process's input, so that it exits, and kill it if it does not."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(ENDING)
        self.stop()

    def _close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not pipe.closed:
                pipe.close()
