"""Imports moved modules by their old names, for one release, with a warning that names the new module."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:  # that module imports others, such as tempfile, for which `python -m` would take a file of the user's folder
    Loader = MetaPathFinder = object

PACKAGE = "autograd_conformance."

MOVED = {
    "frameworks.answers": "frameworks.reading.validation",
    "frameworks.base": "frameworks.adapter",
    "frameworks.blame.territory": "frameworks.blame.ownership",
    "frameworks.caches": "frameworks.environment.caches",
    "frameworks.chainer": "adapters.chainer",
    "frameworks.copies": "frameworks.reading.copies",
    "frameworks.declarations": "frameworks.probing.declarations",
    "frameworks.devices": "frameworks.environment.devices",
    "frameworks.dezero": "adapters.dezero",
    "frameworks.ended": "frameworks.environment.process_end",
    "frameworks.entered_modes": "frameworks.running.entered_modes",
    "frameworks.entry_points": "frameworks.loading.entry_points",
    "frameworks.expressions": "frameworks.blame.expressions",
    "frameworks.functional": "frameworks.running.functional",
    "frameworks.hips_autograd": "adapters.hips_autograd",
    "frameworks.identities": "frameworks.reading.identities",
    "frameworks.interrupts": "frameworks.environment.interrupts",
    "frameworks.jax": "adapters.jax",
    "frameworks.mindspore": "adapters.mindspore",
    "frameworks.mlx": "adapters.mlx",
    "frameworks.mxnet": "adapters.mxnet",
    "frameworks.mygrad": "adapters.mygrad",
    "frameworks.older_adapters": "frameworks.loading.older_adapters",
    "frameworks.paddle": "adapters.paddle",
    "frameworks.printed": "frameworks.running.printed",
    "frameworks.probe": "frameworks.probing.probe",
    "frameworks.probing.statements": "frameworks.probing.descriptions",
    "frameworks.process_end": "frameworks.environment.process_end",
    "frameworks.pytorch.checkpoints": "frameworks.pytorch.modes.checkpoints",
    "frameworks.pytorch.compiled": "frameworks.pytorch.modes.compiled",
    "frameworks.pytorch.dialect": "frameworks.torchlike.dialect",
    "frameworks.pytorch.flags": "frameworks.pytorch.modes.flags",
    "frameworks.pytorch.functional": "frameworks.pytorch.modes.functional",
    "frameworks.pytorch.layers": "frameworks.pytorch.modes.layers",
    "frameworks.pytorch.regions": "frameworks.pytorch.modes.regions",
    "frameworks.pytorch.sharing": "frameworks.pytorch.modes.sharing",
    "frameworks.pytorch.units": "frameworks.pytorch.modes.regions",
    "frameworks.raised": "frameworks.blame.raised",
    "frameworks.reader": "frameworks.reading.reader",
    "frameworks.reading.answers": "frameworks.reading.validation",
    "frameworks.registry": "frameworks.loading.registry",
    "frameworks.remote.dialects": "frameworks.remote.codecs.dialects",
    "frameworks.remote.limits": "frameworks.remote.codecs.limits",
    "frameworks.remote.link": "frameworks.remote.connection",
    "frameworks.requirements": "frameworks.loading.requirements",
    "frameworks.runner": "frameworks.running.runner",
    "frameworks.smoke": "frameworks.probing.smoke",
    "frameworks.statements": "frameworks.probing.descriptions",
    "frameworks.templates": "frameworks.running.templates",
    "frameworks.tensorflow": "adapters.tensorflow",
    "frameworks.territory": "frameworks.blame.ownership",
    "frameworks.tinygrad": "adapters.tinygrad",
    "frameworks.units": "frameworks.running.regions",
    "frameworks.variables": "frameworks.environment.variables",
    "harness.campaign.soak": "campaigns.soak",
    "harness.check": "checking.check",
    "harness.command": "cli",
    "harness.known": "known_differences",
    "harness.plugin": "plugin.hooks",
    "harness.replay": "plugin.replay",
    "harness.session": "checking.session",
    "internals": "package.internals",
    "ops.domains": "ops.rows.domains",
    "ops.dtypes": "ops.rows.dtypes",
    "ops.row": "ops.rows.row",
    "ops.selection": "ops.rows.selection",
    "ops.shapes": "ops.rows.shapes",
    "places": "package.places",
    "plugin.main_process": "plugin.processes.main_process",
    "plugin.progress": "plugin.processes.progress",
    "plugin.workers": "plugin.processes.workers",
    "printing.closures": "printing.functional",
    "printing.functions": "printing.regions",
    "programs.arrays": "programs.foreign.arrays",
    "programs.closures": "programs.differentiated_functions",
    "programs.codec": "programs.formats.codec",
    "programs.observation_codec": "programs.formats.observation_codec",
    "programs.parser": "programs.formats.parser",
    "programs.text": "programs.formats.text",
    "programs.wording": "programs.foreign.text",
    "reporting.causes": "reporting.analysis.causes",
    "reporting.coverage": "reporting.analysis.coverage",
    "reporting.differences": "reporting.analysis.differences",
    "reporting.history": "reporting.comparison.history",
    "reporting.merging.changes": "reporting.comparison.changes",
    "reporting.merging.findings": "reporting.merging.failures",
    "reporting.merging.frame": "reporting.merging.run_info",
    "reporting.merging.kinds": "reporting.merging.compatibility",
    "reporting.merging.outcomes": "reporting.merging.test_totals",
    "reporting.records.renamed": "reporting.records.renamed_rules",
    "reporting.severity": "reporting.analysis.severity",
    "reporting.summary": "reporting.analysis.summary",
    "reporting.verdicts": "reporting.analysis.verdicts",
    "reports": "reporting",
    "reports.causes": "reporting.analysis.causes",
    "reports.changes": "reporting.comparison.changes",
    "reports.claims": "reporting.records.claims",
    "reports.combine": "reporting.merging.combine",
    "reports.coverage": "reporting.analysis.coverage",
    "reports.differences": "reporting.analysis.differences",
    "reports.encoding": "reporting.records.encoding",
    "reports.failure": "reporting.records.failure",
    "reports.findings": "reporting.merging.failures",
    "reports.flow": "reporting.records.flow",
    "reports.frame": "reporting.merging.run_info",
    "reports.history": "reporting.comparison.history",
    "reports.kinds": "reporting.merging.compatibility",
    "reports.merge": "reporting.merging.merge",
    "reports.outcomes": "reporting.merging.test_totals",
    "reports.records": "reporting.records.records",
    "reports.renamed": "reporting.records.renamed_rules",
    "reports.replay": "reporting.records.replay",
    "reports.severity": "reporting.analysis.severity",
    "reports.stream": "reporting.records.stream",
    "reports.summary": "reporting.analysis.summary",
    "reports.terms": "reporting.records.terms",
    "reports.verdicts": "reporting.analysis.verdicts",
    "reports.versions": "reporting.records.versions",
    "rules.articles": "claims.articles",
    "rules.facts": "claims.facts",
    "rules.tape": "tape",
    "sources": "package.sources",
    "strategies.building.actions": "strategies.building.drafts.actions",
    "strategies.building.choices": "strategies.building.randomness.choices",
    "strategies.building.draft": "strategies.building.drafts.draft",
    "strategies.building.operands": "strategies.building.drafts.operands",
    "strategies.building.ops": "strategies.building.drafts.ops",
    "strategies.building.pool": "strategies.building.randomness.pool",
    "strategies.building.script": "strategies.building.drafts.script",
    "strategies.building.writes": "strategies.building.drafts.writes",
    "tape.backward_calls": "tape.expectation.backward_calls",
    "tape.exercises": "tape.expectation.exercises",
    "tape.outcomes": "tape.expectation.outcomes",
    "tape.unspecified": "tape.expectation.unspecified",
}
"""The new name of each moved module, by its old name, both without the package's name. The submodules of a moved
package moved with it.
"""


def current(name: str) -> str | None:
    """Returns the new full name of a moved module; None for any other module."""
    parts = name.removeprefix(PACKAGE).split(".")
    for count in range(len(parts), 0, -1):
        new = MOVED.get(".".join(parts[:count]))
        if new is not None:
            return PACKAGE + ".".join([new, *parts[count:]])
    return None


class Alias(Loader):
    """Loads the new module under the old name."""

    def __init__(self, new: str) -> None:
        self.new = new
        self.spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Returns the new module, after a warning that the old name will end."""
        warnings.warn(f"{spec.name} is {self.new} now; its old name ends with the next release", FutureWarning, 2)
        module = importlib.import_module(self.new)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restores the new module's own specification, which the import system has replaced by that of the old name."""
        module.__spec__ = self.spec

    def get_code(self, fullname: str) -> CodeType | None:
        """Returns the code of the new module, which `python -m OLD_NAME` runs."""
        spec = importlib.util.find_spec(self.new)
        return spec.loader.get_code(self.new) if spec is not None else None  # type: ignore[union-attr]


class Finder(MetaPathFinder):
    """Finds modules that are imported by an old name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the import specification of a module that is imported by its old name; None for any other module."""
        new = current(fullname) if fullname.startswith(PACKAGE) else None
        if new is None:
            return None
        found = importlib.util.find_spec(new)
        is_package = found is not None and found.submodule_search_locations is not None
        return ModuleSpec(fullname, Alias(new), is_package=is_package)


def install() -> None:
    """Makes Python try the old names of modules before all other ways to find a module; a second call changes
    nothing.
    """
    if not any(isinstance(each, Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, Finder())
