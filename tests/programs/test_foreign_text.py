"""Text from a framework is sanitised: it is cut, contains whole characters only, and no control characters."""

from __future__ import annotations

import json
import time

import pytest

from autograd_conformance.programs.foreign.text import KEPT, harmless, message, type_of

ODD = {
    "cannot open t\udce9.bin": r"cannot open t\udce9.bin",
    "both halves \ud83d": r"both halves \ud83d",
    "a terminal's \x1b[31mred": r"a terminal's \x1b[31mred",
    "nothing\x00 after": r"nothing\x00 after",
    "back\rwards\x08": r"back\rwards\x08",
    "turned \u202eabc": r"turned \u202eabc",
    "two\nlines\tof \u00e9\u4e2d\U0001f600": "two\nlines\tof \u00e9\u4e2d\U0001f600",
    "": "",
}


@pytest.mark.parametrize("text", ODD)
def test_what_is_no_plain_text_is_written_as_an_escape(text):
    assert harmless(text) == ODD[text]
    assert harmless(harmless(text)) == harmless(text)
    assert json.loads(json.dumps(harmless(text)).encode()) == ODD[text]
    harmless(text).encode()


@pytest.mark.parametrize("character", ["x", "\x1b", "\udce9", "\n", "\u00e9"])
def test_a_long_text_keeps_its_ends(character):
    text = f"begins {character * 100_000} ends"
    short = harmless(text)
    assert len(short) <= 2 * KEPT
    assert short.startswith("begins ")
    assert short.endswith(" ends")
    assert "characters left out" in short
    assert harmless(short) == short


def test_a_hundred_megabytes_cost_nothing():
    text = "x" * 10**8
    began = time.process_time()
    harmless(text)
    assert time.process_time() - began < 0.05


class Sly(str):
    """A string class whose methods return wrong values."""

    def __len__(self) -> int:
        raise ValueError("no length")

    def __getitem__(self, key: object) -> str:
        return "\x1b"

    def __str__(self) -> str:
        return self


class Says(Exception):
    """An exception with any text as its message."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


class Renamed(type):
    """An exception type whose name cannot be read."""

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise ValueError("no name")


def test_a_text_of_a_class_of_its_own_is_a_text():
    assert harmless(Sly("abc")) == "abc"
    assert type(message(Says(Sly("abc")))) is str
    assert message(Says("\udce9")) == r"\udce9"


def test_a_type_without_a_name_has_one():
    assert type_of(Renamed("Real", (Exception,), {})()) == "Real"
    assert type_of(type("a\x1bb" * 1000, (Exception,), {})()).startswith(r"a\x1bb")
