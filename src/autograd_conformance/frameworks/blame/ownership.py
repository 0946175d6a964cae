"""Finds out whether a frame's code, or a value, belongs to the suite, the adapter or the framework.

The adapter's code is in the files of its classes. The other modules of its package belong to it, too, if the framework
is another package. Code is the framework's if it does not belong to the suite, the adapter, Python or NumPy. If the
framework shares a package with its adapter, the adapter's attribute `packages` names the framework's modules.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from autograd_conformance.frameworks.adapter import Adapter

SUITE_PACKAGE = "autograd_conformance"
NEUTRAL = sys.stdlib_module_names | {"numpy", "builtins", "pytest", "_pytest", "hypothesis"}
"""Packages that adapters and frameworks both call. An exception in such a package belongs to its caller."""
GENERATED_FILES = ("<string>", "<stdin>", "<compute")
"""Prefixes of the file names of generated code."""


class Owner(Enum):
    """The party to which code belongs."""

    SUITE = auto()
    ADAPTER = auto()
    FRAMEWORK = auto()
    GENERATED = auto()
    """Code that the suite or the adapter made from a template and that has no file; an error in it is examined like one
    in the adapter's code, but if framework and adapter share files, it counts as the framework's.
    """
    NEUTRAL = auto()


@dataclass(frozen=True)
class Ownership:
    """The modules and files of an adapter, and those of its framework."""

    modules: frozenset[str]
    """Modules that define the adapter's classes."""
    files: frozenset[str]
    """Files of the modules that define the adapter's classes."""
    declared: tuple[str, ...]
    """Modules or packages that the adapter declares to be its framework."""
    adapter_package: str | None
    """The adapter's package, if all of its modules belong to the adapter; None if the framework may be in it."""
    is_separate: bool
    """Whether the framework and the adapter have separate files."""

    @classmethod
    def of(cls, adapter: Adapter, values: Collection[object] = ()) -> Ownership:
        """Find the modules and files of an adapter. `values` are some of its framework's values."""
        classes = [each for each in type(adapter).__mro__ if each.__module__ != "builtins" and each is not Adapter]
        declared = tuple(adapter.packages)
        modules = {each.__module__ for each in classes if not within(each.__module__, declared)}
        found = [sys.modules[name] for name in modules if name in sys.modules]
        files = frozenset(file for module in found if (file := getattr(module, "__file__", None)))
        foreign = {*declared} or _foreign(values, modules) or _imported(found, modules)
        own = any(type(value).__module__ in modules for value in values)
        package = type(adapter).__module__.rpartition(".")[0]
        alone = package and not any(within(name, (package,)) or within(package, (name,)) for name in foreign)
        return cls(
            frozenset(modules), files, declared, package if alone else None, bool(declared or (foreign and not own))
        )

    def owner(self, frame: FrameType) -> Owner:
        """Returns the owner of the code that a frame runs."""
        name, code = frame.f_globals.get("__name__"), frame.f_code
        if isinstance(name, str) and within(name, self.declared):
            return Owner.FRAMEWORK
        if _is_generated(code):
            return self._owner_of_text(name)
        if code.co_filename in self.files or name in self.modules:
            return Owner.ADAPTER
        if is_neutral(name) or code.co_filename.startswith("<frozen"):
            return Owner.NEUTRAL
        if is_suites(name):
            return Owner.SUITE
        return (
            Owner.ADAPTER if self.adapter_package and within(name or "", (self.adapter_package,)) else Owner.FRAMEWORK
        )

    def _owner_of_text(self, name: object) -> Owner:
        made = name in (None, "builtins", "program") or name in self.modules or is_suites(name)
        return Owner.GENERATED if made else Owner.NEUTRAL if is_neutral(name) else Owner.FRAMEWORK

    def is_frameworks(self, thing: object) -> bool:
        """Whether a module, class, function or value belongs to the framework."""
        name = module_of(thing)
        if name is None:
            return False
        if within(name, self.declared):
            return True
        own = name in self.modules or bool(self.adapter_package and within(name, (self.adapter_package,)))
        return not (own or is_neutral(name) or is_suites(name))


def module_of(thing: object) -> str | None:
    """Returns the name of the module that defines an object, or that defines the class of a value."""
    if isinstance(thing, ModuleType):
        return thing.__name__
    of_class = isinstance(thing, type) or callable(thing)
    name: Any = getattr(thing, "__module__", None) if of_class else type(thing).__module__
    if isinstance(name, str):
        return name
    # a compiled function may have no module name, but it has a value or a class
    bound = getattr(thing, "__self__", None)
    owner: Any = bound if isinstance(bound, type | ModuleType) else type(bound)
    owner = getattr(thing, "__objclass__", None) if bound is None else owner
    return owner.__name__ if isinstance(owner, ModuleType) else getattr(owner, "__module__", None)


def within(name: str, packages: Collection[str]) -> bool:
    """Whether a module is one of the given packages, or inside one."""
    return any(name == each or name.startswith(f"{each}.") for each in packages)


def is_neutral(name: object) -> bool:
    """Whether a module belongs to Python, NumPy or a test tool."""
    return isinstance(name, str) and name.partition(".")[0] in NEUTRAL


def is_suites(name: object) -> bool:
    """Whether a module belongs to the suite."""
    return isinstance(name, str) and within(name, (SUITE_PACKAGE,))


def place(code: CodeType, line: int) -> str:
    """Returns a line of code as messages name it: ``adapter.py, line 12``."""
    return f"{Path(code.co_filename).name}, line {line}"


def _is_generated(code: CodeType) -> bool:
    return code.co_filename.startswith(GENERATED_FILES)


def _foreign(values: Collection[object], modules: Collection[str]) -> set[str]:
    """Returns the modules of some values' classes, without those of Python, the suite and the adapter."""
    names = {type(value).__module__ for value in values}
    return {name for name in names if not (name in modules or is_neutral(name) or is_suites(name))}


def _imported(found: Collection[ModuleType], modules: Collection[str]) -> set[str]:
    """Returns the modules of other packages that define objects for which the adapter's modules have names."""
    things = (thing for module in found for thing in vars(module).values())
    known = (thing for thing in things if isinstance(thing, ModuleType | type) or callable(thing))
    names = {name for thing in known if (name := module_of(thing)) is not None}
    return {name for name in names if not (name in modules or is_neutral(name) or is_suites(name))}
