"""One session: the framework under test and the options of the run. Built once per process, from pytest's options."""

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
from autograd_conformance.processes.child import CLOSED, HASHES, LOADING
from autograd_conformance.processes.journal import TIMEOUT, Journal
from autograd_conformance.processes.timeouts import stretched
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import DTYPES, Program
from autograd_conformance.reporting.analysis.verdicts import Exit
from autograd_conformance.reporting.records import records
from autograd_conformance.reporting.records.terms import Source
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.situations import Offer
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.sources import SUITE_VERSION
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.pool import Pool

ADAPTER_ERROR = int(Exit.ADAPTER_ERROR)
"""The exit code of a run whose adapter cannot be used; none of pytest's own."""

REPORT_ERROR = int(Exit.REPORT_ERROR)
"""The exit code of a run whose report could not be written to its end, as on a full disk; none of pytest's own."""

PAST = 500
"""How many programs a process remembers, for failures that show only after others."""

TWICE, THRICE = "higher/op", "higher/op-third"
"""The rules that ops are left out of programs that differentiate twice, and three times, for."""

PACKAGES = ("torch", "jax", "jaxlib", "numpy", "scipy", "hypothesis", "pytest", "pytest-xdist")


@dataclass
class Session:
    """A framework under test and the options of the run."""

    name: str
    """The framework, as `frameworks.running.target.opened` finds it."""
    folder: Path
    """Where the report goes."""
    dtypes: tuple[str, ...] = DTYPES
    """The dtypes that programs are to compute in; those of them that the framework has are `drawable`."""
    device: str = "cpu"
    """The device that the adapter's factory is given."""
    worker: str = "main"
    """This process's name among pytest-xdist's."""
    timeout: float = TIMEOUT
    """Seconds after which a program counts as hung."""
    audited: AuditResult = NOTHING_FOUND
    """What an audit found: whoever starts the run holds one, before this process is prepared."""
    seed: int | None = None
    """The seed that programs are drawn with."""
    began: float = field(default_factory=time.monotonic)
    """When this process began, on the monotonic clock."""
    start: Path = field(default_factory=Path.cwd)
    """The folder that the run was started in, where its commands are to be given again."""
    unlike: str | None = None
    """How the framework differs from what it said of itself in the process that started the run, if it does."""
    unwritable: str | None = None
    """What this process could not write to the report's folder, and why, since when the run is to end."""
    journal: Journal | None = None
    """What programs are written down in before they run, while tests do."""
    known_files: tuple[Path, ...] = ()
    """Files of known differences of the user's own, instead of the one that comes with the suite."""
    update: Path | None = None
    """The file of known differences that what is broken is added to; what it holds already is known."""
    strict: bool = False
    """Whether a broken SHOULD, and a known difference that is seen no longer, fail the run."""
    options: tuple[str, ...] = ()
    """The options that name the framework on a command line, where `name` is not what the user wrote."""
    confirms: int = 0
    """How many failures more this process runs again alone."""
    limits: Limits = UNLIMITED
    """What the whole run may take."""
    confirming: float = 0.0
    """How many seconds of a limited run this process has spent on running failures again."""
    past: deque[Program] = field(default_factory=lambda: deque(maxlen=PAST))
    """The programs that ran last, the latest last."""
    noted: set[str] = field(default_factory=set)
    """The SHOULD rules of which this process has told already how they are broken."""

    judge_checks: int = 0
    """How often this process has tried its judge on known answers."""

    @cached_property
    def target(self) -> Target:
        """The framework, loaded and smoke-tested; raises what `frameworks.registry` raises."""
        return open_target(self.name, self.device, self._note, self.timeout, stretched)

    def is_over(self) -> bool:
        """Whether the time for tests is over."""
        return self.limits.seconds_left() == 0

    def is_late(self) -> bool:
        """Whether the run is to end, and its report only to be written still."""
        return self.limits.last is not None and time.monotonic() >= self.limits.last

    def until(self, part: float, least: float, spent: float = 0.0) -> float:
        """When something has to end that may take a part of the run's time, or at least so many seconds, of which some
        are spent; infinite where the run has no limit.
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
        """Seconds after which this process is ended: where the framework is in another one, that is ended before."""
        return watchdog(self.timeout, parse(self.name) is not None)

    @property
    def saved_tensor_counter(self) -> Target:
        """The target that counts saved tensors, or, where there is none, the one that does not."""
        return self.target.saved_tensor_counter or self.target

    def target_of(self, rule: str) -> Target:
        """The target that a rule is tested on."""
        return self.saved_tensor_counter if Capability.COUNTS_SAVED in RULES[rule].needs else self.target

    @cached_property
    def known(self) -> tuple[Known, ...]:
        """The framework's known differences here: those of the files that were given, or those that come with the
        suite, as far as they are about this version, device and platform.
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
        """The dtypes that programs are drawn in: those of `dtypes` that the framework has."""
        return tuple(d for d in self.target.dtypes if d in self.dtypes)

    @cached_property
    def description(self) -> Description:
        """What the framework said of itself when it was loaded: every other process of the run is held to it."""
        return Description.of(self.target)

    def check_description(self, said: Description) -> None:
        """Hold the framework to what it said of itself in the process that started the run."""
        self.unlike = describe_difference(said, self.target, f"the worker {self.worker}")

    def adopt_audit(self, found: AuditResult) -> None:
        """Take over what an audit found; what is missing is asked for no more."""
        _ = self.description  # the ops that are missing included
        self.audited = found
        if found.missing:
            self.target = self.target.without(found.missing)
            self.__dict__.pop("offer", None)

    def is_settled(self, note: Note) -> bool:
        """Whether what an earlier audit noted of an op needs no second look: it was right, or what it got wrong is
        known, and left out for that.
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
        """The ops that are wrong by themselves, found by the audit, and those known to be."""
        return ops_at_fault(self.audited.wrong, self.target.ops) | self.audited.lost | self._listed_once

    @property
    def faulty_second_order(self) -> frozenset[str]:
        """The ops whose second derivatives are wrong or not implemented, found by the audit, and those known to be."""
        return ops_at_fault(self.audited.once, self.target.ops) | self._listed(TWICE)

    @property
    def faulty_third_order(self) -> frozenset[str]:
        """The ops of which only the third derivatives are, and those whose third derivatives are not tested."""
        found = ops_at_fault(self.audited.twice, self.target.ops)
        return found | self._listed(THRICE) | {op for op in OPS if is_long(op)}

    @property
    def _listed_once(self) -> frozenset[str]:
        """The ops whose values, or first derivatives, are known to be wrong."""
        named = (entry for entry in self.known if entry.rule not in (TWICE, THRICE) and entry.left_out)
        return frozenset(entry.op for entry in named if entry.op is not None)

    def _listed(self, rule: str) -> frozenset[str]:
        """The ops that are known to break a rule."""
        named = (entry for entry in self.known if entry.rule == rule and entry.left_out)
        return frozenset(entry.op for entry in named if entry.op is not None)

    def prepare(self) -> None:
        """Make this process ready to draw programs and to run them; once, after the audit. Raises `AdapterError` where
        the framework is another than in the process that started the run.

        Three things of the process change, for good: strategies draw from the framework's alphabet less its broken
        ops; Hypothesis sets the framework's random generator to the same state before each program, so that failures
        replay; the garbage collector no longer looks at what is loaded by now, nor after every few programs.
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
        """A check for one test, which is about a rule."""
        leaves_out = None if self.update is None else self.leaves_out
        target = self.target_of(rule)
        pool = Pool(target.programs_each) if target.programs_each else None
        return Check(target, self.known, rule, self.strict, leaves_out, pool)

    def leaves_out(self, rule: str, op: str | None) -> bool:
        """Whether an op that breaks a rule is left out of the programs of tests that are not about it."""
        return op in {TWICE: self.faulty_second_order, THRICE: self.faulty_third_order}.get(rule, self.faulty_ops)

    def knows(self, form: Mapping[str, Any]) -> bool:
        """Whether all that a program, in its JSON form, breaks is known."""
        program = codec.from_json(form, VOCABULARY)

        def excuses(violation: Violation) -> bool:
            return any(is_known(entry, program, violation) for entry in self.known)

        target = self.target.crash_as_error()
        return first_violation(program, target.observe(program), target, excuses) is None

    def is_shown(self, entry: Known) -> bool:
        """Whether an entry's witness still shows the difference."""
        found = []

        def excuses(violation: Violation) -> bool:
            found.append(violation)
            return any(is_known(each, entry.witness, violation) for each in self.known)

        target = self.target_of(entry.rule).crash_as_error()
        if unsupported_by(entry.witness, target):
            return False
        first_violation(entry.witness, target.observe(entry.witness), target, excuses)
        return any(is_known(entry, entry.witness, violation) for violation in found)

    def missing(self, rule: str) -> list[str]:
        """The capabilities that a rule needs and the framework does not claim, in words."""
        return sorted(need.value for need in RULES[rule].needs - self.target_of(rule).capabilities)

    @cached_property
    def offer(self) -> Offer:
        """What the framework claims to have; ops that are known to be wrong are in no program."""
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
        """What the situation of a rule needs and the framework does not claim to have, in words."""
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
    """Seconds after which a process is ended that runs a program: where the framework is `served` by another one, that
    is ended before.
    """
    return timeout * 1.5 + LOADING if served else timeout


def rule_records(session: Session) -> list[records.RuleRecord]:
    """A record for every rule of the catalogue, with what the framework lacks of its situation."""
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
    """The time, in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
