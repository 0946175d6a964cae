"""A program as code that can be pasted into a file or an interpreter, its lines numbered in comments."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autograd_conformance.printing.dialect import Dialect


def listed(lines: Sequence[str], dialect: Dialect | None, failing: int | None = None) -> str:
    """A program as a script that prints nothing more; nothing without a dialect."""
    return whole(dialect, numbered(lines, failing)) if dialect else ""


def runnable(text: str, dialect: Dialect | None) -> str:
    """Code with what stands in front of every program; without code nothing."""
    return whole(dialect, text.split("\n")) if text and dialect else text


def whole(dialect: Dialect, lines: Sequence[str]) -> str:
    """A script of these lines: the dialect's own come first, but for names that are imported and not used."""
    code = "\n".join(lines)
    imports = re.compile(r"import [\w.]+ as (\w+)")
    used = [
        line
        for line in dialect.prelude.split("\n")
        if not (found := imports.fullmatch(line)) or f"{found[1]}." in code + dialect.prelude
    ]
    return _pasteable([*used, "", *lines])


COLUMN = 88
"""The column behind which numbers of lines do not stand, unless the code is longer."""


def numbered(lines: Sequence[str], failing: int | None = None) -> list[str]:
    """Lines of code with their numbers in comments, as explanations refer to them; the failing one has an arrow."""
    width = max((len(line) for line in lines if len(line) <= COLUMN), default=0)
    arrow = {failing: " <--"}
    return [f"{line:{width}}  # {at + 1}{arrow.get(at, '')}" for at, line in enumerate(lines)]


def indented(line: str) -> str:
    """A numbered line inside of a block, its number where those of the others are."""
    head, mark, number = line.rpartition("  # ")
    return f"    {head.removesuffix('    ')}{mark}{number}"


def _pasteable(lines: Sequence[str]) -> str:
    """Lines as a script that can be pasted into an interpreter, too: an empty line ends what is compound."""
    text = "\n".join(lines).split("\n")
    found: list[str] = []
    for line, following in zip(text, [*text[1:], ""], strict=True):
        found.append(line)
        if line.startswith(COMPOUND) and following and not following.startswith(CONTINUED):
            found.append("")
    return "\n".join(found) + "\n"


COMPOUND = (" ", "with ", "if ")
"""What lines of compound statements begin with, their first lines aside where another follows."""

CONTINUED = (" ", "except ", "else:")
"""What lines begin with that go on with a compound statement."""
