"""Words and numbers: the small decisions about wording that every rendering shares."""

from __future__ import annotations

import math
from collections.abc import Iterable


def counted(number: int, noun: str) -> str:
    """A count with its noun: ``1 rule``, ``1,204 rules``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percentage(fraction: float | None) -> str:
    """A part of a whole in per cent, never rounded up to all of it: ``99.9 %``; nothing where it is not known."""
    return "" if fraction is None else f"{math.floor(fraction * 1000) / 10:.1f} %"


def listed(words: Iterable[str], most: int | None = None, by: str = ", ") -> str:
    """The words joined by commas, or by `by`; past the first `most`, only how many more there are."""
    everything = list(words)
    shown = everything if most is None else everything[:most]
    rest = len(everything) - len(shown)
    return by.join(shown) + (f" and {rest:,} more" if rest else "")


def printable(text: str) -> str:
    """The text with control characters written out, so that a framework's message cannot drive a terminal."""
    return "".join(c if c in "\n\t" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """The text on a single line, printable, with runs of white space collapsed."""
    return " ".join(printable(text).split())


def shortened(text: str, most: int = 160) -> str:
    """The text on one line of at most `most` characters, cut off behind a word where that leaves half of it."""
    line = one_line(text)
    if len(line) <= most:
        return line
    space = line.rfind(" ", most // 2, most - 3)
    return f"{line[: space if space > 0 else most - 4].rstrip()} ..."


def duration(seconds: float) -> str:
    """A time in words: ``12 s``, ``3 min 5 s``, ``2 h 0 min``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def error_words(largest: float, bound: float) -> tuple[str, str]:
    """How wrong a value is, and the numbers that say so: ``1.4 times the bound``, ``largest error 7, bound 5``."""
    if math.isnan(largest):
        return "not a number", "where a number has to be"
    if math.isinf(largest):
        return "infinite", "where a finite number has to be"
    if math.isnan(bound):
        return "wrong", f"largest error {largest:.3g}; how far rounding may take it could not be computed"
    if not bound:
        return "beyond the bound", f"largest error {largest:.3g}, where no error is allowed"
    digits = next((n for n in range(3, 17) if f"{largest:.{n}g}" != f"{bound:.{n}g}"), 17)
    units = next((text for n in range(3, 17) if (text := f"{largest / bound:.{n}g}") != "1"), "1")
    return f"{units} times the bound", f"largest error {largest:.{digits}g}, bound {bound:.{digits}g}"


def number_word(number: int) -> str:
    """A small number as a word: ``five``; from ten on in digits."""
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return words[number] if number < len(words) else f"{number:,}"


def sentence(text: str, capital: bool = True) -> str:
    """The text as a sentence: a stop at its end and a capital at its beginning, unless that is a name of code."""
    plain = text.split(" ")[0].rstrip(".,:;").isalpha()
    return (text[:1].upper() if capital and plain else text[:1]) + text[1:] + ("" if text[-1:] in ".:!?" else ".")
