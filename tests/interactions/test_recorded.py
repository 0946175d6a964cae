"""The recorded programs: all can be read, and a damaged file gives one message."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from autograd_conformance.interactions.meetings import meetings
from autograd_conformance.interactions.reachable import Met, Reachable, reachable
from autograd_conformance.interactions.recorded import (
    PART,
    PROGRAMS,
    DamagedPrograms,
    Recorded,
    read,
    recorded,
    write,
)
from autograd_conformance.programs.language import Program

LINES = gzip.decompress(PROGRAMS.read_bytes()).decode().splitlines(keepends=True)
CONTENT = PROGRAMS.read_bytes()


def programs() -> list[Program]:
    found = recorded()
    return [program for part in range(found.parts(whole=True)) for program in found.part(part)]


def test_each_recorded_program_is_in_one_part() -> None:
    found = recorded()
    assert len(programs()) == len(found.lines)
    assert found.pairs <= found.quick <= len(found.lines)
    assert found.parts(whole=False) == -(-found.quick // PART)


def test_together_they_have_the_reachable_interactions() -> None:
    number = {fact: at for at, fact in enumerate(reachable().facts)}
    met = {frozenset(number[fact] for fact in meeting) for program in programs() for meeting in meetings(program)}
    assert Met.of(map(sorted, met)).counts == Met.of(reachable().meetings).counts


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    some = Recorded(recorded().lines[:5], 2, 3)
    write(tmp_path / "some.gz", some)
    assert read(tmp_path / "some.gz") == some


def compressed(text: str) -> bytes:
    return gzip.compress(text.encode(), mtime=0)


OTHER_FORMAT = json.dumps({**json.loads(LINES[0]), "format": 2}) + "\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "install the suite again", id="empty"),
        pytest.param(CONTENT[: len(CONTENT) // 2], "install the suite again", id="half"),
        pytest.param(CONTENT[:-1], "install the suite again", id="last-byte-lost"),
        pytest.param(
            CONTENT[:100] + bytes([CONTENT[100] ^ 1]) + CONTENT[101:], "install the suite again", id="one-bit-changed"
        ),
        pytest.param(b"recorded programs", "install the suite again", id="plain-text"),
        pytest.param(compressed(""), "install the suite again", id="no-lines"),
        pytest.param(compressed("[]\n"), "install the suite again", id="no-head"),
        pytest.param(
            compressed("".join(LINES[:-1])),
            f"it has {len(LINES) - 2} programs in place of {len(LINES) - 1}",
            id="last-program-lost",
        ),
        pytest.param(
            compressed("".join([OTHER_FORMAT, *LINES[1:]])),
            "format 2; this version of the suite reads 1",
            id="other-format",
        ),
    ],
)
def test_a_damaged_file_is_one_message(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DamagedPrograms) as error:
        read(tmp_path / "file")
    assert message in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_what_a_framework_does_not_claim_is_not_reachable() -> None:
    some = Reachable({"a": frozenset(), "b": frozenset({"hooks"}), "c": frozenset()}, [(0, 1, 2), (1, 2)])
    assert Met.of(some.allowed(()).meetings).counts == (1, 0)
    assert Met.of(some.allowed(("hooks",)).meetings).counts == (3, 1)


def test_interactions_of_two_runs_in_common() -> None:
    one, other = Met.of([(0, 1, 2)]), Met.of([(0, 1, 3), (1, 2)])
    assert one.within(other).counts == (2, 0)
