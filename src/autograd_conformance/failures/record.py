"""Makes failure records from violations: everything that a maintainer needs to believe the failure in a minute."""

from __future__ import annotations

import json
import os
import re
import shlex
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograd_conformance.checking.category import category_of
from autograd_conformance.checking.check import RuleViolated
from autograd_conformance.checking.error_size import error_size
from autograd_conformance.checking.session import Session
from autograd_conformance.checking.signature import base_of, signature_of, signature_of_ending
from autograd_conformance.failures import related as relations
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.counted import deadline, is_counted_only
from autograd_conformance.failures.earlier_calls import without_earlier_calls
from autograd_conformance.failures.evidence.flow import flow
from autograd_conformance.failures.evidence.votes import votes
from autograd_conformance.failures.listing import groups, loop_listing, traced, with_prelude
from autograd_conformance.failures.reduce import reduced, without_later_lines
from autograd_conformance.failures.script import script
from autograd_conformance.failures.unreduced import unreduced_script
from autograd_conformance.failures.variations.ablation import essential_ops
from autograd_conformance.failures.variations.confirmed_cause import with_confirmed_cause
from autograd_conformance.failures.variations.nearest import nearest
from autograd_conformance.known_differences import Known
from autograd_conformance.package.places import SUITES
from autograd_conformance.printing.dialect import code
from autograd_conformance.processes.journal import Entry
from autograd_conformance.processes.supervision import describe_exit
from autograd_conformance.programs.foreign.text import harmless
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Program
from autograd_conformance.reporting.analysis.signature_keys import signature_key
from autograd_conformance.reporting.records.failure import Allowed, ExplanationStep, Failure
from autograd_conformance.reporting.records.terms import FailureVerdict, Source
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.explanation.explain import explain
from autograd_conformance.rules.failing_line import stage_of_failure
from autograd_conformance.rules.relations import codec as relations_codec
from autograd_conformance.rules.stages import stage_of


def failure(
    broken: RuleViolated, test: str, session: Session, verdict: FailureVerdict = "fail", file: Path | None = None
) -> Failure:
    """Makes the record of a violation, and notes its cause."""
    made = _failure(broken, test, session, verdict, file)
    session.process.note_recorded(signature_key(made))
    return made


def _failure(broken: RuleViolated, test: str, session: Session, verdict: FailureVerdict, file: Path | None) -> Failure:
    """Makes the record of a violation: reduced, explained, and with a replay file. If this process has explained a
    failure with the same cause already, or the time for it is used up, the record has the program in which the
    violation was found.

    If `file` already contains the program, no replay file is written. If the suite fails to reduce or explain it, the
    record has the program in which the violation was found, and says so.
    """
    process = session.process
    if process.is_over():
        return _counted(broken, test, session, verdict)
    began = time.monotonic()
    try:
        if file is None and is_counted_only(broken, session, verdict):
            return _counted(broken, test, session, verdict)
        made = explained(broken, test, session, verdict, deadline(process), file)
        process.note_explained(signature_key(made))
        return made
    finally:
        process.count_explaining(time.monotonic() - began)


def _counted(broken: RuleViolated, test: str, session: Session, verdict: FailureVerdict) -> Failure:
    """Makes the record of a violation that is only counted."""
    session.process.has_counted = True
    return replace(unexplained(broken, test, session, verdict), counted=True)


def explained(
    broken: RuleViolated, test: str, session: Session, verdict: FailureVerdict, until: float, file: Path | None = None
) -> Failure:
    """Makes the record of a violation: reduced, explained, and with a replay file, unless the suite fails to do that.
    Ends at about the time `until`, on the monotonic clock.
    """
    try:
        return _explained(broken, test, session, verdict, until, file)
    except Exception as error:  # a bug of the suite: the violation is true all the same
        note = f"the suite failed to explain this; please report it to the suite: {type(error).__name__}: {error}"
        return replace(
            unexplained(broken, test, session, verdict), why=(ExplanationStep(broken.violation.at + 1, harmless(note)),)
        )


