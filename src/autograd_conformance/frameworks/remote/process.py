"""One process at the far end of two pipes: lines go in, lines come out, and whoever waits knows how long."""

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
"""How many lines may be on their way before the first is answered."""

LONGEST = 1 << 28
"""How many bytes an answer may have."""

TAIL = 2_000
"""How many of the last bytes that a process wrote to its standard error are told."""

MOST = 1 << 20
"""How many bytes of its standard error are kept on disk."""

CHUNK = 1 << 16
SOON, AGAIN = 0.05, 0.5
"""Seconds after which it is asked how long an answer may take, and whether it has ended, at first and from then on."""
ENDING = 1.0
"""Seconds that a process has to end itself when its input, or its output, is closed."""


class ProcessEnded(Exception):
    """The process ended, or closed its output."""

    def __init__(self, status: int | None, partial_line: bytes, stderr_tail: str) -> None:
        super().__init__(status)
        self.status = status
        """Its exit code, or a signal with a minus sign; None where it closed its output and stayed."""
        self.partial_line = partial_line
        """The line that it was writing."""
        self.stderr_tail = stderr_tail
        """What it wrote to its standard error last."""


class ReplyTimeout(Exception):
    """The process did not answer in time; it was ended."""

    def __init__(self, partial_line: bytes) -> None:
        super().__init__()
        self.partial_line = partial_line
        """The line that it was writing."""


class ReplyTooLong(Exception):
    """The process wrote a line of more than `LONGEST` bytes; it was ended."""


class Process:
    """A process that answers each line with a line.

    It has a process group of its own, which ends with it; its standard error goes to a file of which the end is told.
    """

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it; raises `OSError` where there is no such program."""
        self.stderr_file = TemporaryFile()  # noqa: SIM115 - open as long as the process runs
        fcntl.fcntl(self.stderr_file, fcntl.F_SETFL, os.O_APPEND)  # it may be cut while it is written
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
        """The line that it is writing, in pieces: joined at each, a long one would be copied again and again."""
        self.size = 0
        self.replied = False
        """Whether it was there itself when it answered first, and is no launcher of what answers."""

    @property
    def ended(self) -> bool:
        """Whether it is no longer there."""
        return self.process.poll() is not None

    def replies(self, lines: Iterable[bytes], timeout: Callable[[], float]) -> Iterator[bytes]:
        """The answer to each line, in order. Up to `AHEAD` lines are handed over before the first is answered; an
        answer may take as many seconds as `patience` says when they have passed.
        """
        source, outgoing, waiting, more = iter(lines), b"", 0, True
        poll = select.poll()
        poll.register(self.reading, select.POLLIN)
        since, writes = time.monotonic(), False
        while True:
            while more and waiting < AHEAD and len(outgoing) < CHUNK:
                line = next(source, None)
                more = line is not None
                if line is not None:
                    outgoing, waiting, since = outgoing + line, waiting + 1, time.monotonic()
            if not waiting:
                return
            if outgoing:
                outgoing = self._write(outgoing)
            if bool(outgoing) != writes:
                writes = bool(outgoing)
                poll.register(self.writing, select.POLLOUT) if writes else poll.unregister(self.writing)
            self._wait(poll, since, timeout)
            self._read()
            while waiting and self.lines:
                reply = self.lines.popleft()
                waiting -= 1
                self.replied = self.replied or not self.ended
                yield reply
                since = time.monotonic()
            if waiting and time.monotonic() - since > SOON:
                self._remaining(since, timeout)

    def _wait(self, poll: select.poll, since: float, timeout: Callable[[], float]) -> None:
        """Wait until there is something to be read or to be written."""
        seconds = SOON
        while not poll.poll(seconds * 1000):
            if self.replied and self.ended:  # its output may be open still, in a process that it has left
                if not poll.poll(ENDING * 1000):
                    raise self.gone()
                return
            seconds = min(self._remaining(since, timeout), AGAIN)

    def _remaining(self, since: float, timeout: Callable[[], float]) -> float:
        """Seconds that are left for an answer; where there are none, the process is ended."""
        left = since + timeout() - time.monotonic()
        if left > 0:
            return left
        if self.ended:
            raise self.gone()
        partial_line = self._partial_line()
        self.stop()
        raise ReplyTimeout(partial_line)

    def _write(self, outgoing: bytes) -> bytes:
        """Hand over what goes, and give what is left."""
        try:
            return outgoing[os.write(self.writing, outgoing) :]
        except BlockingIOError:
            return outgoing
        except BrokenPipeError:  # what it answered before is read still, and then its end
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
        """The beginning of the line that it was writing."""
        return b"".join(self.unfinished)[:CHUNK]

    def gone(self) -> ProcessEnded:
        """How it ended, or what it did in the place of that; it is ended now."""
        try:
            status: int | None = self.process.wait(ENDING)
        except subprocess.TimeoutExpired:
            status = None
        partial_line = self._partial_line()
        self.stop()
        return ProcessEnded(status, partial_line, self.stderr_tail())

    def stderr_tail(self) -> str:
        """The last of what it wrote to its standard error."""
        size = os.fstat(self.stderr_file.fileno()).st_size
        text = os.pread(self.stderr_file.fileno(), TAIL, max(0, size - TAIL)).decode(errors="replace")
        return text if size <= TAIL else text.partition("\n")[2]

    def truncate_stderr(self) -> None:
        """Forget what it wrote to its standard error where that is much."""
        if os.fstat(self.stderr_file.fileno()).st_size > MOST:
            os.ftruncate(self.stderr_file.fileno(), 0)

    def stop(self) -> None:
        """End it, and whatever it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._close()

    def finish(self) -> None:
        """Close its input, which is its sign to end, and end it where it does not."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(ENDING)
        self.stop()

    def _close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not pipe.closed:
                pipe.close()
