"""Files of known differences may use the old names of keys, and hold the same entries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograd_conformance.known_differences import MalformedKnownDifferences, read
from autograd_conformance.known_differences.file import by_present_name, parsed
from autograd_conformance.known_differences.parts import FOLDERS
from autograd_conformance.known_differences.table import KEYS, RENAMED

OLD = {new: old for old, new in RENAMED.items()}
"""The old name of each renamed key."""
FILES = sorted(file for folder in FOLDERS for file in folder.glob("*.toml"))


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_key_is_read_as_its_present_name(old: str) -> None:
    assert by_present_name({"rule": "r", old: 1}) == {"rule": ("rule", "r"), RENAMED[old]: (old, 1)}


def test_old_and_present_keys_are_disjoint() -> None:
    assert {*RENAMED.values()} <= KEYS.keys()
    assert RENAMED.keys().isdisjoint(KEYS)
    assert len(OLD) == len(RENAMED)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_with_old_keys_holds_the_same_entries(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    old = re.sub(r"^(\w+) = ", lambda key: f"{OLD.get(key[1], key[1])} = ", text, flags=re.MULTILINE)
    assert parsed(old, file) == read(file)


ENTRY = """
[[known]]
rule = "gradients/op"
op = "sin"
reason = "r"
witness = "a = leaf [0]; b = sin a; backward b"
"""


def test_a_key_under_both_names_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedKnownDifferences, match="views: it is the old name of makes_view, which the entry"):
        parsed(f"{ENTRY}relative = 0.1\nmakes_view = true\nviews = true\n", tmp_path / "x.toml")


def test_a_message_about_an_old_key_names_the_present_one(tmp_path: Path) -> None:
    with pytest.raises(MalformedKnownDifferences, match=r"fulfils graph_reused \(again is graph_reused now\)"):
        parsed(f"{ENTRY}relative = 0.1\nagain = true\n", tmp_path / "x.toml")
