"""Replays a program file of a report: runs the program again and prints "fixed", "still failing" or "cannot run"."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from autograd_conformance.checking.check import RuleViolated, related_as
from autograd_conformance.checking.other_runs import other_runs
from autograd_conformance.checking.session import Session
from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.failures import record as failures
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.environment.process_end import ENDED
from autograd_conformance.known_differences import Known, is_known
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.plugin.program_files import ProgramFile, adapt
from autograd_conformance.printing.dialect import code
from autograd_conformance.processes import guard, journal
from autograd_conformance.processes.child import CLOSED
from autograd_conformance.processes.supervision import describe_exit
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.parser import LONG
from autograd_conformance.programs.formats.text import render
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Observation, Raised, lacks_kernel, undecided_error
from autograd_conformance.programs.validation import MalformedProgram
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reporting.analysis.verdicts import ADAPTER_ERROR, Exit
from autograd_conformance.reporting.records.renamed_rules import with_current_slugs
from autograd_conformance.reporting.render import text
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.rules.relations import codec as relations_codec
from autograd_conformance.rules.relations.casts import NotDocumented, has_casts, with_casts
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.rules.violations.violation import Violation, op_of
from autograd_conformance.tape.trace import first_nonsmooth

Verdict = Literal["fixed", "still failing", "cannot run"]

CODES: dict[Verdict, int] = {"fixed": Exit.PASSED, "still failing": Exit.NOT_CONFORMANT, "cannot run": Exit.USAGE}
"""Exit code of each verdict; `reporting.verdicts` describes the codes."""

OF_TEXTS: dict[Verdict, str] = {"fixed": "breaks no rule", "still failing": "fails", "cannot run": "cannot run"}
"""Words for each verdict on a program that the user wrote, and that need not have failed before."""

INTERRUPTED = Exit.STOPPED
"""Exit code of a replay that the user stops, the same as pytest's for an interrupted run."""

WORKER = "replay"
"""Name under which the replaying process writes its journal, the file that names the running program."""


@dataclass(frozen=True)
class Replayed:
    """The result of a replay."""

    verdict: Verdict
    """"fixed" if the program violates no rule now, "still failing" if it violates one, "cannot run" if it is malformed,
    needs something that the framework does not support, or cannot be judged."""
    reason: str | None = None
    """Why the program cannot run, the rule that it still violates, or how much of it was judged, if not all was."""
    broken: RuleViolated | None = None
    """The violation, if the program still shows one."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child process that replayed several files ended."""

    code: int
    """The highest exit code of the files that it replayed."""
    files: int
    """Number of these files, those without a result included; another process replays the rest."""


def watched(files: Mapping[Path, ProgramFile], main: Callable[[Path], int], timeout: float, watchdog: float) -> Ended:
    """Replays files in a child process, which loads the framework once. The child calls `main` with a folder for its
    journal, the file that names the running program, and for its results.

    A program that ends the process, or runs longer than `timeout` seconds, is still failing. The process is ended if a
    program takes longer than `watchdog` seconds.
    """
    with TemporaryDirectory() as folder:
        observer = journal.Observer(Path(folder), WORKER, watchdog)
        ended = guard.run_watched(lambda: main(Path(folder)), lambda messages: observer.mark_if_hung())
        if ended.code is not None:
            if ended.closed:
                print(f"adapter error: {CLOSED}")
            return Ended(ended.code, len(files))
        how = describe_exit(ended.status)
        if ended.stopped:
            print(f"stopped: {how}")
            return Ended(INTERRUPTED, len(files))
        if not ended.loaded:
            print(f"adapter error: {how} while the framework was loaded")
            return Ended(ADAPTER_ERROR, len(files))
        codes = _codes(Path(folder))
        path, file = list(files.items())[min(len(codes), len(files) - 1)]
        entry = journal.read(Path(folder), WORKER)
        if entry is None:
            last = _say(path, file, "cannot run", how)
        else:
            last = _ended(path, file, entry.program, failures.describe_ending(entry, timeout, ended.status))
        return Ended(max((*codes, last)), len(codes) + 1)


RESULTS = "results"
"""Name of the file with the exit codes of the files that a child process has replayed so far."""


def replayed_all(files: Mapping[Path, ProgramFile], session: Session, folder: Path) -> int:
    """Replays files one after the other in this process; returns the highest exit code. The exit code of each file is
    written to `folder`, in case that a later one ends the process.
    """
    codes = []
    for path, file in files.items():
        adapt(path, file, session.framework)
        codes.append(replayed(path, file, session, folder))
        (folder / RESULTS).write_text(" ".join(map(str, codes)), encoding="ascii")
        sys.stdout.flush()  # the next file may end the process
    return max(codes)


