"""Whose code a frame of a traceback runs, and whose a value is: the suite's, the adapter's, the framework's.

The adapter's code is in the files of its classes, and in the modules beside them where its framework is another
package. Whatever is neither the suite's, the adapter's, Python's nor NumPy's is the framework's; an adapter whose
framework stands in the adapter's own files names its modules in the attribute `packages`.
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
"""The packages that adapters and frameworks call alike: an error that comes out of them is their caller's."""
GENERATED_FILES = ("<string>", "<stdin>", "<compute")
"""How the names of files begin that code has which was made from text."""


class Owner(Enum):
    """Whose code it is."""

    SUITE = auto()
    ADAPTER = auto()
    FRAMEWORK = auto()
    GENERATED = auto()
    """Nobody's file: code that the suite, or the adapter, made from a template."""
    NEUTRAL = auto()


@dataclass(frozen=True)
class Ownership:
    """Which modules and files are the adapter's, and which are its framework's."""

    modules: frozenset[str]
    """The modules that the adapter's classes stand in."""
    files: frozenset[str]
    """Their files."""
    declared: tuple[str, ...]
    """The modules, or packages, that the adapter says are its framework."""
    adapter_package: str | None
    """The package whose other modules are the adapter's, too; None where the framework may be among them."""
    is_separate: bool
    """Whether the framework stands in other files than the adapter."""

    @classmethod
    def of(cls, adapter: Adapter, values: Collection[object] = ()) -> Ownership:
        """The territory of an adapter, some of whose framework's values are known."""
        classes = [each for each in type(adapter).__mro__ if each.__module__ != "builtins"]
        declared = tuple(getattr(adapter, "packages", ()))
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
        """Whose code a frame runs."""
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
        """Whether a module, a class, a function or a value is the framework's."""
        name = module_of(thing)
        if name is None:
            return False
        if within(name, self.declared):
            return True
        own = name in self.modules or bool(self.adapter_package and within(name, (self.adapter_package,)))
        return not (own or is_neutral(name) or is_suites(name))


def module_of(thing: object) -> str | None:
    """The name of the module that a thing is from; of a value, of its class."""
    if isinstance(thing, ModuleType):
        return thing.__name__
    of_class = isinstance(thing, type) or callable(thing)
    name: Any = getattr(thing, "__module__", None) if of_class else type(thing).__module__
    if isinstance(name, str):
        return name
    bound = getattr(thing, "__self__", None)  # what is compiled may name no module
    owner = bound if isinstance(bound, type | ModuleType) else type(bound)
    return (owner.__name__ if isinstance(owner, ModuleType) else owner.__module__) if bound is not None else None


def within(name: str, packages: Collection[str]) -> bool:
    """Whether a module is one of some, or in a package of theirs."""
    return any(name == each or name.startswith(f"{each}.") for each in packages)


def is_neutral(name: object) -> bool:
    """Whether a module is Python's, NumPy's, or of a tool for tests."""
    return isinstance(name, str) and name.partition(".")[0] in NEUTRAL


def is_suites(name: object) -> bool:
    """Whether a module is the suite's."""
    return isinstance(name, str) and within(name, (SUITE_PACKAGE,))


def place(code: CodeType, line: int) -> str:
    """A line of code, as a message names it."""
    return f"{Path(code.co_filename).name}, line {line}"


def _is_generated(code: CodeType) -> bool:
    return code.co_filename.startswith(GENERATED_FILES)


def _foreign(values: Collection[object], modules: Collection[str]) -> set[str]:
    """The modules of some values that are neither Python's nor the suite's nor the adapter's."""
    names = {type(value).__module__ for value in values}
    return {name for name in names if not (name in modules or is_neutral(name) or is_suites(name))}


def _imported(found: Collection[ModuleType], modules: Collection[str]) -> set[str]:
    """The modules of other packages that the adapter's modules have names for."""
    things = (thing for module in found for thing in vars(module).values())
    known = (thing for thing in things if isinstance(thing, ModuleType | type) or callable(thing))
    names = {name for thing in known if (name := module_of(thing)) is not None}
    return {name for name in names if not (name in modules or is_neutral(name) or is_suites(name))}
