"""A text for the tracker of a framework, one for each cause of failures, that can be pasted as it is.

It has a title, the version, the script, the expected and the observed outcome, the reason and the environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from autograd_conformance.reporting.analysis.causes import Cause
from autograd_conformance.reporting.prose import counted, error_words, listed, one_line, shortened, unique_slugs
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Header
from autograd_conformance.reporting.render.failures import cause_meaning, places_text
from autograd_conformance.reporting.render.markdown import fenced, prose, where
from autograd_conformance.reporting.render.parts import Listing, parts
from autograd_conformance.reporting.render.text import confirmation_text, listing

FOLDER = "issues"
"""Name of the folder, in a report's folder, for these texts."""

MOST = 100
"""Maximum number of causes, the worst ones, for which texts are written."""


def write(causes: tuple[Cause, ...], header: Header, folder: Path) -> None:
    """Writes a Markdown file for each cause to the folder `issues` of a report's folder."""
    shown = causes[:MOST]
    for path, cause in zip(paths(shown), shown, strict=True):
        target = folder / path
        target.parent.mkdir(exist_ok=True)
        target.write_text(render(cause, header), encoding="utf-8")


def paths(causes: tuple[Cause, ...]) -> list[str]:
    """Returns the path of the text for each cause, relative to the report's folder."""
    names = (f"{at:03} {each.shown.rule} {each.shown.op or ''}" for at, each in enumerate(causes, 1))
    return [f"{FOLDER}/{name}.md" for name in unique_slugs(names)]


def title(cause: Cause) -> str:
    """Returns the title: the op, or the action, and what was observed; for a fault of several ops, the fault and their
    number.
    """
    failure = cause.shown
    if len(cause.ops) > 1:
        return f"{cause_meaning(cause) or shortened(failure.plainly_observed, 100)}, in {counted(len(cause.ops), 'op')}"
    subject = failure.op or failure.rule.replace("/", ": ").replace("-", " ")
    return f"{one_line(subject)}: {shortened(failure.diagnosis or failure.plainly_observed, 100)}"


def render(cause: Cause, header: Header) -> str:
    """Returns the text about one cause in GitHub's Markdown; the first line is the title."""
    return "\n\n".join(_blocks(cause, header)) + "\n"


def _blocks(cause: Cause, header: Header) -> Iterator[str]:
    failure = cause.shown
    yield f"# {prose(title(cause))}"
    yield f"Version: {prose(header.framework.title)}"
    yield from _program(failure)
    allowed = "\n".join(f"- {prose(each.outcome)}" for each in failure.allowed)
    yield f"**Expected**: {prose(failure.sentence)}" + (f"\n\n{allowed}" if allowed else "")
    yield f"**Observed**: {prose(failure.plainly_observed)}"
    if places := places_text(cause):
        yield prose(places)
    if failure.alone and failure.alone.printed.strip():
        yield "Output of the script:"
        yield fenced(failure.alone.printed, "text")
    yield from _why(failure)
    yield f"**Environment**: {prose(_environment(header))}"
    found = f"Found by a conformance suite for autograd, rule {failure.rule}"
    rerun = f"; {confirmation_text(failure.alone)}" if failure.alone and failure.alone.runs else ""
    yield prose(f"{found}{rerun}.")


def _program(failure: Failure) -> Iterator[str]:
    if failure.script.strip():
        yield "**Script**"
        yield fenced(failure.script, "python")
        return
    for part in parts(failure):
        if isinstance(part, Listing):
            yield "**Program**"
            yield fenced("\n".join(listing(part)), "text")


def _why(failure: Failure) -> Iterator[str]:
    reasons = [f"line {step.line}: {step.text}" for step in failure.why]
    if failure.error:
        head, numbers = error_words(failure.error.largest, failure.error.bound)
        reasons.append(f"the error is {head} ({numbers}); the bound is what rounding can explain")
    if failure.votes:
        reasons.append(failure.votes.decision)
    if failure.diagnosis:
        reasons.append(failure.diagnosis)
    if failure.variation:
        reasons.append(f"the program {failure.variation}")
    if reasons:
        yield "**Why**"
        yield "\n".join(f"- {prose(each)}" for each in reasons)
    for source in failure.sources:
        yield f"Source: {prose(source.title)}{', ' + where(source.where) if source.where else ''}"


def _environment(header: Header) -> str:
    versions = header.environment or (
        f"Python {header.python}",
        *(f"{name} {version}" for name, version in sorted(header.packages.items())),
    )
    settings = (f"{name}={value}" for name, value in sorted(header.variables.items()))
    return listed([*versions, header.platform, f"device {header.device}", *settings])
