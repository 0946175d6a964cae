"""Runs a finding's program in one environment of a framework."""

from __future__ import annotations

import sys

from autograd_conformance.campaigns.bisect.finding import Finding
from autograd_conformance.campaigns.bisect.outcome import Trial
from autograd_conformance.frameworks.environment.process_end import ENDED
from autograd_conformance.frameworks.registry import AdapterError, UnknownFramework
from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.frameworks.remote.command import parse, served
from autograd_conformance.frameworks.target import open_target
from autograd_conformance.plugin.replay import run_after
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.programs.language import Program
from autograd_conformance.reporting.prose import shortened
from autograd_conformance.rules.violations.violation import Violation


def run_trial(finding: Finding, framework: str, python: str | None, device: str, timeout: float) -> Trial:
    """Run a finding's program in the environment of an interpreter, in a separate process.

    The version is bad if the program shows the finding, ends its process, or exceeds the timeout; other violations do
    not matter then. A version in which the program shows only other violations is skipped.
    """
    try:
        target = open_target(_elsewhere(framework, python), device, None, timeout, scaled_timeout)
    except (AdapterError, UnknownFramework) as error:
        return Trial("skipped", shortened(str(error), 300))
    title = f"{target.name} {target.version}"

    def waives(program: Program, violation: Violation) -> bool:
        return not finding.shown_by(program, violation)

    try:
        outcome = run_after(finding.program, finding.before, target, waives)
    except ENDED as error:
        return Trial("bad", error.how, title)
    except AdapterError as error:
        return Trial("skipped", shortened(str(error), 300), title)
    finally:
        if isinstance(target, Remote):
            target.connection.close()
    if outcome.broken is None:
        return Trial("good" if outcome.verdict == "fixed" else "skipped", outcome.reason or "it passes", title)
    violation = outcome.broken.violation
    observed = violation.observed_text()
    if waives(outcome.broken.program, violation):
        return Trial("skipped", f"it breaks another rule: {violation.rule}: {observed}", title)
    return Trial("bad", f"{violation.rule}: {observed}", title)


def _elsewhere(framework: str, python: str | None) -> str:
    """The name of the framework in a separate process, which runs the current interpreter by default."""
    if python is None and parse(framework) is not None:
        return framework
    return served(framework, python or sys.executable, None)
