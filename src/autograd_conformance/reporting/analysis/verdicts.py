"""Tables of all verdicts, headlines and exit codes, with their meanings.

The README and `docs/reading_a_report.md` repeat these rows, and a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import assert_never

from autograd_conformance.reporting.records.terms import Conclusion, Outcome, Verdict

THRESHOLD = 20
"""Number of programs that must exercise a rule; with fewer its verdict is *vacuous*, unless only some tests were
selected.
"""


class Exit(IntEnum):
    """Exit codes; 2 to 5 are pytest's own."""

    PASSED = 0
    NOT_CONFORMANT = 1
    STOPPED = 2
    INTERNAL = 3
    USAGE = 4
    NOTHING_SELECTED = 5
    ADAPTER_ERROR = 10
    REPORT_ERROR = 11
    NO_VERDICT = 12


ADAPTER_ERROR = int(Exit.ADAPTER_ERROR)
"""Exit code if the adapter cannot be used, as a plain number for pytest and processes."""

REPORT_ERROR = int(Exit.REPORT_ERROR)
"""Exit code if the report could not be written to its end, such as on a full disk, as a plain number."""


@dataclass(frozen=True, slots=True)
class VerdictMeaning:
    """A verdict with its meaning, and how it counts in *passed / applicable / all* and for the headline."""

    verdict: Verdict | Outcome
    meaning: str
    """The meaning or condition as a Markdown text, which the documents print unchanged."""
    all: bool = True
    """Whether a rule with this verdict counts in *all*."""
    applicable: bool = True
    """Whether a rule with this verdict counts as applicable."""
    passed: bool = False
    """Whether a rule with this verdict counts as passed."""
    is_failure: bool = False
    """Whether this verdict is a failure of the framework."""
    prevents_verdict: bool = False
    """Whether a MUST rule with this verdict leaves the run without a conclusion."""

    @property
    def counts(self) -> str:
        """Names the totals in which a rule with this verdict counts: ``applicable, all``, or ``none``."""
        totals = ("passed", self.passed), ("applicable", self.applicable), ("all", self.all)
        return ", ".join(name for name, counted in totals if counted) or "none"


VERDICTS = (
    VerdictMeaning("fail", "a program breaks the rule; the report shows the smallest one found", is_failure=True),
    VerdictMeaning("crash", "a program ended the framework's process; the report names the signal or exit code. If the process was killed, the program is run again; if that run survives, the verdict is *cannot be told*. A framework in [another process](protocol.md) is restarted", is_failure=True),
    VerdictMeaning("timeout", "a program took longer than `--patience` seconds (scaled up if more processes run than there are processors)", is_failure=True),
    VerdictMeaning("flaky", "the same program failed once and passed once: the framework is not deterministic", is_failure=True),
    VerdictMeaning("adapter bug", "the adapter raised an exception before it called the framework; this says nothing about the framework", prevents_verdict=True),
    VerdictMeaning("cannot be told", "the error may be the framework's or somebody else's, such as a process that was killed from outside, or an op that passes alone in a fresh process", prevents_verdict=True),
    VerdictMeaning("error", "the test itself failed; this says nothing about the framework", prevents_verdict=True),
    VerdictMeaning("known difference", "the framework breaks the rule only in ways that its list of known differences names"),
    VerdictMeaning("vacuous", f"fewer than {THRESHOLD} programs exercised the rule, the run's budget ended before one of its tests began, or all its tests ended with failures of other rules. This is not a pass: run more programs (`--hypothesis-profile=standard`) or support more ops", prevents_verdict=True),
    VerdictMeaning("not reached", "the run ended before the rule's tests began", prevents_verdict=True),
    VerdictMeaning("waiting", "a stage of the run that the rule's tests need is wholly broken, which is a separate failure: the tests could only show it again", prevents_verdict=True),
    VerdictMeaning("skipped", "options of the run left the rule's tests out, or a plugin skipped them"),
    VerdictMeaning("not applicable", "the framework does not claim [a capability that the rule needs](capabilities.md), or has no op for its programs; the reason names it", applicable=False),
    VerdictMeaning("info", "the rule is reported, not judged", all=False, applicable=False),
    VerdictMeaning("cut short", "(of a test only) the run's budget ended the test early, and all its programs until then were right"),
    VerdictMeaning("pass", f"at least {THRESHOLD} programs exercised the rule, and none broke it; if you selected tests, at least one program of each small test", passed=True),
)  # fmt: skip
"""All verdicts, in the order in which they need attention."""

