"""The text of `autograd-conformance --help`: the commands and the suite's options first, then pytest's."""

from __future__ import annotations

import argparse
import io
import re
import textwrap
from collections.abc import Callable
from contextlib import redirect_stdout

from autograd_conformance.plugin.options import add_options

USAGE = "autograd-conformance [options] [suites/test_FILE.py ...]\n       autograd-conformance COMMAND ..."

COMMANDS = {
    "probe": "find out by trying which features a framework has",
    "check": "check an adapter in seconds: each op once, each capability once",
    "new-adapter": "write an adapter, a file of known differences and a CI workflow",
    "report": "show, compare and publish the record files of runs",
    "campaign": "run a plan of many runs, on one machine or several",
    "bisect": "find the version of a framework in which a violation began",
    "vectors": "write programs with the expected numbers, for runners in any language, or judge their answers",
}
"""The commands, each with its purpose."""

WIDTH = 78
"""Largest length of a line of the introductions."""

KEEPS_LINES = argparse.RawDescriptionHelpFormatter


class _Groups:
    """Adds the suite's options to a parser, in the place of pytest's parser."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._parser = parser

    def getgroup(self, name: str, description: str) -> _Group:
        """Returns a group of options, introduced by the text in parentheses."""
        more = textwrap.fill(description.partition(" (")[2].rstrip(")"), WIDTH)
        return _Group(self._parser.add_argument_group("options of a run", textwrap.indent(more, "  ").lstrip()))


class _Group:
    """A group of options, as pytest's parser has them."""

    def __init__(self, group: argparse._ArgumentGroup) -> None:
        self.addoption = group.add_argument


def print_help(pytest_help: Callable[[], int]) -> int:
    """Prints the page, and returns the exit code of `pytest_help`, which prints pytest's own page."""
    parser = argparse.ArgumentParser(usage=USAGE, description=_commands(), add_help=False, formatter_class=KEEPS_LINES)
    add_options(_Groups(parser))  # type: ignore[arg-type]
    with redirect_stdout(io.StringIO()) as printed:
        code = pytest_help()
    print(
        f"{parser.format_help()}\nOptions of pytest, which a run accepts, too:\n\n{_without_suite(printed.getvalue())}"
    )
    return code


def _commands() -> str:
    lines = (f"  {name:12}  {what}" for name, what in COMMANDS.items())
    head = "Without a command, it tests a framework, and writes a report."
    return "\n".join((head, "", "commands (COMMAND --help explains each):", *lines))


def _without_suite(text: str) -> str:
    """Returns pytest's page without its usage and without the suite's options, as far as they can be found."""
    text = re.sub(r"\A.*?(?=^general:)", "", text, count=1, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^autograd conformance .*?\n(?=^\S)", "", text, count=1, flags=re.DOTALL | re.MULTILINE)
