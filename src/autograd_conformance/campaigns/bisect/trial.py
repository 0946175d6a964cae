"""Runs a finding's program in one environment of a framework."""

from __future__ import annotations

import sys

from autograd_conformance.campaigns.bisect.finding import Finding
from autograd_conformance.campaigns.bisect.outcome import Trial
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.environment.process_end import ENDED
from autograd_conformance.frameworks.loading.registry import AdapterError, LoadingEnded, UnknownFramework
from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.frameworks.remote.command import parse, served
from autograd_conformance.frameworks.target import open_target, open_unchecked
from autograd_conformance.plugin.replay import run_after
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.programs.language import Program
from autograd_conformance.reporting.prose import shortened
from autograd_conformance.rules.violations.violation import Violation


def run_trial(finding: Finding, framework: str, python: str | None, device: str, timeout: float) -> Trial:
    """Runs a finding's program in the environment of an interpreter, in a separate process, and returns the outcome.

    The version is bad if the program shows the finding, ends its process, or exceeds the timeout; other violations do
    not matter then. A version in which the program shows only other violations is skipped.
    """
    name = _elsewhere(framework, python)
    try:
        return _trial(finding, open_target(name, device, None, timeout, scaled_timeout))
    except LoadingEnded as error:
        failed_checks = shortened(str(error), 300)
    except (AdapterError, UnknownFramework) as error:
        return Trial("skipped", shortened(str(error), 300))
    try:
        return _trial(finding, open_unchecked(name, device, timeout, scaled_timeout), failed_checks)
    except AdapterError:
        return Trial("skipped", failed_checks)


def _trial(finding: Finding, target: Target, failed_checks: str | None = None) -> Trial:
    """Run a finding's program on a target.

    `failed_checks` says how the process ended in the checks before the first program, if it did. The probe then did not
    find out what the framework lacks, so a violation proves nothing: the version is skipped.
    """
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
    if outcome.verdict == "fixed":
        return Trial("good", "it passes", title)
    if outcome.broken is None or failed_checks is not None:
        return Trial("skipped", failed_checks or outcome.reason or "it cannot run", title)
    violation = outcome.broken.violation
    observed = violation.observed_text()
    if waives(outcome.broken.program, violation):
        return Trial("skipped", f"it breaks another rule: {violation.rule}: {observed}", title)
    return Trial("bad", f"{violation.rule}: {observed}", title)


def _elsewhere(framework: str, python: str | None) -> str:
    """Returns the name that loads the framework in a separate process, which runs the interpreter `python`, or the
    current one by default.
    """
    if python is None and parse(framework) is not None:
        return framework
    return served(framework, python or sys.executable, None)
