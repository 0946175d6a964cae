"""The functions that come with the package: NumPy source of ops and of their vector-Jacobian products, traced from JAX
when the package was made, so that a first run neither imports JAX nor traces them (13 ms each).

The file is a ZIP archive with a member for each op and kind of function. Each member has the digest of the op's
definition: if that has changed since, its functions are not used. The file may be missing or damaged: then all
functions are traced. Another version of JAX than the one that traced them uses them, too. `python -m evaluation.traced`
makes the file.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.staging.definitions import definition_digest
from autograd_conformance.reference.staging.source import Source
from autograd_conformance.reference.staging.vjp import Vjp, base_op

FUNCTIONS = Path(__file__).with_name("traced.zip")
"""The file of the functions that come with the package."""

LARGEST_CONSTANTS = 4096
"""Functions with more elements in their constants are not in the file."""

UNREADABLE = (OSError, EOFError, zipfile.BadZipFile, zlib.error, ValueError, LookupError, TypeError)
"""The errors that reading a damaged file raises."""


class Member(NamedTuple):
    """The functions of one op and kind."""

    digest: str | None
    """The digest of the op's definition from which the functions were traced."""
    functions: dict[str, Source]
    """The functions by the text of their keys."""

    def is_current(self, name: str) -> bool:
        """Whether the definition of the op in the member's name is the one from which the functions were traced."""
        return self.digest is not None and self.digest == definition_digest(op_of(name))


class Traced:
    """Reads the functions that come with the package, op by op."""

    def __init__(self, path: Path = FUNCTIONS) -> None:
        self.path = path

    @cached_property
    def _archive(self) -> zipfile.ZipFile:
        """The file, in memory, because processes that a fork makes would share an open one."""
        return zipfile.ZipFile(BytesIO(self.path.read_bytes()))

    def beside(self, about: object) -> dict[str, Source]:
        """Returns all functions of the same op and kind as the one with the key `about`, by the text of their keys.
        Returns none if that one is not in the file, or if the op's definition has changed.
        """
        name = member(about)
        if name is None:
            return {}
        try:
            content = self._archive.read(name)
            if json.dumps(repr(about)).encode() not in content:
                return {}
            found = _member(content)
        except UNREADABLE:
            return {}
        return found.functions if found.is_current(name) else {}


def member(about: object) -> str | None:
    """Returns the name of the file's member that has the function with a key; None if the file has none of its kind."""
    match about:
        case ("forward" | "vjp" as kind, (str() | Vjp()) as op, _, _):
            return f"{kind}/{base_op(op)}.jsonl"
        case _:
            return None


def op_of(name: str) -> str:
    """Returns the op of a member of the file."""
    return Path(name).stem


def read(path: Path) -> dict[str, Member]:
    """Reads all members of a file of functions, by name. Raises OSError if there is none."""
    with zipfile.ZipFile(path) as archive:
        return {name: _member(archive.read(name)) for name in archive.namelist()}


def write(path: Path, members: Mapping[str, Mapping[str, Source]]) -> None:
    """Writes a file of functions, by the names of the members and the text of the keys, with the digests of the ops'
    definitions as they are now. Equal functions make equal files.
    """
    with zipfile.ZipFile(path, "w") as archive:
        for name, functions in sorted(members.items()):
            lines = [
                json.dumps(definition_digest(op_of(name))),
                *(_line(key, functions[key]) for key in sorted(functions)),
            ]
            archive.writestr(zipfile.ZipInfo(name), "\n".join(lines), zipfile.ZIP_DEFLATED, compresslevel=9)


def is_kept(source: Source) -> bool:
    """Whether a function can be in the file: it does not call JAX, and its constants are small."""
    return source.portable and sum(np.size(each) for each in source.constants.values()) <= LARGEST_CONSTANTS


def _member(content: bytes) -> Member:
    digest, *functions = map(json.loads, content.decode().splitlines())
    return Member(digest, {key: _source(*parts) for key, *parts in functions})


def _line(key: str, source: Source) -> str:
    constants = {
        name: (value.dtype.str, value.shape, np.ravel(value).tolist()) for name, value in source.constants.items()
    }
    return json.dumps([key, source.text, constants, [sorted(each) for each in source.reads]])


def _source(text: str, constants: dict[str, Any], reads: list[list[int]]) -> Source:
    arrays = {name: np.array(numbers, dtype).reshape(shape)[()] for name, (dtype, shape, numbers) in constants.items()}
    return Source(text, arrays, tuple(frozenset(each) for each in reads))
