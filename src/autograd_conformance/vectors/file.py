"""Files of vectors: a line about all of them, then a line of JSON for each. A name that ends in .gz is compressed."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from autograd_conformance.package.sources import SUITE_VERSION
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.stages import STAGES
from autograd_conformance.vectors.vector import LEVELS, Question, Vector

VERSION = 1
"""The version of the format."""

Json = Any


class UnusableFile(Exception):
    """A file of vectors or answers is damaged, cut or of another version; the message says what to do."""


def write(path: Path, vectors: Iterable[Vector], claims: Json) -> int:
    """Writes a file of vectors, with the claims that they were made for, and returns their number. The file is complete
    or not there.
    """
    lines = [json.dumps(each.to_json(), separators=(",", ":")) for each in vectors]
    about = {
        "vectors": VERSION,
        "suite": SUITE_VERSION,
        "count": len(lines),
        "sha256": _digest(lines),
        "levels": [stage.name for stage in STAGES[:LEVELS]],
        "claims": claims,
    }
    data = "\n".join([json.dumps(about), *lines, ""]).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(gzip.compress(data, 9, mtime=0) if path.suffix == ".gz" else data)
    os.replace(part, path)
    return len(lines)


def read(path: Path) -> list[Question]:
    """Reads a file of vectors. Raises `UnusableFile` if it is damaged, cut or of another version."""
    first, *lines = lines_of(path)
    try:
        about = json.loads(first)
        version, count, digest = about["vectors"], about["count"], about["sha256"]
    except (ValueError, LookupError, TypeError):
        raise UnusableFile(f"{path} is no file of vectors; `autograd-conformance vectors make` makes one") from None
    if version != VERSION:
        raise UnusableFile(
            f"{path} has version {version!r} of the format, this suite reads {VERSION}: make the vectors again"
        )
    if count != len(lines) or digest != _digest(lines):
        raise UnusableFile(
            f"{path} is damaged ({len(lines)} of {count} vectors, or changed ones): copy or make it again"
        )
    try:
        questions = [Question.from_json(json.loads(line)) for line in lines]
        unknown = next((each.rule for each in questions if each.rule not in RULES), None)
    except (ValueError, LookupError, TypeError) as error:
        raise UnusableFile(f"{path}: {error}; make the vectors again with this suite") from None
    if unknown is not None:
        raise UnusableFile(f"{path} has the rule {unknown}, which this suite does not have: make the vectors again")
    return questions


def lines_of(path: Path) -> list[str]:
    """Returns the lines of a text file, compressed or not; at least one. Raises `UnusableFile`."""
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode()
    except OSError as error:
        raise UnusableFile(f"{path}: {error.strerror or error}") from None
    except (EOFError, zlib.error, UnicodeDecodeError) as error:
        raise UnusableFile(f"{path} is damaged ({error}): copy or make it again") from None
    return text.splitlines() or [""]


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