MEANING_OF: dict[str, VerdictMeaning] = {each.verdict: each for each in VERDICTS}
"""The row of `VERDICTS` for each verdict."""


@dataclass(frozen=True, slots=True)
class Headline:
    """A conclusion about the framework, with its condition."""

    conclusion: Conclusion
    when: str
    """The meaning or condition as a Markdown text, which the documents print unchanged."""


HEADLINES = (
    Headline("conformant", "every applicable MUST rule was tested enough and passed"),
    Headline("conformant with known differences", "every applicable MUST rule was tested enough; some are broken, but only by listed known differences, each with a reason"),
    Headline("selection passed", "you ran only some tests (`-k`, `-m`, `--deselect`, `--ignore`, a file, a test), and their MUST rules were tested enough and passed, except for known differences. This is not a verdict on the framework"),
    Headline("not conformant", "at least one MUST rule is broken; with `--strict` also if a SHOULD rule is broken or a known difference is stale"),
    Headline("no verdict", "no MUST rule was broken, but the tests were incomplete: the run ended early, a test ended in an error, too few programs exercised a rule, or no rule applies to the framework's capabilities"),
)  # fmt: skip
"""All headlines: those that pass, then ``not conformant``, then ``no verdict``."""


@dataclass(frozen=True, slots=True)
class ExitMeaning:
    """Meaning of an exit code for a run, for `--replay` and for `autograd-conformance report`; empty if never used."""

    code: Exit
    run: str
    replay: str = ""
    report: str = ""


EXIT_CODES = (
    ExitMeaning(Exit.PASSED, "CONFORMANT, CONFORMANT WITH KNOWN DIFFERENCES or SELECTION PASSED", "fixed", "done"),
    ExitMeaning(Exit.NOT_CONFORMANT, "NOT CONFORMANT: a MUST rule is broken (with `--strict` also a SHOULD rule, or a known difference is stale). Or one of your own tests, run together with the suite, failed", "still failing", "`diff`: there is a new defect"),
    ExitMeaning(Exit.STOPPED, "the run ended early (`--programs`, `--seconds`, a signal, `-x`, `--maxfail`); the headline covers the tests that ran", "stopped"),
    ExitMeaning(Exit.INTERNAL, "an internal error of the suite or of pytest, or the run's process died while no program was running", "", "a file is not a valid report, or a file could not be written"),
    ExitMeaning(Exit.USAGE, "wrong usage: an unknown framework, option or profile, or a file or report folder that is unusable or in use by another run", "cannot run", "wrong usage"),
    ExitMeaning(Exit.NOTHING_SELECTED, "no test was selected"),
    ExitMeaning(Exit.ADAPTER_ERROR, "adapter error: the adapter, or the framework's server process, cannot be used; no verdict on the framework", "adapter error"),
    ExitMeaning(Exit.REPORT_ERROR, "the report could not be written completely (for example, the disk is full); the run stopped and printed its summary"),
    ExitMeaning(Exit.NO_VERDICT, "NO VERDICT although the run finished: too few programs exercised a rule, all tests were skipped, or a test ended in an error"),
)  # fmt: skip
"""All exit codes, in order."""


def codes_table() -> list[str]:
    """The exit codes as lines of a Markdown table."""
    head = ["| exit code | a run | `--replay` | `autograd-conformance report` |", "|--:|:--|:--|:--|"]
    return [*head, *(f"| {each.code} | {each.run} | {each.replay} | {each.report} |" for each in EXIT_CODES)]


def headlines_table() -> list[str]:
    """The headlines as lines of a Markdown table, each with its exit code."""
    head = ["| headline | when | exit code |", "|:--|:--|--:|"]
    return [*head, *(f"| {each.conclusion.upper()} | {each.when} | {_code(each.conclusion)} |" for each in HEADLINES)]


def verdicts_table() -> list[str]:
    """The verdicts as lines of a Markdown table, with the totals in which each counts and its effect."""
    head = ["| verdict | meaning | counts as | a MUST rule with it makes the run |", "|:--|:--|:--|:--|"]
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
            return f"{Exit.NO_VERDICT}, or {Exit.STOPPED} if the run ended early"
        case _:
            assert_never(conclusion)


def _headline_effect(word: VerdictMeaning) -> str:
    """Returns the headline of a run in which a MUST rule has this verdict; empty if the verdict alone does not decide
    the headline.
    """
    return "NOT CONFORMANT" if word.is_failure else "NO VERDICT" if word.prevents_verdict else ""
