"""The lint of words: it finds private words in docstrings, messages and pages, and nothing in code or frozen texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.words import PRIVATE, everything, uses, uses_in_text

SENTENCES = (
    "the user is told", "what was asked for", "the value seen", "instructions behind a call", "what came of it",
    "the number lies there", "it stands in a file", "values are held to the reference", "what is due",
    "the rules leave open", "computed anew", "the far end", "it greets the server", "by itself", "a stretched limit",
    "the program is excused", "judging goes on", "the judge takes over", "a misfit", "a slip of the adapter",
    "the next moment", "drawn near another program",
)  # fmt: skip


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_private_word_is_found(sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    for text in (f'"""First.\n\nHere {sentence}."""\n', f'TEXT = f"{{len}}: {sentence}"\n'):
        file.write_text(text)
        assert [use.line for use in uses([file])] == [text.count("\n", 0, text.index(sentence)) + 1]


def test_every_pattern_has_a_sentence() -> None:
    found = {use.write for sentence in SENTENCES for use in uses_in_text(sentence, Path("page.md"), 1)}
    assert found == set(PRIVATE.values())


def test_a_docstring_has_a_subject(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text('"""What it does."""\n\n\ndef f():\n    """Number of values."""\n')
    assert [use.word for use in uses([file])] == ["What"]


@pytest.mark.parametrize("text", ["the verdict is *cannot be told*", "`--patience` seconds", "frees the graph after"])
def test_texts_that_records_and_command_lines_hold_are_allowed(text: str, tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(text + "\n```\nasked = told\n```\n")
    assert not [*uses([file])]


def test_all_rooms_and_pages_are_read() -> None:
    read = {path.name for path in everything()}
    assert {"judge.py", "README.md", "test_words.py", "adapter.py", "test_lifetime.py", "report.md.j2"} <= read
