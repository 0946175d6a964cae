"""Signal handlers that replace those of this process for a while."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from autograd_conformance.package.loading import end_at_once

Handler = Callable[[int, FrameType | None], Any]


class Handlers:
    """Installs signal handlers, and restores those from before."""

    def __init__(self) -> None:
        self.previous: dict[int, Any] = {}
        """The handlers from before, by the number of their signal."""

    def install(self, number: int, handler: Handler) -> None:
        """Installs the handler of a signal, if this is the main thread: only that can handle signals. After a run, its
        loading does not come back: what is restored then is Python's own handler.
        """
        try:
            previous = signal.signal(number, handler)
        except ValueError:
            return
        if previous is end_at_once:
            previous = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        self.previous[number] = previous

    def restore(self) -> None:
        """Restores the handlers from before."""
        for number, handler in self.previous.items():
            signal.signal(number, handler)
        self.previous.clear()

    def restore_after(self, seconds: float) -> None:
        """Ignores the signals for these seconds; a later signal restores its handler from before, and is sent again."""
        previous, until = dict(self.previous), time.monotonic() + seconds

        def handle(number: int, frame: FrameType | None) -> None:
            if time.monotonic() > until:
                signal.signal(number, previous[number])
                os.kill(os.getpid(), number)

        for number in previous:
            signal.signal(number, handle)
