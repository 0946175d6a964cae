"""A failure as plain text, for the terminal and for bug reports.

Prose and listings have at most 100 columns. Scripts and commands are printed verbatim from the first column, whatever
their width, so that they can be copied.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import replace

from autograd_conformance.reporting.prose import counted, error_words, one_line, printable
from autograd_conformance.reporting.records.failure import Confirmation, Failure, Votes
from autograd_conformance.reporting.render.parts import (
    BrokenRule,
    Diagnosis,
    FailurePart,
    GradientPath,
    Listing,
    LoopProgram,
    Measure,
    Other,
    Outcomes,
    Replay,
    Rerun,
    Script,
    Variation,
    Why,
    parts,
)

WIDTH = 100
"""Maximum number of columns of prose and listings."""


def render(failure: Failure, brief: bool = False) -> str:
    """Returns all known parts of a failure's report as text.

    `brief` leaves out the sources, the output of the script, the single votes, the replay command and the heading of
    the program. The result of the rerun and the decision of the votes stay.
    """
    shown = failure
    if brief:
        alone = failure.alone and replace(failure.alone, printed="", trouble=None)
        votes = failure.votes and Votes("", "", "", failure.votes.decision)
        shown = replace(failure, sources=(), alone=alone, votes=votes, command=None, replay=None)
    texts = (_bare(part) if brief else "\n".join(lines(part)) for part in parts(shown))
    return "\n\n".join(text for text in texts if text) + "\n"


def _bare(part: FailurePart) -> str:
    """Returns a part of a failure's report as text; a script that is shown as the program has no heading."""
    if isinstance(part, Script) and part.is_program:
        return part.text.rstrip("\n")
    return "\n".join(lines(part))


def lines(part: FailurePart) -> Iterator[str]:
    """Yields the lines of text of one part of a failure's report."""
    match part:
        case BrokenRule():
            yield from _claim(part)
        case Outcomes():
            yield from _outcomes(part)
        case LoopProgram():
            yield f"{part.title}:"
            yield ""
            yield from map(printable, part.text.rstrip("\n").split("\n"))
        case Listing():
            yield f"{part.title}:"
            yield from listing(part)
        case Other():
            yield "It must agree with:"
            yield from listing(part)
        case Script():
            yield f"{part.title}:"
            yield ""
            yield from part.text.rstrip("\n").split("\n")
        case Why():
            yield "Why:"
            for step in part.steps:
                yield from _wrapped_text(f"  line {step.line}: ", step.text)
        case Measure():
            yield from _measure(part)
        case GradientPath():
            yield from _wrapped_text("Gradient: ", part.sentence) if part.sentence else ()
        case Diagnosis():
            yield from _wrapped_text("Diagnosis: ", part.text)
        case Variation():
            yield from _wrapped_text("Nearest variation: ", part.text)
        case Rerun():
            yield from _alone(part.alone)
        case Replay():
            where = f" (the program is in {part.path})" if part.path else ""
            yield f"Replay it from the folder where the run was started{where}{':' if part.command else '.'}"
            yield from ("", part.command) if part.command else ()


def listing(part: Listing | Other) -> Iterator[str]:
    """The program with line numbers and an arrow at the failing line; long lines are wrapped under an empty number."""
    digits, at = len(str(len(part.lines))), part.at if isinstance(part, Listing) else None
    for number, code in enumerate(part.lines, start=1):
        arrow = "-->" if number == at else "   "
        head = f"{arrow} {number:>{digits}} | "
        yield from _wrapped_code(head, f"{'':{digits + 4}} |     ", printable(code))


def _claim(claim: BrokenRule) -> Iterator[str]:
    op = f", op {claim.op}" if claim.op else ""
    yield f"{claim.rule} ({claim.level}){op}: {claim.verdict}"
    yield from _wrapped_text("  ", claim.sentence)
    for source in claim.sources:
        yield from _wrapped_text("  Source: ", f"{source.title}, {source.where}" if source.where else source.title)
    yield from _wrapped_text("  Found by: ", claim.test)


