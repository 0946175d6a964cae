"""What is started in the place of Python where a worker can be forked: run by its path, without any package.

It hands its standard streams to the process that `harness.forks` left, and waits for what becomes of the fork, to end
as that ended; where it is ended itself, the fork is ended, too. Where there is nobody to fork, it becomes the Python
that was asked for.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
from collections.abc import Sequence
from typing import NoReturn

NEVER_CAUGHT = (signal.SIGKILL, signal.SIGSTOP)


def main(name: str, arguments: Sequence[str]) -> None:
    """Be the fork of the process that listens by a name, in hexadecimal digits; else Python with some arguments."""
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(bytes.fromhex(name))
            socket.send_fds(server, [b"?"], [0, 1, 2])
            forked = server.recv(1)
        except OSError:
            forked = b""
        if not forked:
            os.execv(sys.executable, [sys.executable, *arguments])
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # sent to the group: the fork knows what to do
            signal.signal(number, signal.SIG_IGN)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1):  # the fork alone holds them: they end with it
            os.dup2(nowhere, stream)
        end_as(int(server.recv(16) or b"1"))


def end_as(status: int) -> NoReturn:
    """End with an exit code, or by the signal that stands for it with a minus sign."""
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the fork has left its core already
        if -status not in NEVER_CAUGHT:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
