"""Which command is at the far end: written `remote: COMMAND`, or a Python adapter in another environment."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autograd_conformance.frameworks.entry_points import SERVED, frameworks, variable
from autograd_conformance.frameworks.registry import UnknownFramework

START = Path(__file__).with_name("start.py")
"""The script that serves an adapter to whoever runs it, in an environment that need not have the suite."""

OWN = "AUTOGRAD_CONFORMANCE_PYTHONPATH"
"""The environment variable that keeps the user's own PYTHONPATH in processes that are given another."""

_FORM = re.compile(r"remote(?:/(?P<programs>[1-9][0-9]*))?:\s*(?P<words>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """What starts a far end."""

    words: tuple[str, ...]
    """The program and its arguments."""
    programs: int | None = None
    """After how many programs another process takes its place; None: it runs as long as it can."""

    def __str__(self) -> str:
        often = "" if self.programs is None else f"/{self.programs}"
        return f"remote{often}: {shlex.join(self.words)}"

    @property
    def serves_adapter(self) -> bool:
        """Whether it is our own worker in some environment."""
        return len(self.words) > 1 and Path(self.words[1]) == START


def parse(name: str) -> Command | None:
    """The command that a framework's name is; None where it names an adapter in this process."""
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
    """Whether a framework's adapter comes with the suite, in whatever environment it is served."""
    command = parse(name)
    if command is None:
        entry = frameworks().get(name)
    else:
        entry = frameworks().get(command.words[-1]) if command.serves_adapter else None
    return entry is not None and entry.is_ours


def served(name: str, python: str | None, programs: int | None) -> str:
    """The name of a framework that is served by our worker in the environment of an interpreter, or of a command that
    is started anew after so many programs; the name itself where neither is asked for.
    """
    if python is None and programs is None:
        return name
    command = parse(name)
    if command is None:
        words = (_found(python) if python is not None else sys.executable, str(START), name)
        return str(Command(words, programs))
    if python is not None:
        raise UnknownFramework(f"{name!r} is a command of its own: --framework-python is for Python adapters")
    return str(Command(command.words, programs))


def _found(python: str) -> str:
    """The interpreter's path; what it is a link to would be another environment."""
    path = shutil.which(os.path.expanduser(python))
    if path is None:
        raise UnknownFramework(f"--framework-python={python}: there is no such program")
    return os.path.abspath(path)


def environment(command: Command) -> Mapping[str, str]:
    """The environment of a far end: the user's own. What would lead another interpreter to the packages of this one is
    left out where our worker is started.
    """
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", OWN, SERVED)}
    if command.serves_adapter:
        return {**own, **variable(command.words[-1])}
    path = os.environ.get(OWN, os.environ.get("PYTHONPATH"))
    home = {"PYTHONHOME": os.environ["PYTHONHOME"]} if "PYTHONHOME" in os.environ else {}
    return own | home | ({"PYTHONPATH": path} if path else {})