def _codes(folder: Path) -> tuple[int, ...]:
    results = folder / RESULTS
    return tuple(map(int, results.read_text(encoding="ascii").split())) if results.exists() else ()


def _ended(path: Path, file: ProgramFile, program: Program, how: str) -> int:
    """Prints a program that ended the process in which it ran, and how; returns the exit code."""
    print("\n".join(["The program:", "", *code(program, None), ""]))
    return _say(path, file, "still failing", how)


def replayed(path: Path, file: ProgramFile, session: Session, folder: Path) -> int:
    """Replays a file in this process, with the journal, the file that names the running program, in `folder`; prints
    the result, without the failure if it is to be brief, and returns the exit code.
    """
    own, framework = journal.Journal(folder, WORKER, session.settings.watchdog), session.framework
    own.begin(str(path), "", None)
    with session.process.journaled(own):
        try:
            outcome = replay(path, framework.target, framework.known, own.end)
        except ENDED as error:  # the framework's own process ended
            own.close()
            return _ended(path, file, error.program, error.how)
        if outcome.broken and not file.brief:
            print(text.render(failures.failure(outcome.broken, str(path), session, file=path)))
        own.close()
    return _say(path, file, outcome.verdict, outcome.reason)


def _say(path: Path, file: ProgramFile, verdict: Verdict, reason: str | None) -> int:
    words = OF_TEXTS[verdict] if file.text else verdict
    print(f"{path}: {words}" + (f" ({reason})" if reason else ""))
    return CODES[verdict]


def _nothing() -> None:
    """Does nothing; the default for a function that is called after each program."""


