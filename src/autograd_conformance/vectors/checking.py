"""Judges a file of answers to vectors, and makes the records of the same report that a run makes."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.checking.counts.tally import Tally
from autograd_conformance.checking.session import FrameworkUnderTest, Session, Settings
from autograd_conformance.checking.session.process_state import ProcessState
from autograd_conformance.checking.session.records import header, known_record, now, rule_records
from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.failures import advisory
from autograd_conformance.failures.record import unexplained
from autograd_conformance.frameworks.remote import protocol
from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.frameworks.remote.protocol import MalformedReply
from autograd_conformance.ops.catalogue import CUT
from autograd_conformance.plugin.recording.record_buffer import RecordBuffer
from autograd_conformance.programs.formats import codec, observation_codec
from autograd_conformance.programs.observations import Observation
from autograd_conformance.reporting.analysis.summary import exit_code, summarize
from autograd_conformance.reporting.analysis.verdicts import Exit
from autograd_conformance.reporting.prose import counted
from autograd_conformance.reporting.records.records import Footer, Report, Result
from autograd_conformance.vectors.claims import Answers
from autograd_conformance.vectors.file import UnusableFile, lines_of
from autograd_conformance.vectors.vector import Question

Json = Any

PAGE = "report.md"


def answers_in(path: Path, questions: Sequence[Question]) -> Answers:
    """Reads a file of answers: the claims, then a line for each answered vector. Raises `UnusableFile`."""
    first, *lines = lines_of(path)
    try:
        described = protocol.handshake(first.encode())
    except MalformedReply as error:
        raise UnusableFile(f"{path}, line 1, is no handshake of the protocol: {error}") from None
    known = {each.id: each for each in questions}
    found: dict[str, Observation] = {}
    for number, line in enumerate(lines, 2):
        try:
            form = json.loads(line)
            program = known[form["id"]].program
            found[codec.dumps(program)] = observation_codec.from_json(form["observation"], program, CUT)
        except KeyError as error:
            raise UnusableFile(
                f"{path}, line {number}: {error} is missing, or names no vector of this file of vectors"
            ) from None
        except (ValueError, TypeError) as error:
            raise UnusableFile(f"{path}, line {number}: {error}") from None
    return Answers(described, found)


def check(questions: Sequence[Question], answers: Answers, folder: Path, known_files: tuple[Path, ...] = ()) -> Report:
    """Judges the answers, and writes a report to a folder, as a run does: `records.jsonl`, `report.md` and the rest."""
    began = time.monotonic()
    settings = Settings(answers.described.name, folder=folder, known_files=known_files)
    process = ProcessState(settings)
    session = Session(settings, FrameworkUnderTest(settings, target=Remote(answers)), process)
    folder.mkdir(parents=True, exist_ok=True)
    writer = RecordBuffer(folder / "records.jsonl")
    writer.write(replace(header(session.framework, None, "vectors", 1), device="unknown"))
    for each in rule_records(session.framework):
        writer.write(each)
    by_rule = defaultdict[str, list[Question]](list)
    for question in questions:
        by_rule[question.rule].append(question)
    tally, missing = Tally(), 0
    for rule, those in by_rule.items():
        missing += _judge(rule, those, answers, session, writer, tally)
    for at, entry in enumerate(session.framework.known):
        if tally.differences[at]:
            writer.write(known_record(entry, tally.differences[at], tally.ended[at]))
    for coverage in tally.coverage():
        writer.write(coverage)
    for behaviour in tally.behaviours():
        writer.write(behaviour)
    footer = Footer(
        verdict="interrupted" if missing else "complete",
        finished=now(),
        seconds=round(time.monotonic() - began, 2),
        tests=len(by_rule),
        programs=len(answers.observations),
        exit_code=0,
        reason=f"no answer to {counted(missing, 'vector')} that the framework's claims allow" if missing else None,
        notes=tuple(tally.remarks.lines()),
        selection=True,
    )
    summary = summarize(replace(writer.report(), footer=footer))
    writer.write(replace(footer, exit_code=exit_code(summary, footer, Exit.PASSED)))
    writer.close()
    writer.write_page(folder / PAGE)
    return writer.report()


def _judge(
    rule: str, questions: Sequence[Question], answers: Answers, session: Session, writer: RecordBuffer, tally: Tally
) -> int:
    """Judges the answers to the vectors of one rule, and returns the number of those without an answer."""
    began, target = time.monotonic(), session.framework.target
    test = f"vectors::{rule}"
    made = Check(target, known=session.framework.known, rule=rule, strict=False)
    missing, verdict = 0, "pass"
    for question in questions:
        if codec.dumps(question.program) not in answers.observations:
            missing += not unsupported_by(question.program, target)
            continue
        try:
            made(question.program)
        except RuleViolated as broken:
            verdict = "fail"
            writer.write(unexplained(broken, f"{test}[{question.id}]", session))
    for each in advisory.advisory_failures(made, test, session):
        writer.write(each)
    tally.add(made.tally())
    result = Result(
        test=test,
        rule=rule,
        verdict=verdict if made.programs else "not applicable",  # type: ignore[arg-type]
        programs=made.programs,
        exercised=dict(made.exercised),
        left_open=made.unspecified,
        instructions=made.instructions,
        judged=made.judged,
        seconds=round(time.monotonic() - began, 3),
        reason=None if made.programs else "the framework answered no vector of this rule",
    )
    writer.write(result)
    return missing