def _explained(
    broken: RuleViolated, test: str, session: Session, verdict: FailureVerdict, until: float, file: Path | None
) -> Failure:
    """Makes the record of a violation: reduced, explained, and with a replay file."""
    found = Case.of(broken, until).with_crashes_as_errors()
    if broken.related is not None:
        small = reduced(found, session.framework.known, keeps_numbers=file is not None)
        return _related_failure(small, test, session, verdict, file)
    case = with_confirmed_cause(_reduced_case(found, session.framework.known, file is not None))
    violation = case.violation
    path = file or replay_file(case.form, session, violation.rule, test)
    command = replay_command(session, path)
    return Failure(
        verdict=verdict,
        **rule_fields(violation.rule),
        stage=stage_field(violation.rule, case.program, violation.at),
        test=test,
        op=violation.op,
        program=case.form,
        at=violation.at,
        observed=violation.observed_text(),
        allowed=tuple(Allowed(text, rule) for text, rule in violation.allowed_texts()),
        code="\n".join(case.code),
        loop=with_prelude(case.loop, case.program, case.dialect),
        why=tuple(ExplanationStep(line, text) for line, text in explain(case.context)),
        error=error_size(case.program, violation),
        votes=votes(case),
        diagnosis=violation.diagnosis_text(),
        variation=nearest(case),
        script=script(case),
        replay=str(path),
        command=command,
        deviation=category_of(violation),
        signature=signature_of(case.program, violation),
        base=base_of(case.program),
        cured=essential_ops(case),
        flow=flow(case),
        groups=groups(case.program, case.target),
    )


def unexplained(broken: RuleViolated, test: str, session: Session, verdict: FailureVerdict = "fail") -> Failure:
    """Makes the record of a violation in the program in which it was found, neither reduced nor explained."""
    violation, related, dialect = broken.violation, broken.related, broken.target.dialect
    form = codec.to_json(broken.program) if related is None else relations_codec.to_json(related)
    path = replay_file(form, session, violation.rule, test)
    return Failure(
        verdict=verdict,
        **rule_fields(violation.rule),
        stage=stage_field(violation.rule, broken.program, violation.at) if related is None else None,
        test=test,
        op=violation.op,
        program=form,
        at=violation.at,
        observed=violation.observed_text(),
        allowed=tuple(Allowed(text, rule) for text, rule in violation.allowed_texts()),
        code="\n".join(code(broken.program, dialect)),
        other="" if related is None else "\n".join(code(related.second, dialect)),
        error=error_size(broken.program, violation),
        script=unreduced_script(broken),
        replay=str(path),
        command=replay_command(session, path),
        deviation=category_of(violation),
        signature=signature_of(broken.program, violation),
        base=base_of(broken.program) if related is None else None,
    )


def _reduced_case(case: Case, known: Sequence[Known], keeps_numbers: bool) -> Case:
    """Returns the failure in the smallest program found, or in the original program up to the failing line, if its code
    with loops has fewer lines.
    """
    whole = without_earlier_calls(without_later_lines(case, known), known)
    small = reduced(whole, known, keeps_numbers=keeps_numbers)
    return whole if 0 < len(whole.loop.splitlines()) < len(small.program) else small


def _related_failure(case: Case, test: str, session: Session, verdict: FailureVerdict, file: Path | None) -> Failure:
    """Makes the record of two related programs whose results differ."""
    violation, dialect, related = case.violation, case.dialect, case.pair
    form = relations_codec.to_json(related)
    path = file or replay_file(form, session, violation.rule, test)
    command = replay_command(session, path)
    separate = relations.separate_cases(case)
    return Failure(
        verdict=verdict,
        **rule_fields(violation.rule),
        test=test,
        program=form,
        at=violation.at,
        observed=violation.observed_text(),
        allowed=tuple(Allowed(text, rule) for text, rule in violation.allowed_texts()),
        code="\n".join(code(related.first, dialect)),
        other="\n".join(code(related.second, dialect)),
        why=relations.explanation(case),
        error=error_size(case.program, violation),
        diagnosis=relations.describe(separate),
        script=relations.script(case),
        replay=str(path),
        command=command,
        deviation=category_of(violation),
        signature=signature_of(case.program, violation),
        parts=relations.parts(separate),
    )