def replay(path: Path, target: Target, known: Sequence[Known] = (), done: Callable[[], object] = _nothing) -> Replayed:
    """Runs the program in a file again, after the programs that the file lists to run before it.

    If the program shows only violations that are listed as known, it counts as still failing. `done` is called after
    each program that the framework has run.
    """
    try:
        found, before = read(path)
    except RecursionError:
        return Replayed("cannot run", f"{path}: it is nested too deeply to be a program")
    except (MalformedProgram, OSError, UnicodeDecodeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return Replayed("cannot run", f"{path}: {reason}")

    def is_waived(program: Program, violation: Violation) -> bool:
        return any(is_known(entry, program, violation) for entry in known)

    outcome = run_after(found, before, target, is_waived, done)
    return replace(outcome, reason=f"{path}: {outcome.reason}") if outcome.verdict == "cannot run" else outcome


def run_after(
    found: Program | Related,
    before: Sequence[Program],
    target: Target,
    is_waived: Callable[[Program, Violation], bool],
    done: Callable[[], object] = _nothing,
) -> Replayed:
    """Runs a program, or two related programs, after those in `before`; one program also on the target that counts
    saved tensors, if that is a separate one. If all violations are waived, as known differences are, the first one is
    reported.
    """
    if isinstance(found, Program) and has_casts(found):
        try:
            found = with_casts(found, target.autocast)
        except NotDocumented as error:
            return Replayed("cannot run", str(error))
    wanted = (found.first, found.second) if isinstance(found, Related) else (found,)
    for each in (*before, *wanted):  # checked for all programs before any runs
        if (outcome := _unsupported(each, target)) is not None:
            return outcome
    for each in before:
        target.observe(each)
        done()
    return _related(found, target, done) if isinstance(found, Related) else _alone(found, target, is_waived, done)


def _unsupported(program: Program, target: Target) -> Replayed | None:
    """Returns the result "cannot run" for a program that the framework does not support; None if it supports the
    program.
    """
    if not len(program):
        return Replayed("cannot run", "the program has no instructions")
    missing = sorted(unsupported_by(program, target))
    if missing:
        return Replayed("cannot run", f"{target.name} lacks {', '.join(missing)}{_another_dtype(missing, target)}")
    try:
        Reference(program)
    except Exception as error:  # operands of shapes that no op takes: the file is at fault, not the framework
        reason = f"{_first_impossible(program)!r} is not possible: {type(error).__name__}: {error}"
        return Replayed("cannot run", f"the program is not well-formed: {reason}")
    return None


def _first_impossible(program: Program) -> str:
    """Returns the first line of a program, in the suite's notation, that the reference cannot compute."""
    lines = render(program).splitlines()
    for count in range(1, len(program)):
        try:
            Reference(program.upto(count))
        except Exception:
            return lines[count - 1].strip()
    return lines[-1].strip()


def _another_dtype(missing: Sequence[str], target: Target) -> str:
    """Returns how to write a dtype that the framework has, in a clause, if it lacks a dtype of a program."""
    there = [f"{short} for {long}" for short, long in LONG.items() if long in target.dtypes]
    lacks_dtype = not {*missing}.isdisjoint(LONG.values())
    return f"; write {there[0]}, as in a = leaf {there[0][:3]} [1, 2]" if lacks_dtype and there else ""


def _alone(
    program: Program, target: Target, is_waived: Callable[[Program, Violation], bool], done: Callable[[], object]
) -> Replayed:
    counter = target.saved_tensor_counter
    for each in (target,) if counter in (None, target) else (target, counter):
        observation = each.observe(program)
        done()
        reference = Reference(program, each.traits)
        waives = partial(is_waived, program)
        judgement = judge(program, observation, reference, each.capabilities, waives, other_runs(each))
        violation = judgement.violation or next(iter(judgement.waived), None)
        if violation is not None:
            return Replayed("still failing", violation.rule, RuleViolated(program, observation, violation, each))
    if any(RULES[rule].compares.has_no_reference for rule in judgement.exercised):
        return Replayed("fixed")
    unspecified = judgement.unspecified and judgement.judged < len(program)
    judged = f"judged: {judgement.judged} of {len(program)} lines; the rules do not specify what the others do"
    return _unjudged(program, observation, target) or Replayed("fixed", judged if unspecified else None)


def _unjudged(program: Program, observation: Observation, target: Target) -> Replayed | None:
    """Returns the result "cannot run" for a program that shows no violation but cannot be judged: the framework has no
    kernel for a dtype or device, an error may be the framework's or the adapter's, or an op is not smooth at its
    operands, where frameworks differ by convention. None if it was judged.
    """
    for number, step in enumerate(observation, 1):
        if lacks_kernel(step) and isinstance(step.outcome, Raised):
            lacking = f"line {number}: {target.name} lacks a kernel: {step.outcome.type}: {step.outcome.message}"
            return Replayed("cannot run", lacking)
    error = undecided_error(*observation)
    if error is not None:
        return Replayed(
            "cannot run", f"an error may be the framework's or the adapter's: {error.type}: {error.message}"
        )
    at = first_nonsmooth(program, observation, target.traits)
    if at is None:
        return None
    op = op_of(program[at])
    reason = f"line {at + 1}: {op} is not smooth at its operands, so nothing after it is judged; change the numbers"
    return Replayed("cannot run", reason)


def _related(related: Related, target: Target, done: Callable[[], object]) -> Replayed:
    observation, other = target.observe(related.first), target.observe(related.second)
    done()
    violation = related_as(related, observation, other, target).violation
    if violation is None:
        unjudged = (_unjudged(related.first, observation, target), _unjudged(related.second, other, target))
        return next(filter(None, unjudged), Replayed("fixed"))
    broken = RuleViolated(related.first, observation, violation, target, related)
    return Replayed("still failing", violation.rule, broken)


def read(path: Path) -> tuple[Program | Related, tuple[Program, ...]]:
    """Returns the program or related programs in a file, and the programs that have to run before."""
    return from_form(_form(path))


def from_form(form: Any) -> tuple[Program | Related, tuple[Program, ...]]:
    """Returns the same as `read`, from the parsed JSON of a file."""
    return _program(form), _preceding(form)


def _program(form: Any) -> Program | Related:
    """Returns the program or related programs in parsed JSON, which is that of a program or of a failure record."""
    if isinstance(form, dict) and form.get("record") == "failure":
        form = form.get("program")
    if relations_codec.is_relation(form):
        return relations_codec.from_json(with_current_slugs(form), VOCABULARY)
    return codec.from_json(form, VOCABULARY)


def _preceding(form: Any) -> tuple[Program, ...]:
    """Returns the programs that have to run before, for a failure that does not occur without them. Raises
    `MalformedProgram`.
    """
    before = form.get("before", ()) if isinstance(form, dict) else ()
    if not isinstance(before, (list, tuple)):
        raise MalformedProgram("'before' has to be a list of programs")
    return tuple(codec.from_json(each, VOCABULARY) for each in before)


def _form(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise MalformedProgram(
            f"not JSON: {error.msg.removesuffix(' at')} at line {error.lineno}, column {error.colno}"
        ) from None
