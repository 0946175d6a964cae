"""What a run can say, in one table: the verdict words and what they count as, the headlines, the exit codes.

The README and `docs/reading_a_report.md` repeat these rows, and a test compares them. All else that needs a verdict's
meaning, a headline's exit code or the order of verdicts takes it from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import assert_never

from autograd_conformance.reporting.records.terms import Conclusion, Outcome, Verdict

THRESHOLD = 20
"""A rule that programs exercised fewer times than this has not been tested: its verdict is vacuous."""


class Exit(IntEnum):
    """The exit codes; 2 to 5 are pytest's own."""

    PASSED = 0
    NOT_CONFORMANT = 1
    STOPPED = 2
    INTERNAL = 3
    USAGE = 4
    NOTHING_SELECTED = 5
    ADAPTER_ERROR = 10
    REPORT_ERROR = 11
    NO_VERDICT = 12


@dataclass(frozen=True, slots=True)
class VerdictMeaning:
    """A verdict, and what it counts as in *passed / applicable / all* and for the headline."""

    verdict: Verdict | Outcome
    meaning: str
    """In Markdown, as the documents print it."""
    all: bool = True
    """Whether a rule of this verdict is counted at all."""
    applicable: bool = True
    """Whether the rule applies to what the framework claims."""
    passed: bool = False
    """Whether it counts as passed."""
    is_failure: bool = False
    """Whether it speaks against the framework."""
    prevents_verdict: bool = False
    """Whether the run can have no verdict where a MUST rule has it."""

    @property
    def counts(self) -> str:
        """In which of *passed / applicable / all* it counts."""
        totals = ("passed", self.passed), ("applicable", self.applicable), ("all", self.all)
        return ", ".join(name for name, counted in totals if counted) or "none"


VERDICTS = (
    VerdictMeaning("fail", "a program breaks it; the failure shows the smallest one found", is_failure=True),
    VerdictMeaning("crash", "a program ended its process; the signal or exit code is named. One whose worker was killed is run again: where that kills nothing, it *cannot be told* who did. A framework in [another process](protocol.md) is started again", is_failure=True),
    VerdictMeaning("timeout", "a program took longer than `--patience` (as many times longer as processes wait for each processor)", is_failure=True),
    VerdictMeaning("flaky", "it failed, and then did not: the framework gives different answers to the same program", is_failure=True),
    VerdictMeaning("adapter bug", "a test ended in an exception that was raised before the framework was entered: it says nothing about the framework", prevents_verdict=True),
    VerdictMeaning("cannot be told", "what went wrong may be the framework's fault or somebody else's, such as a process that was killed from outside", prevents_verdict=True),
    VerdictMeaning("error", "the test itself went wrong, and says nothing about the framework", prevents_verdict=True),
    VerdictMeaning("known difference", "it fails only in ways that the list of known differences has"),
    VerdictMeaning("vacuous", f"fewer than {THRESHOLD} programs really exercised it, or the run's budget ended before one of its tests began. This is no pass: draw more (`--hypothesis-profile=standard`) or support more ops", prevents_verdict=True),
    VerdictMeaning("not reached", "the run ended before its tests began", prevents_verdict=True),
    VerdictMeaning("skipped", "the options of the run left its tests out, or somebody's plugin skipped them"),
    VerdictMeaning("not applicable", "the framework does not claim [what the rule needs](capabilities.md), or has no op with which its situation can be made; the reason names it", applicable=False),
    VerdictMeaning("info", "the rule is reported, not judged", all=False, applicable=False),
    VerdictMeaning("cut short", "of a test: the run's budget ended before it did, and what ran until then was right"),
    VerdictMeaning("pass", f"programs exercised it at least {THRESHOLD} times, and it held; of a selection, each test that was chosen at least once", passed=True),
)  # fmt: skip
"""Every verdict, the one that needs attention most first."""

MEANING_OF: dict[str, VerdictMeaning] = {each.verdict: each for each in VERDICTS}
"""The row of each verdict."""


@dataclass(frozen=True, slots=True)
class Headline:
    """What a run says of the framework, and when."""

    conclusion: Conclusion
    when: str
    """In Markdown, as the documents print it."""


