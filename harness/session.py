"""One session: a framework, what it is asked, where the report goes. Built once per process, from pytest's options."""

from __future__ import annotations

import gc
import importlib.metadata
import platform
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import hypothesis
from autograd_conformance.frameworks.base import USUAL_OPTIMIZERS, Framework
from autograd_conformance.frameworks.registry import load
from autograd_conformance.frameworks.runner import run
from autograd_conformance.frameworks.smoke import smoke
from autograd_conformance.harness.audit.programs import at_fault, is_long, once_only, twice_only, wrong_ops
from autograd_conformance.harness.check import Check, companion, violation_of
from autograd_conformance.harness.journal import PATIENCE, Journal
from autograd_conformance.harness.known import Known, is_known, known, read
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import DTYPES, Program
from autograd_conformance.programs.observations import Observation
from autograd_conformance.reports import records
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.strategies.building import alphabet

SUITE_VERSION = importlib.metadata.version("autograd-conformance")
"""The version of the suite itself, which stands in `pyproject.toml` alone."""

ADAPTER_ERROR = 10
"""The exit code of a run whose adapter cannot be used; none of pytest's own."""

TWICE, THRICE = "higher/op", "higher/op-third"
"""The rules that ops are left out of programs that differentiate twice, and three times, for."""

PACKAGES = ("torch", "jax", "jaxlib", "numpy", "scipy", "hypothesis", "pytest", "pytest-xdist")


