"""Tests of the words that are quoted of a process that died."""

from __future__ import annotations

from autograd_conformance.processes.last_words import LONGEST, last_words


def test_the_lines_of_an_abort_are_quoted_without_what_came_before():
    rust = "one\n\nthread 'main' panicked at src/tape.rs:12:5:\nindex out of bounds\nnote: run with RUST_BACKTRACE=1\n"
    assert last_words(rust) == (
        "thread 'main' panicked at src/tape.rs:12:5: / index out of bounds / note: run with RUST_BACKTRACE=1"
    )


def test_of_a_traceback_the_exception_is_quoted():
    assert (
        last_words('Traceback (most recent call last):\n  File "a.py", line 1\n    f()\nValueError: no\n')
        == "ValueError: no"
    )


def test_long_lines_are_cut_and_no_output_is_empty():
    assert last_words("x" * 999) == "x" * LONGEST + "…"
    assert last_words("\n  \n") == ""
