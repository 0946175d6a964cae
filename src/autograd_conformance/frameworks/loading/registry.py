"""Loads adapters, by the name of a framework or as `package.module:factory`."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from autograd_conformance.frameworks.adapter import Adapter, defines
from autograd_conformance.frameworks.environment.interrupts import is_users
from autograd_conformance.frameworks.loading.entry_points import LIKE, Entry, entry_of, frameworks
from autograd_conformance.frameworks.loading.older_adapters import complete
from autograd_conformance.frameworks.loading.requirements import ATTRIBUTES, METHODS
from autograd_conformance.programs.foreign.text import harmless, message, type_of

MODES = ("torch-checkpoint", "torch-compile")
"""Prefixes of the names of PyTorch's modes, such as ``torch-compile-inductor``."""


class UnknownFramework(Exception):
    """No framework has this name; the message lists the names that exist."""


class AdapterError(BaseException):
    """The adapter cannot be loaded or has a bug. This ends the run without a verdict on the framework.

    It is not an `Exception`: Hypothesis would shrink such a failure, and a framework's own code could catch it.
    """

    def __init__(self, text: str) -> None:
        super().__init__(harmless(text))


class LoadingEnded(AdapterError):
    """The framework's process ended, or did not reply in time, before it had passed the smoke test and the probe."""


def __getattr__(name: str) -> Any:
    """Returns `AdapterError`, with a warning, for its old name `BrokenAdapter`; for one release."""
    if name != "BrokenAdapter":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn("BrokenAdapter is named AdapterError now; the old name ends with the next release", FutureWarning, 2)
    return AdapterError


def load(name: str, device: str = "cpu") -> Adapter:
    """Make the adapter of a framework on a device.

    The adapter has every method and attribute of `Adapter`. Raises `UnknownFramework` or `AdapterError`.
    """
    entry = entry_of(name)
    module_name, colon, factory_name = (entry.factory if entry is not None else name).partition(":")
    if not colon or not module_name or not factory_name:
        raise UnknownFramework(
            f"unknown framework {name!r}. {there_are(name)} Your own adapter is named package.module:factory."
        )
    factory = _factory(name, module_name, factory_name, entry)
    if entry is not None and entry.name in LIKE:
        factory = partial(factory, *_module(name))
    try:
        adapter = factory(device=device)
    except BaseException as error:
        if is_users(error):
            raise
        raise AdapterError(
            f"{name}: {factory_name}(device={device!r}) raised {type_of(error)}: {message(error)}"
        ) from error
    missing = [m for m in METHODS if not defines(adapter, m)]
    missing += [a for a in ATTRIBUTES if not hasattr(adapter, a)]
    if missing:
        raise AdapterError(f"{name}: the adapter lacks {', '.join(missing)} (see frameworks/adapter.py)")
    return complete(adapter)


def _module(name: str) -> tuple[str, str]:
    """Imports the module that a name such as ``torch-like:candle@candle.toml`` contains; returns the module's name and
    the path of the file of findings, empty if there is none.
    """
    module, _, path = name.partition(":")[2].partition("@")
    if not module:
        raise UnknownFramework(f"{name!r} names no module; write {name.partition(':')[0]}:MODULE")
    _factory(name, module, "__name__", None)
    return module, path


def without_mode(name: str) -> str:
    """Returns ``torch`` for a mode of PyTorch, such as ``torch-compile-eager``, and the name of any other framework as
    it is.

    A mode may need a second for each new program, so the check that runs each op alone before the tests uses the
    framework without the mode, where the same programs run.
    """
    return "torch" if name.startswith(MODES) else name


def there_are(name: str) -> str:
    """Returns which frameworks have a name like an unknown one, and the names of all; if the suite's own are missing,
    how to install the suite again.
    """
    if not any(entry.is_ours for entry in frameworks().values()):
        return "The suite's own frameworks are not installed; in its checkout, type: python -m pip install -e ."
    all_of_them = f"There are: {', '.join((*sorted(frameworks()), *(f'{like}:MODULE' for like in LIKE)))}."
    near = get_close_matches(name, frameworks(), cutoff=0.75)
    return f"Do you mean {' or '.join(near)}? {all_of_them}" if near else all_of_them


def _hint(name: str) -> str:
    """Returns a sentence on what to do if the module of a framework is not found."""
    if name.partition(":")[0] in LIKE:
        return (
            f"Install its package for {sys.executable}, or name the interpreter that has it by "
            "--framework-python=PATH; the module may have another name than the package."
        )
    return there_are(name)


def _own(module_name: str) -> ModuleType:
    """Import the module of a user's own adapter, which may be in the current folder.

    The current folder is searched first for the adapter's own package, and last for all other modules, so that other
    files in the folder shadow nothing.
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    finder = _Here(module_name.partition(".")[0], here)
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(module_name)
    finally:
        sys.meta_path.remove(finder)


@dataclass(frozen=True)
class _Here(MetaPathFinder):
    """Finds one package or module in a folder."""

    package: str
    folder: str

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the package's specification if the folder has it. A folder without `__init__.py` does not count."""
        spec = PathFinder.find_spec(fullname, [self.folder]) if fullname == self.package else None
        return spec if spec is not None and spec.loader is not None else None


def _factory(name: str, module_name: str, factory_name: str, entry: Entry | None):  # type: ignore[no-untyped-def]
    try:
        module = importlib.import_module(module_name) if entry is not None else _own(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        if entry is not None and not module_name.startswith(missing):
            what = entry.install or missing
            raise AdapterError(f"{name}: the package {missing!r} is not installed; pip install {what}") from error
        if entry is None and (module_name == missing or module_name.startswith(f"{missing}.")):
            raise UnknownFramework(
                f"unknown framework {name!r}: there is no module {missing!r} on the path. {_hint(name)}"
            ) from error
        raise AdapterError(f"{name}: importing {module_name} failed: no module named {missing!r}") from error
    except BaseException as error:
        if is_users(error):
            raise
        raise AdapterError(f"{name}: importing {module_name} raised {type_of(error)}: {message(error)}") from error
    if not hasattr(module, factory_name):
        raise UnknownFramework(f"unknown framework {name!r}: module {module_name} has no {factory_name!r}")
    return getattr(module, factory_name)