@dataclass
class Session:
    """A framework under test and the options of the run.

    `worker` names the process among pytest-xdist's; `patience` is how many seconds a program may take; `wrong` are the
    ops that an audit elsewhere found wrong by themselves (None: the session holds its own), `lost` those that never
    came back from it, `once` those that it could not differentiate twice, `twice_only` those that not three times,
    for which they are tried where `thrice` says so: from cold, tracing third derivatives takes a minute.
    `journal` is what programs are written down in before they run, while tests do.
    """

    name: str
    folder: Path
    dtypes: tuple[str, ...] = DTYPES
    device: str = "cpu"
    worker: str = "main"
    patience: float = PATIENCE
    wrong: frozenset[str] | None = None
    lost: frozenset[str] = frozenset()
    once: frozenset[str] = frozenset()
    twice_only: frozenset[str] = frozenset()
    thrice: bool = False
    journal: Journal | None = None
    known_file: Path | None = None
    """A file of known differences of the user's own, instead of the one that comes with the suite."""

    @cached_property
    def framework(self) -> Framework:
        """The framework, loaded and smoke-tested; raises what `frameworks.registry` raises."""
        framework = load(self.name, self.device)
        smoke(framework)
        return framework

    @cached_property
    def claims(self) -> frozenset[Capability]:
        """What the framework claims."""
        return frozenset(self.framework.claims)

    @cached_property
    def counter(self) -> Framework:
        """What counts saved tensors: the framework itself, or the companion that it has for that, if any."""
        return companion(self.framework) or self.framework

    def asked(self, rule: str) -> Framework:
        """What a rule is asked of."""
        return self.counter if Capability.COUNTS_SAVED in RULES[rule].needs else self.framework

    @cached_property
    def known(self) -> tuple[Known, ...]:
        """The framework's known differences: those of the file that was given, or those that come with the suite."""
        return known(self.framework.name) if self.known_file is None else read(self.known_file)

    @cached_property
    def drawable(self) -> tuple[str, ...]:
        """The dtypes that programs are drawn in: those asked for that the framework has."""
        return tuple(d for d in self.framework.dtypes if d in self.dtypes)

    @cached_property
    def broken(self) -> frozenset[str]:
        """The ops that are wrong by themselves, found by the audit, and those known to be."""
        wrong = wrong_ops(self.framework, self.claims, self.drawable) if self.wrong is None else self.wrong
        listed = {entry.op for entry in self.known if entry.op is not None and entry.rule not in (TWICE, THRICE)}
        return at_fault(wrong, self.framework.ops) | self.lost | listed

    @cached_property
    def broken_twice(self) -> frozenset[str]:
        """The ops whose second derivatives are wrong or not implemented, found by the audit, and those known to be."""
        once = self.once
        if self.wrong is None:
            once = once_only(self.framework, self.claims, self.drawable, self.broken)
        return at_fault(once, self.framework.ops) | self._listed(TWICE)

    @cached_property
    def broken_thrice(self) -> frozenset[str]:
        """The others whose third derivatives are, and those of which that is not asked."""
        found = self.twice_only
        if self.wrong is None and self.thrice:
            found = twice_only(self.framework, self.claims, self.drawable, self.broken | self.broken_twice)
        return at_fault(found, self.framework.ops) | self._listed(THRICE) | {op for op in OPS if is_long(op)}

    def _listed(self, rule: str) -> frozenset[str]:
        """The ops that are known to break a rule."""
        return frozenset(entry.op for entry in self.known if entry.op is not None and entry.rule == rule)

    def prepare(self) -> None:
        """Make the framework's alphabet, less its broken ops, the one that strategies draw from."""
        generator = getattr(self.framework, "random", None)
        if generator is not None:  # each program begins with the same state, so that failures replay
            hypothesis.register_random(generator)
        gc.freeze()  # what is loaded by now stays: the collector need not look at it again after every few programs
        gc.set_threshold(20_000, 20, 50)
        self.use_all_ops()
        left = alphabet.current().without(self.broken)
        alphabet.use(replace(left, only_once=self.broken_twice, only_twice=self.broken_thrice))

    def use_all_ops(self) -> tuple[str, ...]:
        """Make the framework's whole alphabet the one that strategies draw from; its ops."""
        names = tuple(name for name in OPS if name in self.framework.ops)
        found = alphabet.Alphabet(names, self.drawable, self.claims)
        optimizers = getattr(self.framework, "optimizers", USUAL_OPTIMIZERS)
        alphabet.use(replace(found, optimizers=optimizers, modules=tuple(getattr(self.framework, "modules", ()))))
        return names

    def run(self, program: Program, framework: Framework) -> Observation:
        """What a framework does with a program, which the journal holds meanwhile."""
        if self.journal:
            self.journal.write(program)
        return run(program, framework)

    def check(self, rule: str) -> Check:
        """A check for one test, which is about a rule."""
        asked = self.asked(rule)
        return Check(asked, frozenset(asked.claims), self.known, self.run)

    def witnessed(self, entry: Known) -> bool:
        """Whether an entry's witness still shows the difference."""
        asked = self.asked(entry.rule)
        violation = violation_of(entry.witness, asked, frozenset(asked.claims))
        return violation is not None and is_known(entry, entry.witness, violation)

    def missing(self, rule: str) -> list[str]:
        """What a rule needs and the framework does not claim."""
        return sorted(need.value for need in RULES[rule].needs - set(self.asked(rule).claims))

    # -- records -------------------------------------------------------------------------------------------------------

    def header(self, seed: int | None, profile: str, workers: int) -> records.Header:
        """The first record of the run."""
        framework = self.framework
        return records.Header(
            suite=SUITE_VERSION,
            framework=records.Framework(
                framework.name,
                framework.version,
                tuple(sorted(need.value for need in self.claims | set(self.counter.claims))),
                sum(name in framework.ops for name in OPS),
                tuple(name for name in OPS if name not in framework.ops),
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
        )


def rules() -> list[records.RuleRecord]:
    """A record for every rule of the catalogue."""
    return [
        records.RuleRecord(
            rule=rule.slug,
            family=rule.family,
            level=rule.level.value,
            sentence=rule.sentence,
            needs=tuple(sorted(need.value for need in rule.needs)),
            sources=tuple(records.Source(s.title, s.where) for s in rule.sources),
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
