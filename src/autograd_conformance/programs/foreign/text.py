"""Sanitisation of text that a framework wrote, such as error messages and names, where it enters the suite.

Such text is passed to other processes, to files and to terminals. It may be of any length, and may contain lone
surrogates, which no encoding accepts, or control characters that a terminal would execute. All text passes through this
module, whether it comes from this process or over the wire.
"""

from __future__ import annotations

import re
from typing import Any

KEPT = 2_000
"""Number of characters that are kept from each end of a text."""

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters except tabs and line ends, characters that change the direction of text, and lone surrogates."""

_name_of: Any = type.__dict__["__name__"].__get__


def harmless(text: str, kept: int = KEPT) -> str:
    """Returns a text that is safe to print and to encode: unsafe characters are written as escapes, and the middle of a
    long text is left out.
    """
    plain = _cut(str.__str__(text), kept)  # of a class derived from str, the text itself
    if plain.isascii() and plain.isprintable():
        return plain
    return _cut(_UNSAFE.sub(_escape, plain), kept)


def message(error: BaseException) -> str:
    """Returns an exception's message, sanitised; if its `str()` raises, a text that says so."""
    return harmless(whole_message(error))


def whole_message(error: BaseException) -> str:
    """Returns an exception's message, neither sanitised nor cut, so that it can be searched."""
    try:
        return str.__str__(str(error))
    except BaseException as inner:
        return f"its str() raises {type_of(inner)}"


def type_of(error: BaseException) -> str:
    """Returns the sanitised name of an exception's type, read without calling code of the type."""
    return harmless(_name_of(type(error)), 100)


def _cut(text: str, kept: int) -> str:
    """Returns a text with its middle left out if it has more than twice `kept` characters."""
    left = len(text) - 2 * kept
    if left <= 0:
        return text
    said = f" ... ({left:,} characters left out) ... "
    return text[: kept - len(said)] + said + text[len(text) - kept :]


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
