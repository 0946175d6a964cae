"""The session of one process: the framework under test and the options of the run, from pytest's command line."""

from __future__ import annotations

import errno
import gc
import importlib.metadata
import math
import platform
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, assert_never

import hypothesis

from autograd_conformance.checking.audit.notes import Note
from autograd_conformance.checking.audit.outcome import NOTHING_FOUND, AuditResult, ops_at_fault
from autograd_conformance.checking.audit.programs import is_long
from autograd_conformance.checking.check import Check, first_violation
from autograd_conformance.checking.limits import UNLIMITED, Limits
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.checking.support.unsupported import partial_support, unsupported_by
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.environment import variables
from autograd_conformance.frameworks.environment.devices import Device
from autograd_conformance.frameworks.probing.descriptions import Description, describe_difference
from autograd_conformance.frameworks.registry import AdapterError
from autograd_conformance.frameworks.remote.command import parse
from autograd_conformance.frameworks.target import open_target
from autograd_conformance.known_differences import Known, MalformedKnownDifferences, is_known, known, read
from autograd_conformance.known_differences.entry import Environment, InvalidVersion
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.ops.tables import OPS
from autograd_conformance.package.sources import SUITE_VERSION
from autograd_conformance.processes.child import CLOSED, HASHES, LOADING
from autograd_conformance.processes.journal import TIMEOUT, Journal
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.programs import slugs
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import DTYPES, Program
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.reporting.analysis.verdicts import Exit
from autograd_conformance.reporting.records import records
from autograd_conformance.reporting.records.terms import Source
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.situations import Offer
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.pool import Pool

ADAPTER_ERROR = int(Exit.ADAPTER_ERROR)
"""Exit code if the adapter cannot be used; pytest does not use this code."""

REPORT_ERROR = int(Exit.REPORT_ERROR)
"""Exit code if the report could not be written to its end, such as on a full disk; pytest does not use this code."""

PAST = 500
"""Number of programs that a process remembers, for failures that need earlier programs to occur."""

TWICE, THRICE = slugs.HIGHER_OP, slugs.HIGHER_OP_THIRD
"""The rules whose violation excludes an op from programs that differentiate twice or three times."""

PACKAGES = ("torch", "jax", "jaxlib", "numpy", "scipy", "hypothesis", "pytest", "pytest-xdist")