def _outcomes(outcomes: Outcomes) -> Iterator[str]:
    texts = [one_line(each.outcome) for each in outcomes.allowed]
    column = max(map(len, texts), default=0)
    heads = ("   Allowed: ", *["        or: "] * (len(texts) - 1))
    for head, text, each in zip(heads, texts, outcomes.allowed, strict=False):
        aligned = f"{head}{text:{column}}  [{each.rule}]"
        yield from [aligned] if len(aligned) <= WIDTH else _wrapped_text(head, f"{text} [{each.rule}]")
    yield from _wrapped_text("  Observed: ", outcomes.observed)


def _measure(measure: Measure) -> Iterator[str]:
    if measure.error:
        head, numbers = error_words(measure.error.largest, measure.error.bound)
        yield from _wrapped_text("Error: ", f"{head} ({numbers})")
    if measure.votes and not (measure.votes.framework or measure.votes.reference):
        yield from _wrapped_text("Who is right: ", measure.votes.decision)
    elif measure.votes:
        yield f"{measure.votes_title}:"
        for voter, vote in vote_rows(measure.votes):
            yield from _wrapped_text(f"  {voter + ':':20} ", vote) if vote else ()


def confirmation_text(alone: Confirmation) -> str:
    """Phrase about the result of running a failure again in fresh processes."""
    if not alone.runs:
        return "it was not run again, because the run had no time left for it"
    but = ""
    if alone.code is False and alone.trouble:
        but = (
            f"; its printed code cannot run ({alone.trouble}): the adapter's dialect is wrong, which says nothing about"
        )
        but += " the failure"
    elif alone.code is False:
        but = "; its printed code, run without the adapter, does not fail in this way: check the adapter first"
    if alone.hashes is not None:
        but = f", but only with PYTHONHASHSEED={alone.hashes}: it depends on the order of a set{but}"
    if alone.failed == alone.runs:
        return f"it fails again in a fresh process{but}"
    if alone.failed:
        times = f"{alone.failed} of {counted(alone.runs, 'run')}"
        return f"in fresh processes it fails in {times}: the framework is not deterministic{but}"
    if alone.after:
        shortest = f"the replay file has the shortest sequence that was found, {counted(alone.after, 'program')}"
        return f"it fails only after other programs: {shortest}"
    return f"it did not fail in {counted(alone.runs, 'run')} in fresh processes, nor after the run's earlier programs"


def _alone(alone: Confirmation) -> Iterator[str]:
    yield from _wrapped_text("Run again: ", confirmation_text(alone))
    if alone.printed or alone.trouble:
        yield "Output of the script in a fresh process:"
        for printed in alone.printed.rstrip("\n").split("\n") if alone.printed.strip() else ():
            yield from _wrapped_code("    ", "        ", printable(printed))
        yield from _wrapped_text("    ", alone.trouble) if alone.trouble else ()


def vote_rows(votes: Votes) -> Iterable[tuple[str, str]]:
    """Returns rows of what the framework, the reference and finite differences computed, each with the name of who
    computed it; the last row is the decision between them.
    """
    return (
        ("framework", votes.framework),
        ("reference", votes.reference),
        ("finite differences", votes.finite_differences),
        ("decision", votes.decision),
    )


def _wrapped_text(head: str, text: str) -> list[str]:
    """Writes text after a head such as ``Diagnosis: ``, wrapped between words at `WIDTH` columns, with all lines
    aligned to the end of the head.
    """
    return textwrap.wrap(
        one_line(text), WIDTH, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False
    ) or [head.rstrip()]


def _wrapped_code(head: str, more: str, code: str) -> Iterator[str]:
    """Writes a line of code after a head such as a line number, broken at exactly `WIDTH` columns, because white space
    in code has meaning; further lines begin with `more`.
    """
    first, rest = code[: WIDTH - len(head)], code[WIDTH - len(head) :]
    yield (head + first).rstrip()
    step = WIDTH - len(more)
    for start in range(0, len(rest), step):
        yield (more + rest[start : start + step]).rstrip()
