"""A copy of an engine's package with one mutation, put in place of the installed package in a forked process."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path

from autograd_conformance.frameworks.loading.entry_points import entry_of
from evaluation.engines.engine import Engine
from evaluation.engines.mutation import Mutation


def copy(engine: Engine, mutation: Mutation, folder: Path) -> None:
    """Copies an engine's package into a folder, with one mutation."""
    copied = folder / engine.package
    shutil.copytree(engine.folder, copied, ignore=shutil.ignore_patterns("__pycache__"))
    file = copied / mutation.file
    file.write_text(mutation.applied(file.read_text(encoding="utf-8")), encoding="utf-8")


def put_in_place(engine: Engine, folder: Path) -> None:
    """Makes this process import the engine, and its adapter, from a folder with a copy of its package.

    This changes the process permanently. Raises what importing the copy raises.
    """
    forgotten = (engine.package, adapter_package(engine))
    for name in list(sys.modules):
        if any(name == each or name.startswith(f"{each}.") for each in forgotten):
            del sys.modules[name]
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    imported = importlib.import_module(engine.package)
    assert Path(str(imported.__file__)).is_relative_to(folder), f"{imported.__file__} is not the copy"


def adapter_package(engine: Engine) -> str:
    """The package of the engine's adapter, which has imported the engine."""
    entry = entry_of(engine.name)
    assert entry is not None, f"no adapter is named {engine.name}"
    return entry.factory.partition(":")[0].rpartition(".")[0]