HEADLINES = (
    Headline("conformant", "every MUST rule that applies was really tested, and holds"),
    Headline("conformant with known differences", "the same, but for differences that are listed, each with a reason"),
    Headline("selection passed", "you ran a part (`-k`, `-m`, `--deselect`, `--ignore`, a file, a test): what you chose was really tested, and holds, but for known differences. It is no verdict on the framework"),
    Headline("not conformant", "at least one MUST rule is broken; with `--strict`, a SHOULD rule, or a known difference is stale"),
    Headline("no verdict", "nothing was broken, but something was not really tested: the run ended before its time, a test ended in an error, too few programs exercised a rule, or no rule applies to what the framework claims"),
)  # fmt: skip
"""Every headline, the best first."""


@dataclass(frozen=True, slots=True)
class ExitMeaning:
    """What an exit code means: of a run, of a replay (`--replay`), and of the commands of `autograd-conformance report`;
    empty where such a command never ends with it.
    """

    code: Exit
    run: str
    replay: str = ""
    report: str = ""


EXIT_CODES = (
    ExitMeaning(Exit.PASSED, "CONFORMANT, CONFORMANT WITH KNOWN DIFFERENCES, or SELECTION PASSED where you ran a part: it was tested, and is right", "fixed", "done"),
    ExitMeaning(Exit.NOT_CONFORMANT, "NOT CONFORMANT: a MUST rule is broken; with `--strict` also a SHOULD rule, or a known difference is stale. Or a test that is none of the suite's, and ran with it, failed", "still failing", "`diff`: a defect is new"),
    ExitMeaning(Exit.STOPPED, "`--programs`, `--seconds`, a signal or a limit of failures (`-x`, `--maxfail`) ended the run first; the headline says what held so far", "stopped"),
    ExitMeaning(Exit.INTERNAL, "an internal error of the suite or of pytest, or the run's process died and no program of the framework was running", "", "a file is no sound report, or something could not be written"),
    ExitMeaning(Exit.USAGE, "wrong usage: an unknown framework, option or profile, a file or a report's folder that cannot be used, or that another run is using", "cannot run", "wrong usage"),
    ExitMeaning(Exit.NOTHING_SELECTED, "no test was selected"),
    ExitMeaning(Exit.ADAPTER_ERROR, "adapter error: the adapter, or the server of another process, cannot be used; no verdict on the framework", "adapter error"),
    ExitMeaning(Exit.REPORT_ERROR, "the report could not be written to its end (a full disk, say): the run stopped there, and its summary was printed all the same"),
    ExitMeaning(Exit.NO_VERDICT, "NO VERDICT, though the run is complete: too little was really tested, all was skipped, or a test ended in an error"),
)  # fmt: skip
"""Every exit code, in order."""


def codes_table() -> list[str]:
    """The exit codes as the rows of a table in Markdown."""
    head = ["| exit code | a run | `--replay` | `autograd-conformance report` |", "|--:|:--|:--|:--|"]
    return [*head, *(f"| {each.code} | {each.run} | {each.replay} | {each.report} |" for each in EXIT_CODES)]


def headlines_table() -> list[str]:
    """The headlines as the rows of a table in Markdown, each with its exit code."""
    head = ["| it says | when | exit code |", "|:--|:--|--:|"]
    return [*head, *(f"| {each.conclusion.upper()} | {each.when} | {_code(each.conclusion)} |" for each in HEADLINES)]


def verdicts_table() -> list[str]:
    """The verdict words as the rows of a table in Markdown, with what each counts as."""
    head = ["| verdict | meaning | counts as | |", "|:--|:--|:--|:--|"]
    return [
        *head,
        *(f"| {each.verdict} | {each.meaning} | {each.counts} | {_headline_effect(each)} |" for each in VERDICTS),
    ]


def _code(conclusion: Conclusion) -> str:
    match conclusion:
        case "conformant" | "conformant with known differences" | "selection passed":
            return f"{Exit.PASSED}"
        case "not conformant":
            return f"{Exit.NOT_CONFORMANT}"
        case "no verdict":
            return f"{Exit.NO_VERDICT}, or {Exit.STOPPED} where the run ended first"
        case _:
            assert_never(conclusion)


def _headline_effect(word: VerdictMeaning) -> str:
    """What a verdict on a MUST rule does to the headline."""
    return "NOT CONFORMANT" if word.is_failure else "NO VERDICT" if word.prevents_verdict else ""