def crash_failure(entry: Entry, session: Session, how: str) -> Failure:
    """Makes the record of a program that crashed its process, or hung until the watchdog ended the process; `how`
    describes the ending.
    """
    form, dialect = codec.to_json(entry.program), session.framework.target.dialect
    path = replay_file(form, session, entry.rule, entry.test)
    command = replay_command(session, path)
    return Failure(
        verdict="timeout" if entry.timed_out else "crash",
        **rule_fields(entry.rule),
        test=entry.test,
        op=entry.op,
        program=form,
        observed=how,
        allowed=(Allowed("returns, or raises an error", entry.rule),),
        code="\n".join(code(entry.program, dialect)),
        loop=with_prelude(loop_listing(entry.program, session.framework.target), entry.program, dialect),
        script=traced(entry.program, session.framework.target, how),
        replay=str(path),
        command=command,
        signature=signature_of_ending(entry.program, entry.op),
        base=base_of(entry.program),
        groups=groups(entry.program, session.framework.target),
    )


def describe_ending(entry: Entry, timeout: float, status: int | None) -> str:
    """Describes how a process ended while it ran a program.

    `status` is its exit code, or minus the number of the signal that ended it; None if unknown.
    """
    if entry.timed_out:
        return f"did not come back in time ({timeout:g} s)"
    return "the process died" if status is None else describe_exit(status)


def replay_command(session: Session, path: Path) -> str:
    """Returns the command that runs a replay file again from the current directory.

    Options are joined to their values, as pytest takes a separate path for a place with tests.
    """
    framework = session.settings.options or (f"--framework={session.settings.name}",)
    device = [] if session.settings.device == "cpu" else [f"--device={session.settings.device}"]
    command = "pytest" if Path("suites").resolve() == SUITES else "autograd-conformance"
    return shlex.join([command, *framework, *device, f"--replay={path}"])


def rule_fields(slug: str) -> dict[str, Any]:
    """Returns the fields of a failure record that depend on the rule alone: slug, level, sentence and sources."""
    rule = RULES[slug]
    return {
        "rule": slug,
        "level": rule.level.value,
        "sentence": rule.sentence,
        "sources": tuple(Source(s.title, s.where) for s in rule.sources),
    }


def stage_field(rule: str, program: Program, at: int | None) -> str | None:
    """Returns the name of the stage in which a failure counts; None if it is the stage of the rule."""
    stage = stage_of_failure(rule, program, at)
    return None if stage is stage_of(rule) else stage.name


def replay_file(form: dict[str, Any], session: Session, rule: str, test: str) -> Path:
    """Writes a replay file, with the program, its rule, its framework and its seed, and returns its path."""
    framework = {"name": session.framework.target.name, "version": session.framework.target.version}
    about = {"rule": rule, "framework": framework, "seed": session.settings.seed}
    found_by = re.sub(r"\W+", "-", test.rpartition("::")[2].removeprefix("test_")).strip("-")
    path = session.settings.folder / "replay" / f"{rule.replace('/', '-')}.{found_by}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(about | form, indent=1) + "\n", encoding="utf-8")
    except OSError as error:  # the failure is still reported; the run ends after it
        session.process.record_unwritable(path, error)
    return _from_start(path, session)


def _from_start(path: Path, session: Session) -> Path:
    """Returns the path relative to the directory in which the run was started, as records contain no absolute paths."""
    return Path(os.path.relpath(path, session.settings.start)) if path.is_absolute() else path
