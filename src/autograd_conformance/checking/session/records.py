"""Makes the records that a run begins with: its header, and one record for each rule."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterator
from datetime import UTC, datetime

from autograd_conformance.checking.session.framework import FrameworkUnderTest
from autograd_conformance.checking.support.unsupported import partial_support
from autograd_conformance.frameworks.environment import variables
from autograd_conformance.known_differences import Known
from autograd_conformance.ops.tables import OPS
from autograd_conformance.package.sources import SUITE_VERSION
from autograd_conformance.processes.child import HASHES
from autograd_conformance.reporting.records import records
from autograd_conformance.reporting.records.terms import Source
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.stages import STAGES, stage_of

PACKAGES = ("torch", "jax", "jaxlib", "numpy", "scipy", "hypothesis", "pytest", "pytest-xdist")


def header(framework: FrameworkUnderTest, seed: int | None, profile: str, workers: int) -> records.Header:
    """Returns the first record of a run: the versions of the suite and the framework, what the framework supports, and
    the options.
    """
    target, settings = framework.target, framework.settings
    capabilities = target.capabilities | framework.saved_tensor_counter.capabilities
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
        dtypes=framework.drawable,
        device=settings.device,
        started=now(),
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        packages=_versions(),
        workers=max(1, workers),
        stages=tuple(stage.name for stage in STAGES),
        strict=settings.strict,
        variables={**target.variables, **variables.of([HASHES])},
        environment=tuple(target.environment),
        notes=(*target.notes, *_notes(framework), *settings.skips.notes()),
    )


def _notes(framework: FrameworkUnderTest) -> Iterator[str]:
    """Yields what the file of known differences says about the run: that nobody tried this version, and the situations
    that no program has.
    """
    if framework.untried:
        yield framework.untried
    if framework.spared:
        spared = " or ".join(dict.fromkeys(f"a {entry.situation.value}" for entry in framework.spared))
        yield f"no program has {spared}: the process ends in it (known differences)"


def rule_records(framework: FrameworkUnderTest) -> list[records.RuleRecord]:
    """Returns a record for each rule of the catalogue, with what its programs need and the framework does not claim."""
    return [
        records.RuleRecord(
            rule=rule.slug,
            family=rule.family,
            level=rule.level.value,
            sentence=rule.sentence,
            needs=tuple(sorted(need.value for need in rule.needs)),
            sources=tuple(Source(s.title, s.where) for s in rule.sources),
            absent=framework.absent(rule.slug),
            stage=stage_of(rule.slug).name,
        )
        for rule in RULES.values()
    ]


def known_record(entry: Known, seen: int, ended: int) -> records.KnownRecord:
    """Returns the record of a known difference, with the number of programs that showed it, and of those whose judging
    it ended.
    """
    about = {name: getattr(entry, name) for name in ("rule", "op", "reason", "link", "since")}
    return records.KnownRecord(**about, seen=seen, ended=ended)


def now() -> str:
    """Returns the present time in UTC, such as "2026-11-22T09:30:00Z"."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
