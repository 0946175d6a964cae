"""The command that starts a server: `remote: COMMAND`, or the worker for a Python adapter in another environment."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autograd_conformance.frameworks.loading.entry_points import SERVED, entry_of, variable
from autograd_conformance.frameworks.loading.registry import UnknownFramework
from autograd_conformance.processes.child import OWN

START = Path(__file__).with_name("start.py")
"""The worker's script. It serves an adapter in an environment in which the suite need not be installed."""

_FORM = re.compile(r"remote(?:/(?P<programs>[1-9][0-9]*))?:\s*(?P<words>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """A command that starts a server."""

    words: tuple[str, ...]
    """The program to start, and its arguments: ``("python", "server.py")``."""
    programs: int | None = None
    """Number of the suite's programs after which the server's process is replaced; None: it is not replaced."""

    def __str__(self) -> str:
        suffix = "" if self.programs is None else f"/{self.programs}"
        return f"remote{suffix}: {shlex.join(self.words)}"

    @property
    def serves_adapter(self) -> bool:
        """Whether the command starts the suite's own worker."""
        return len(self.words) > 1 and Path(self.words[1]) == START


def parse(name: str) -> Command | None:
    """Parse a framework's name as a command; None if it names an adapter in this process. Raises `UnknownFramework`."""
    if not name.startswith("remote"):
        return None
    found = _FORM.fullmatch(name)
    if found is None:
        if name.partition(":")[0].partition("/")[0] == "remote":
            raise UnknownFramework(f"{name!r} names no command; write 'remote: COMMAND', or 'remote/100: COMMAND'")
        return None
    try:
        words = tuple(shlex.split(found["words"]))
    except ValueError as error:
        raise UnknownFramework(f"{name!r} is no command line: {error}") from None
    return Command(words, int(found["programs"]) if found["programs"] else None)


def is_built_in(name: str) -> bool:
    """Whether a framework's adapter is part of the suite, also if a worker serves it in another environment."""
    command = parse(name)
    if command is None:
        entry = entry_of(name)
    else:
        entry = entry_of(command.words[-1]) if command.serves_adapter else None
    return entry is not None and entry.is_ours


def served(name: str, python: str | None, programs: int | None) -> str:
    """Returns the name of a framework that a worker serves with an interpreter, or whose process is replaced after some
    programs: ``remote/100: /env/bin/python start.py torch``.

    Without either, this is the name itself.
    """
    if python is None and programs is None:
        return name
    command = parse(name)
    if command is None:
        words = (_interpreter(python) if python is not None else sys.executable, str(START), name)
        return str(Command(words, programs))
    if python is not None:
        raise UnknownFramework(f"{name!r} is already a command; --framework-python is only for Python adapters")
    return str(Command(command.words, programs))


def _interpreter(python: str) -> str:
    """Returns the absolute path of an interpreter. Symbolic links are kept, because their target is another
    environment.
    """
    path = shutil.which(os.path.expanduser(python))
    if path is None:
        raise UnknownFramework(f"--framework-python={python}: there is no such program")
    return os.path.abspath(path)


def environment(command: Command) -> Mapping[str, str]:
    """Returns the environment variables of a server: the user's own. For the suite's worker, variables are left out
    that would make another interpreter import this one's packages.
    """
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", OWN, SERVED)}
    if command.serves_adapter:
        return {**own, **variable(command.words[-1])}
    path = os.environ.get(OWN, os.environ.get("PYTHONPATH"))
    home = {"PYTHONHOME": os.environ["PYTHONHOME"]} if "PYTHONHOME" in os.environ else {}
    return own | home | ({"PYTHONPATH": path} if path else {})
