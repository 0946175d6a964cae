"""A task that writes notes, and then ends as its request wants."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from autograd_conformance.processes.task import NOTES, Notes, carry_out


def main(folder: Path, end: str) -> None:
    notes = Notes(folder)
    notes.write([1, "exp"])
    notes.write(None)
    match end:
        case "fails":
            raise ValueError("no such op")
        case "dies":
            with (folder / NOTES).open("a") as file:
                file.write('[2, "ta')
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    carry_out(main, lambda error, end: f"it {end}: {error}")
