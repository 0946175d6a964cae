"""Formatting of words and numbers in all reports."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from itertools import chain, count


def counted(number: int, noun: str) -> str:
    """Writes a count with a noun, in the plural unless the count is 1: ``1 rule``, ``1,204 rules``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percentage(fraction: float | None) -> str:
    """A fraction in per cent, rounded down: ``99.9 %``; empty if it is not known."""
    return "" if fraction is None else f"{math.floor(fraction * 1000) / 10:.1f} %"


def listed(words: Iterable[str], most: int | None = None, by: str = ", ") -> str:
    """Joins words by `by`; of more than `most` words, it writes the first ones and the number of the others: ``a, b and
    3 more``.
    """
    everything = list(words)
    shown = everything if most is None else everything[:most]
    rest = len(everything) - len(shown)
    return by.join(shown) + (f" and {rest:,} more" if rest else "")


def printable(text: str) -> str:
    """Text with control characters escaped, so that a framework's message cannot control a terminal."""
    return "".join(c if c in "\n\t" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """Text on a single line, printable, with white space collapsed."""
    return " ".join(printable(text).split())


def shortened(text: str, most: int = 160) -> str:
    """Text on one line of at most `most` characters, cut off after a word if that keeps at least half of it."""
    line = one_line(text)
    if len(line) <= most:
        return line
    space = line.rfind(" ", most // 2, most - 3)
    return f"{line[: space if space > 0 else most - 4].rstrip()} ..."


def duration(seconds: float) -> str:
    """Duration in words: ``12 s``, ``3 min 5 s``, ``2 h 0 min``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def error_words(largest: float, bound: float) -> tuple[str, str]:
    """Describes a numerical error in two texts, the size relative to the bound and the numbers: ``1.4 times the bound``
    and ``largest error 7, bound 5``.
    """
    if math.isnan(largest):
        return "not a number", "a number is expected"
    if math.isinf(largest):
        return "infinite", "a finite number is expected"
    if math.isnan(bound):
        return "wrong", f"largest error {largest:.3g}; its rounding bound could not be computed"
    if not bound:
        return "above the bound", f"largest error {largest:.3g}; no error is allowed"
    digits = next((n for n in range(3, 17) if f"{largest:.{n}g}" != f"{bound:.{n}g}"), 17)
    units = next((text for n in range(3, 17) if (text := f"{largest / bound:.{n}g}") != "1"), "1")
    return f"{units} times the bound", f"largest error {largest:.{digits}g}, bound {bound:.{digits}g}"


def number_word(number: int) -> str:
    """Number below ten as a word, ``five`` (0 is ``no``); larger numbers in digits."""
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return words[number] if number < len(words) else f"{number:,}"


def sentence(text: str, capital: bool = True) -> str:
    """Text with a full stop, and with a capital letter unless its first word is code."""
    plain = text.split(" ")[0].rstrip(".,:;").isalpha()
    return (text[:1].upper() if capital and plain else text[:1]) + text[1:] + ("" if text[-1:] in ".:!?" else ".")


def unique_slugs(names: Iterable[str]) -> Iterator[str]:
    """File names made from the given names: lower-case letters, digits, dots and hyphens; all are different."""
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"[^a-z0-9.]+", "-", name.casefold()[:200])
        plain = re.sub(r"\.[.-]+", ".", plain)[:60].strip("-.") or "run"
        made = next(each for each in chain([plain], (f"{plain}-{k}" for k in count(2))) if each not in taken)
        taken.add(made)
        yield made