@dataclass
class Session:
    """A framework under test and the options of the run."""

    name: str
    """The framework, in the form that `frameworks.target.opened` accepts."""
    folder: Path
    """Folder of the report."""
    dtypes: tuple[str, ...] = DTYPES
    """The requested dtypes of programs. `drawable` has those that the framework supports."""
    device: str = "cpu"
    """The device for the adapter's factory."""
    worker: str = "main"
    """Name of this process among pytest-xdist's workers."""
    timeout: float = TIMEOUT
    """Seconds after which a program counts as hung."""
    audited: AuditResult = NOTHING_FOUND
    """The result of the audit, which the main process runs before this process is prepared."""
    seed: int | None = None
    """The seed that programs are drawn with."""
    began: float = field(default_factory=time.monotonic)
    """Start of this process, on the monotonic clock."""
    start: Path = field(default_factory=Path.cwd)
    """Folder in which the run was started; printed commands are relative to it."""
    unlike: str | None = None
    """How the framework differs from its description in the main process; None if it does not."""
    unwritable: str | None = None
    """File of the report that this process could not write, and why; the run then ends."""
    journal: Journal | None = None
    """The journal that records each program before it runs, while tests run."""
    known_files: tuple[Path, ...] = ()
    """The user's files of known differences, which replace the file that comes with the suite."""
    update: Path | None = None
    """File of known differences to which the run adds violations. The entries that it already has are known."""
    strict: bool = False
    """Whether violated SHOULD rules and stale known differences fail the run."""
    options: tuple[str, ...] = ()
    """The options that name the framework on a command line, if `name` is not the user's own text."""
    confirms: int = 0
    """Number of failures that this process may still confirm in a separate process."""
    limits: Limits = UNLIMITED
    """The limits of the whole run."""
    confirming: float = 0.0
    """Seconds that this process has spent on confirming failures, in a limited run."""
    past: deque[Program] = field(default_factory=lambda: deque(maxlen=PAST))
    """The latest programs, the last one at the end."""
    noted: set[str] = field(default_factory=set)
    """SHOULD rules whose violation this process has already reported."""

    judge_checks: int = 0
    """Number of times that this process has tested its judge with known answers."""

    @cached_property
    def target(self) -> Target:
        """The loaded and smoke-tested framework. Raises the errors of `frameworks.registry`."""
        return open_target(self.name, self.device, self._note, self.timeout, scaled_timeout)

    def is_over(self) -> bool:
        """Whether the time for tests has ended."""
        return self.limits.seconds_left() == 0

    def is_late(self) -> bool:
        """Whether the run has to end now, with only the report still to be written."""
        return self.limits.last is not None and time.monotonic() >= self.limits.last

    def until(self, part: float, least: float, spent: float = 0.0) -> float:
        """Deadline for work that may take a part of the run's time, but at least `least` seconds; `spent` seconds are
        used already. Infinite if the run has no limit.
        """
        if self.limits.end is None or self.limits.deadline is None:
            return math.inf
        left = max(least, part * (self.limits.end - self.began)) - spent
        return min(self.limits.deadline, time.monotonic() + left)

    def _note(self, program: Program) -> None:
        self.past.append(program)
        if self.journal:
            try:
                self.journal.write(program)
            except OSError as error:
                if error.errno == errno.EBADF:
                    raise AdapterError(f"{self.name}: {CLOSED}") from None
                self.unwritable = f"{self.journal.path}: {error.strerror or error}"

    @property
    def watchdog(self) -> float:
        """Seconds after which this process is ended. If the framework has its own process, that one is ended first."""
        return watchdog(self.timeout, parse(self.name) is not None)

    @property
    def saved_tensor_counter(self) -> Target:
        """The target that counts saved tensors; the ordinary target if there is none."""
        return self.target.saved_tensor_counter or self.target

    def target_of(self, rule: str) -> Target:
        """The target on which a rule is tested."""
        return self.saved_tensor_counter if Capability.COUNTS_SAVED in RULES[rule].needs else self.target

    @cached_property
    def known(self) -> tuple[Known, ...]:
        """The known differences that apply to the framework's version, device and platform: from the user's files, or
        else from the file that comes with the suite.
        """
        there = (self.update,) if self.update is not None and self.update.exists() else ()
        own = self.known_files or self.update is not None
        listed = (
            [each for file in (*self.known_files, *there) for each in read(file)] if own else known(self.target.name)
        )
        device = Device.named(self.device).name
        here = Environment(self.target.version, device, platform.system(), platform.machine())
        found = []
        for entry in listed:
            try:
                found += [entry] if entry.applies(here) else []
            except InvalidVersion:
                named = f"{self.target.name} calls its version {self.target.version!r}"
                raise MalformedKnownDifferences(f"{entry.where}: version: {named}, which cannot be compared") from None
        return tuple(dict.fromkeys(found))

    @cached_property
    def drawable(self) -> tuple[str, ...]:
        """The requested dtypes that the framework supports."""
        return tuple(d for d in self.target.dtypes if d in self.dtypes)

    @cached_property
    def description(self) -> Description:
        """The framework's own description when it was loaded. Every other process of the run has to match it."""
        return Description.of(self.target)

    def check_description(self, expected: Description) -> None:
        """Compares the framework with its description in the main process."""
        self.unlike = describe_difference(expected, self.target, f"the worker {self.worker}")

    def adopt_audit(self, found: AuditResult) -> None:
        """Stores the result of the audit, and removes ops without kernels from the target."""
        _ = self.description  # before the ops without kernels are removed
        self.audited = found
        if found.missing:
            self.target = self.target.without(found.missing)
            self.__dict__.pop("offer", None)

    def is_settled(self, note: Note) -> bool:
        """Whether an earlier audit's note on an op is still valid: the op was right, or its violation is a known
        difference that excludes it.
        """
        match note.outcome:
            case "fine":
                return True
            case "twice":
                return note.op in self._listed(THRICE)
            case "once":
                return note.op in self._listed(TWICE)
            case "wrong":
                return note.op in self._listed_once
            case "begun" | "missing":
                return False
            case _:
                assert_never(note.outcome)

    @property
    def faulty_ops(self) -> frozenset[str]:
        """The ops that violate a rule on their own: those that the audit found, and those with known differences."""
        return ops_at_fault(self.audited.wrong, self.target.ops) | self.audited.lost | self._listed_once

    @property
    def faulty_second_order(self) -> frozenset[str]:
        """The ops whose second derivatives are wrong or not implemented: those that the audit found, and those with
        known differences.
        """
        return ops_at_fault(self.audited.once, self.target.ops) | self._listed(TWICE)

    @property
    def faulty_third_order(self) -> frozenset[str]:
        """The ops of which only the third derivatives are wrong or not implemented, and the ops whose third derivatives
        are not tested.
        """
        found = ops_at_fault(self.audited.twice, self.target.ops)
        return found | self._listed(THRICE) | {op for op in OPS if is_long(op)}

    @property
    def _listed_once(self) -> frozenset[str]:
        """The ops whose values or first derivatives have a known difference."""
        named = (entry for entry in self.known if entry.rule not in (TWICE, THRICE) and entry.left_out)
        return frozenset(entry.op for entry in named if entry.op is not None)

    def _listed(self, rule: str) -> frozenset[str]:
        """The ops with a known difference for a rule."""
        named = (entry for entry in self.known if entry.rule == rule and entry.left_out)
        return frozenset(entry.op for entry in named if entry.op is not None)

    def prepare(self) -> None:
        """Prepares this process for drawing and running programs, once, after the audit. Raises `BrokenAdapter` if the
        framework differs from that in the main process.

        This changes the process permanently. Strategies draw from the framework's alphabet without its faulty ops.
        Hypothesis resets the framework's random generator before each program, so that failures replay. The garbage
        collector ignores the objects that exist by now, and runs less often.
        """
        if self.unlike:
            raise AdapterError(self.unlike)
        if self.target.random is not None:
            hypothesis.register_random(self.target.random)
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        left = alphabet_of(self.target, self.drawable).without(self.faulty_ops)
        alphabet.use(
            replace(
                left,
                excluded=self.faulty_ops,
                first_order_only=self.faulty_second_order,
                second_order_only=self.faulty_third_order,
            )
        )

    def check(self, rule: str) -> Check:
        """A check for one test of a rule."""
        leaves_out = None if self.update is None else self.leaves_out
        target = self.target_of(rule)
        pool = Pool(target.programs_each) if target.programs_each else None
        return Check(target, self.known, rule, self.strict, leaves_out, pool)

    def leaves_out(self, rule: Slug, op: str | None) -> bool:
        """Whether tests about other rules leave out an op that violates this rule."""
        return op in {TWICE: self.faulty_second_order, THRICE: self.faulty_third_order}.get(rule, self.faulty_ops)

    def knows(self, form: Mapping[str, Any]) -> bool:
        """Whether known differences cover all violations of a program in JSON form. Runs the program."""
        program = codec.from_json(form, VOCABULARY)

        def waives(violation: Violation) -> bool:
            return any(is_known(entry, program, violation) for entry in self.known)

        target = self.target.crash_as_error()
        return first_violation(program, target.observe(program), target, waives) is None

    def is_shown(self, entry: Known) -> bool:
        """Whether an entry's witness still shows the difference. Runs the witness."""
        found = []

        def waives(violation: Violation) -> bool:
            found.append(violation)
            return any(is_known(each, entry.witness, violation) for each in self.known)

        target = self.target_of(entry.rule).crash_as_error()
        if unsupported_by(entry.witness, target):
            return False
        first_violation(entry.witness, target.observe(entry.witness), target, waives)
        return any(is_known(entry, entry.witness, violation) for violation in found)

    def missing(self, rule: str) -> list[str]:
        """The capabilities that a rule needs and the framework does not claim, in words."""
        return sorted(need.value for need in RULES[rule].needs - self.target_of(rule).capabilities)

    @cached_property
    def offer(self) -> Offer:
        """Everything that the framework claims to support, without ops that have a known difference."""
        target = self.target
        return Offer(
            frozenset(target.ops) - self._listed_once,
            target.capabilities,
            target.traits,
            frozenset(target.writes),
            frozenset(target.optimizers),
            frozenset(target.modules),
        )

    def absent(self, rule: str) -> tuple[str, ...]:
        """The needs of a rule's situation that the framework does not claim to support, in words."""
        return tuple(need.words for need in RULES[rule].situation if not need.satisfied_by(self.offer))

    # -- records -------------------------------------------------------------------------------------------------------

    def header(self, seed: int | None, profile: str, workers: int) -> records.Header:
        """The first record of the run."""
        target = self.target
        capabilities = target.capabilities | self.saved_tensor_counter.capabilities
        return records.Header(
            suite=SUITE_VERSION,
            framework=records.Framework(
                target.name,
                target.version,
                tuple(sorted(capability.value for capability in capabilities)),
                sum(name in target.ops for name in OPS),
                tuple(name for name in OPS if name not in target.ops),
                target.traits.named,
                tuple(Source(name.replace("_", " "), at) for name, at in target.trait_sources.items()),
                partial_support(target),
            ),
            seed=seed,
            profile=profile,
            dtypes=self.drawable,
            device=self.device,
            started=now(),
            python=platform.python_version(),
            platform=f"{platform.system()} {platform.machine()}",
            packages=_versions(),
            workers=max(1, workers),
            strict=self.strict,
            variables={**target.variables, **variables.of([HASHES])},
            environment=tuple(target.environment),
            notes=tuple(target.notes),
        )


def watchdog(timeout: float, served: bool) -> float:
    """Seconds after which a process that runs programs is ended. `served`: the framework has its own process, which is
    ended first.
    """
    return timeout * 1.5 + LOADING if served else timeout


def rule_records(session: Session) -> list[records.RuleRecord]:
    """A record for each rule of the catalogue, with the unsupported needs of its situation."""
    return [
        records.RuleRecord(
            rule=rule.slug,
            family=rule.family,
            level=rule.level.value,
            sentence=rule.sentence,
            needs=tuple(sorted(need.value for need in rule.needs)),
            sources=tuple(Source(s.title, s.where) for s in rule.sources),
            absent=session.absent(rule.slug),
        )
        for rule in RULES.values()
    ]


def now() -> str:
    """The present time in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
