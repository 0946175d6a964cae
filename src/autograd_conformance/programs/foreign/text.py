"""Text that a framework wrote, made harmless where it enters: error messages, names, notes.

Such text goes on to other processes, to files and to terminals. It may be of any length, hold halves of characters that
no encoding has a place for, as the names of odd files do, or control characters that a terminal obeys. What enters has
been through here, in process and over the wire alike.
"""

from __future__ import annotations

import re
from typing import Any

KEPT = 2_000
"""How many characters of a text are kept from each of its ends."""

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but for tabs and line ends, what turns the direction of text, and halves of characters."""

_name_of: Any = type.__dict__["__name__"].__get__


def harmless(text: str, kept: int = KEPT) -> str:
    """A text whose middle is left out where it is long, and in which what is no plain text is written as an escape."""
    plain = _cut(str.__str__(text), kept)  # of a class derived from str, the text itself
    if plain.isascii() and plain.isprintable():
        return plain
    return _cut(_UNSAFE.sub(_escape, plain), kept)


def message(error: BaseException) -> str:
    """An exception's message; an exception may not even have one."""
    return harmless(whole_message(error))


def whole_message(error: BaseException) -> str:
    """An exception's message as it is, to look for something in it."""
    try:
        return str.__str__(str(error))
    except BaseException as inner:
        return f"its str() raises {type_of(inner)}"


def type_of(error: BaseException) -> str:
    """The name of an exception's type, whatever that says of itself."""
    return harmless(_name_of(type(error)), 100)


def _cut(text: str, kept: int) -> str:
    """A text of at most twice as many characters as are kept of an end."""
    left = len(text) - 2 * kept
    if left <= 0:
        return text
    said = f" ... ({left:,} characters left out) ... "
    return text[: kept - len(said)] + said + text[len(text) - kept :]


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
