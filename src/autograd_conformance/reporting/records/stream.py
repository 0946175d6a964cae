"""Record files: JSON Lines, one record per line.

Each record is written as one complete line and flushed at once, so that a killed run loses no finished record. Reading
checks every line against the published schema, and the order of the records.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NoReturn, Self

import jsonschema_rs
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from jsonschema.exceptions import best_match  # type: ignore[import-untyped]

from autograd_conformance.reporting.records.claims import ClaimRecord
from autograd_conformance.reporting.records.encoding import NAMES, decode, encode
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import (
    VERSION,
    Behaviour,
    Coverage,
    Footer,
    Header,
    Interactions,
    KnownRecord,
    Record,
    Report,
    Result,
    RuleRecord,
)
from autograd_conformance.reporting.records.renamed_rules import with_current_slugs

LONGEST = 1 << 28
"""Maximum size in bytes of a compressed record file (``.gz``) after decompression; files of real runs have a few
million.
"""

SCHEMA = Path(__file__).with_name("records.schema.json")
"""Published JSON Schema of a line in a record file."""


class InvalidReport(Exception):
    """Raised if a record file is invalid: `problem` describes why, in `file`, on `line` (None: the whole file)."""

    def __init__(self, file: str | Path, line: int | None, problem: str) -> None:
        self.file, self.line, self.problem = str(file), line, problem
        super().__init__(f"{file}: {problem}" if line is None else f"{file}, line {line}: {problem}")


class Writer:
    """Writes records to a file line by line, each flushed before `write` returns.

    Opening creates missing folders and a new file; mode "a" appends to an existing one. Write a test's failures before
    its result: if the run is killed in between, the failures still count against the right rule. Use the writer as a
    context manager, or call `close`.
    """

    def __init__(self, path: str | Path, mode: Literal["w", "a"] = "w") -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open(mode, encoding="utf-8", newline="\n")

    def write(self, record: Record) -> None:
        """Append one record. Raises ValueError, and writes nothing, if a program has an infinite number or NaN."""
        line = json.dumps(encode(record), allow_nan=False, separators=(",", ":"))
        self._file.write(line + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()


def write(report: Report, path: str | Path) -> None:
    """Write all records of a report to a record file, replacing the file."""
    with Writer(path) as writer:
        for record in records(report):
            writer.write(record)


def records(report: Report) -> Iterator[Record]:
    """Yields the records of a report in the order in which `write` puts them into a file: failures before results, the
    footer last.
    """
    yield report.header
    yield from report.rules
    yield from report.failures
    yield from report.results
    yield from report.known
    yield from report.claims
    yield from report.coverage
    yield from report.behaviours
    if report.interactions:
        yield report.interactions
    if report.footer:
        yield report.footer


def read(path: str | Path) -> Report:
    """Read the report of a finished run; raises `InvalidReport` if the file is invalid or the run was killed."""
    return load(path, allow_truncated=False)


def load(path: str | Path, allow_truncated: bool = False) -> Report:
    """Read the report in a file, compressed (``.gz``) or not; raises `InvalidReport` if the file is invalid.

    With `allow_truncated` the file of a killed run is valid: its report has no footer, and an incomplete last line is
    ignored.
    """
    try:
        content = _content(Path(path))
    except OSError as error:
        raise InvalidReport(path, None, error.strerror or str(error)) from error
    except (EOFError, zlib.error) as error:
        raise InvalidReport(path, None, f"it is not a valid gzip file: {error}") from error
    return parse(content, str(path), allow_truncated)


def _content(path: Path) -> bytes:
    """Returns the bytes of a file, decompressed if its name ends in ``.gz``; raises `InvalidReport` if the decompressed
    bytes exceed `LONGEST`.
    """
    if path.suffix != ".gz":
        return path.read_bytes()
    with gzip.open(path) as file:
        content = file.read(LONGEST + 1)
    if len(content) > LONGEST:
        raise InvalidReport(path, None, f"it is larger than {LONGEST >> 20:,} MiB after decompression")
    return content


def parse(content: bytes, file: str, allow_truncated: bool = False) -> Report:
    """Parse the bytes of a record file; `file` is its name in the messages of `InvalidReport`."""
    lines = content.split(b"\n")
    tail = lines.pop()
    numbered = list(enumerate(lines, start=1))
    match _is_json(tail), allow_truncated:
        case False, False if tail.startswith(b"{"):
            raise InvalidReport(file, len(lines) + 1, "the line is incomplete: the run was killed while writing it")
        case (True, _) | (False, False) if tail:
            numbered.append((len(lines) + 1, tail))
    report = _assemble(_records(numbered, file), file)
    if report.footer is None and not allow_truncated:
        raise InvalidReport(file, len(numbered), "the file ends without a footer: the run was killed here")
    return report


def report_of(records: Iterable[Record], file: str = "this run") -> Report:
    """Makes a report from records that are in the order of a record file; `file` names their source in the messages of
    `InvalidReport`.
    """
    return _assemble(enumerate(records, start=1), file)


def _records(numbered: Iterable[tuple[int, bytes]], file: str) -> Iterator[tuple[int, Record]]:
    for number, line in numbered:
        try:
            form = with_current_slugs(json.loads(line, parse_constant=_reject_constant))
        except json.JSONDecodeError as error:
            raise InvalidReport(file, number, f"malformed JSON at column {error.colno}: {error.msg}") from error
        except (ValueError, RecursionError) as error:
            raise InvalidReport(file, number, f"malformed JSON: {error}") from error
        problem = _problem(form)
        if problem:
            raise InvalidReport(file, number, problem)
        yield number, decode(form)


def _assemble(records: Iterable[tuple[int, Record]], file: str) -> Report:
    header: Header | None = None
    footer: Footer | None = None
    rules: dict[str, RuleRecord] = {}
    results: list[Result] = []
    failures: list[Failure] = []
    differences: list[KnownRecord] = []
    claims: dict[str, ClaimRecord] = {}
    coverage: dict[str, Coverage] = {}
    behaviours: list[Behaviour] = []
    interactions: Interactions | None = None
    for number, record in records:
        if header is None and not isinstance(record, Header):
            raise InvalidReport(file, number, "the file has no header: its first record must be one")
        if footer is not None:
            raise InvalidReport(file, number, "there is a record after the footer")
        unknown = _unknown_rules(record, rules)
        if unknown:
            raise InvalidReport(file, number, f"this line names rule {unknown[0]!r}, which has no record above it")
        match record:
            case Header() if header is not None:
                raise InvalidReport(file, number, "there is a second header: the file seems to contain two runs")
            case Header():
                header = record
            case RuleRecord() if record.rule in rules:
                raise InvalidReport(file, number, f"rule {record.rule!r} has two records")
            case RuleRecord():
                rules[record.rule] = record
            case Result():
                results.append(record)
            case Failure():
                failures.append(record)
            case KnownRecord():
                differences.append(record)
            case ClaimRecord() if record.key in claims:
                raise InvalidReport(file, number, f"claim {record.key!r} has two records")
            case ClaimRecord():
                claims[record.key] = record
            case Coverage() if record.op in coverage:
                raise InvalidReport(file, number, f"op {record.op!r} has two coverage records")
            case Coverage():
                coverage[record.op] = record
            case Behaviour():
                behaviours.append(record)
            case Interactions() if interactions is not None:
                raise InvalidReport(file, number, "there is a second record of interactions")
            case Interactions():
                interactions = record
            case Footer():
                footer = record
    if header is None:
        raise InvalidReport(file, None, "the file has no header: it is empty")
    return Report(
        _narrowed(header, footer),
        tuple(rules.values()),
        tuple(results),
        tuple(failures),
        footer,
        tuple(differences),
        tuple(claims.values()),
        tuple(coverage.values()),
        tuple(behaviours),
        interactions,
    )


def _narrowed(header: Header, footer: Footer | None) -> Header:
    """The header, corrected for ops that the run found to be missing after it had written the header."""
    framework = header.framework
    missing = [op for op in footer.missing_ops if op not in framework.missing_ops] if footer else []
    ops, absent = framework.ops - len(missing), (*framework.missing_ops, *missing)
    return replace(header, framework=replace(framework, ops=ops, missing_ops=absent)) if missing else header


def _unknown_rules(record: Record, known: Mapping[str, RuleRecord]) -> list[str]:
    match record:
        case Result():
            return [slug for slug in (record.rule, *record.exercised) if slug not in known]
        case Failure() | KnownRecord():
            return [slug for slug in (record.rule,) if slug not in known]
        case _:
            return []


def _problem(form: Any) -> str | None:
    if not isinstance(form, dict):
        return "a record is a JSON object"
    kind = form.get("record")
    if not isinstance(kind, str) or kind not in _validators():
        return f"$.record: {kind!r} is none of {', '.join(_validators())}"
    if kind == "header" and form.get("version", VERSION) != VERSION:
        return f"$.version: this program reads version {VERSION} of the records, but the file has {form['version']!r}"
    if _is_valid(kind, form):
        return None
    error = best_match(_validators()[kind].iter_errors(form))
    return None if error is None else f"{error.json_path}: {error.message} (a {kind} record)"


def _is_valid(kind: str, form: Any) -> bool:
    """Whether a record satisfies the schema: a check ten times faster than the validator that explains errors.

    False may also mean that the fast validator cannot decide.
    """
    try:
        return bool(_quick()[kind].is_valid(form))
    except ValueError:  # such as half a surrogate pair, which only the slow validator accepts
        return False


@cache
def _quick() -> dict[str, Any]:
    return {kind: jsonschema_rs.Draft202012Validator(schema) for kind, schema in _schemas().items()}


@cache
def _validators() -> dict[str, Any]:
    return {kind: Draft202012Validator(schema) for kind, schema in _schemas().items()}


def _schemas() -> dict[str, dict[str, Any]]:
    # One schema per kind of record: an error about one schema is clearer than "none of seven alternatives matched".
    definitions = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
    return {kind: {"$ref": f"#/$defs/{kind}", "$defs": definitions} for kind in NAMES.values()}


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not valid JSON")
