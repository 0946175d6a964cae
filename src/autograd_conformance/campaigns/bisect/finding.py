"""Reads a finding, a program and the rule that it breaks, from a replay file, a corpus file, a file of known
differences or a record file.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autograd_conformance.checking import corpus
from autograd_conformance.known_differences import Known, MalformedKnownDifferences, is_known
from autograd_conformance.known_differences import read as known
from autograd_conformance.plugin import replay
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.validation import MalformedProgram
from autograd_conformance.reporting.records.renamed_rules import current_slug
from autograd_conformance.reporting.records.stream import InvalidReport, load
from autograd_conformance.rules.relations import codec as relations_codec
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.rules.violations.violation import Violation

RECORDS = (".jsonl", ".jsonl.gz")
"""Endings of the names of record files."""


class UnusableFinding(Exception):
    """A file contains no usable finding; the message says why."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A program, or a pair of related programs, with the violation whose first or last version a bisection searches
    for.
    """

    program: Program | Related
    rule: str | None = None
    """The rule that the program breaks; None means any rule."""
    op: str | None = None
    """The op that the violation is about; None if the file does not name the op."""
    before: tuple[Program, ...] = ()
    """Programs that must run earlier in the same process, because the failure for whose version the bisection searches
    does not occur without them."""
    entry: Known | None = None
    """The known difference that the program demonstrates, if the file is one of known differences."""

    @property
    def title(self) -> str:
        """The rule and the op, as text: "gradients/op, op tanh"."""
        return f"{self.rule or 'any rule'}{f', op {self.op}' if self.op else ''}"

    def to_json(self) -> dict[str, Any]:
        """Returns the finding in the form of a replay file. Of a known difference, only the program and the rule are
        kept.
        """
        program = self.program
        form = relations_codec.to_json(program) if isinstance(program, Related) else codec.to_json(program)
        before = {"before": [codec.to_json(each) for each in self.before]} if self.before else {}
        return ({} if self.rule is None else {"rule": self.rule}) | form | before

    def shown_by(self, program: Program, violation: Violation) -> bool:
        """Whether a violation of a program is the one to search for: of the rule, or matched by the known
        difference.
        """
        if self.entry is not None:
            return is_known(self.entry, program, violation)
        return self.rule in (None, violation.rule)


def finding(path: Path, rule: str | None = None, number: int | None = None) -> Finding:
    """Returns one finding of a file: the only one, the one of a rule, or the one with a number, counted from 1.

    If the file names no rule, `rule` is the rule to search for. Raises `UnusableFinding`.
    """
    present = findings(path)
    wanted = {at: each for at, each in enumerate(present, 1) if number in (None, at)}
    if rule is not None:
        wanted = {at: each for at, each in wanted.items() if each.rule in (None, rule)}
    if len(wanted) == 1:
        (found,) = wanted.values()
        return replace(found, rule=found.rule or rule)
    if not present:
        raise UnusableFinding(f"{path}: it holds no failure")
    shown = [f"{at}: {each.title}" for at, each in (wanted or dict(enumerate(present, 1))).items()]
    message = (
        f"it holds {len(wanted):,} findings; choose one with --number" if wanted else "it holds no such finding, only"
    )
    raise UnusableFinding(f"{path}: {message}:\n  " + "\n  ".join(shown))


def findings(path: Path) -> Sequence[Finding]:
    """Returns all findings of a replay file, a corpus file, a file of known differences, or a record file. Raises
    `UnusableFinding`.
    """
    try:
        return _findings(path)
    except OSError as error:
        raise UnusableFinding(f"{path}: {error.strerror or error}") from None
    except RecursionError:
        raise UnusableFinding(f"{path}: it is nested too deeply to be a program") from None
    except (MalformedKnownDifferences, corpus.MalformedCorpusFile, InvalidReport) as error:
        raise UnusableFinding(str(error)) from None
    except (MalformedProgram, ValueError) as error:
        raise UnusableFinding(f"{path}: {error}") from None


def _findings(path: Path) -> Sequence[Finding]:
    if path.name.endswith(RECORDS):
        failures = load(path, allow_truncated=True).failures
        return [
            Finding(replay.from_form(dict(each.program))[0], each.rule, each.op) for each in failures if each.program
        ]
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".toml":
        form = json.loads(text)
        program, before = replay.from_form(form)
        return [Finding(program, None if form.get("rule") is None else current_slug(form["rule"]), before=before)]
    if "program" in tomllib.loads(text):
        found = corpus.read(path)
        return [Finding(found.program, found.rule)]
    return [Finding(each.witness, each.rule, each.op, entry=each) for each in known(path)]
