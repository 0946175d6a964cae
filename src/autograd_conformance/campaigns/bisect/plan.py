"""Plans of bisections, read from a TOML file: findings, and the framework versions in which each finding's program is
run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autograd_conformance.campaigns.bisect.environment import PLACEHOLDER
from autograd_conformance.campaigns.bisect.step import FindingFiles, Step
from autograd_conformance.campaigns.plans.known_files import known_texts
from autograd_conformance.campaigns.plans.table import MalformedPlan, Table
from autograd_conformance.processes.journal import TIMEOUT
from autograd_conformance.reporting.prose import counted

SEARCH = "bisect"
"""The key in a plan's TOML file of its list of bisections."""

FILE = "finding.json"
"""The name of the file as which workers receive a finding."""

TOP = ("storage", "storage_options", SEARCH)
KEYS = (
    "framework", "findings", "rule", "number", "versions", "python", "install", "environments", "device", "patience",
    "resources",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Search:
    """The bisection of one finding: one step for each version, the oldest first, which runs the finding's program in
    that version.
    """

    finding_files: FindingFiles
    framework: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """The bisections of a plan, and the storage of their results."""

    searches: tuple[Search, ...]
    storage: str | None = None
    """The folder in which outcomes are stored, as a path or a URL that fsspec accepts; None if the plan names none."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options that fsspec gets for the storage."""

    @property
    def steps(self) -> Iterator[Step]:
        """The steps of all bisections, each of which runs one finding's program in one version."""
        return (step for search in self.searches for step in search.steps)

    def __str__(self) -> str:
        lines = [f"{counted(len(self.searches), 'finding')}, {counted(len(set(self.steps)), 'verdict')}"]
        lines += [f"  {each.framework}: {each.finding_files.title}: {', '.join(step.label for step in each.steps)}"
                  for each in self.searches]  # fmt: skip
        return "\n".join(lines)


def search_plan(form: Mapping[str, Any], path: Path) -> SearchPlan:
    """Returns the plan of bisections in the parsed TOML file `path`. Paths in the plan are relative to that file."""
    top = Table(form, str(path), TOP)
    searches: list[Search] = []
    for place, table in enumerate(top.tables(SEARCH), 1):
        searches += _searches(Table(table, f"{path}, [[{SEARCH}]] {place}", KEYS), path.parent)
    if not searches:
        raise MalformedPlan(f"{path}: it has no [[{SEARCH}]]")
    return SearchPlan(tuple(searches), top.text("storage"), dict(top.table("storage_options")))


def _searches(table: Table, folder: Path) -> Iterator[Search]:
    framework = table.framework(table.text("framework"))
    versions = table.texts("versions", None)
    if len(versions) < 2:
        raise MalformedPlan(f"{table.where}: versions: name at least two versions")
    python, install = table.text("python"), table.texts("install", ())
    if (python is None) == (not install):
        raise MalformedPlan(f"{table.where}: name either the python of each version's environment, or what to install")
    if PLACEHOLDER not in "".join((python or "", *install)):
        raise MalformedPlan(f"{table.where}: write {PLACEHOLDER} in place of the version, in python or install")
    if python and table.text("environments"):
        raise MalformedPlan(f"{table.where}: environments is only for versions that are installed with install")
    timeout = table.positive("patience") if "patience" in table.form else TIMEOUT
    resources = table.resources()
    for finding_files in _sought(table, folder):
        yield Search(finding_files, framework, tuple(
            Step(
                finding_files, framework, table.text("device") or "cpu", timeout, label,
                python and python.replace(PLACEHOLDER, label),
                tuple(each.replace(PLACEHOLDER, label) for each in install), table.text("environments"),
                {name.replace(PLACEHOLDER, label): amount for name, amount in resources.items()},
            )
            for label in versions
        ))  # fmt: skip


def _sought(table: Table, folder: Path) -> Iterator[FindingFiles]:
    """Yields the findings of all files that a table names, each with the files that workers need."""
    from autograd_conformance.campaigns.bisect.finding import (  # imported here, as it imports JAX
        UnusableFinding,
        findings,
    )

    rule = table.text("rule")
    wanted = table.number("number", 1) if "number" in table.form else None
    for name in table.texts("findings", None):
        path = folder / name
        try:
            found = findings(path)
        except UnusableFinding as error:
            raise MalformedPlan(f"{table.where}: findings: {error}") from None
        kept = [
            (number, each)
            for number, each in enumerate(found, 1)
            if wanted in (None, number) and (rule is None or each.rule in (None, rule))
        ]
        if not kept:
            raise MalformedPlan(f"{table.where}: findings: {path} holds {'no such' if found else 'no'} finding")
        for number, each in kept:
            title = f"{replace(each, rule=each.rule or rule).title} ({name}{f', {number}' if len(found) > 1 else ''})"
            if each.entry is None:
                form = replace(each, rule=each.rule or rule).to_json()
                yield FindingFiles(title, ((FILE, json.dumps(form)),))
            else:
                named, included = known_texts([path], f"{table.where}: findings")
                yield FindingFiles(title, named + included, number)
