"""A framework whose public functions are looked through one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from autograd_conformance.frameworks.running.functional import Functional
from autograd_conformance.frameworks.running.templates import Templates
from evaluation.pages.functions.code import callees, lines
from evaluation.pages.functions.function import Function, Notes
from evaluation.pages.functions.trial import CALLS, MATRICES, VECTORS, Differentiate, Outcome, outcome

FOUND = {
    Outcome.NO_FLOATS: "It returns integers or booleans.",
    Outcome.ZERO: "Its derivative is zero, or it uses the dtype or shape of its operand only.",
}
"""The reasons that are found by calling a function."""


@dataclass(frozen=True)
class Library:
    """A framework with modules of functions, and the suite's adapter for it."""

    package: str
    """The first name of its modules; functions that other packages define are left out."""
    modules: Mapping[str, ModuleType]
    """Its modules, by the names that the adapter's code has for them."""
    adapter: type[Functional]
    array: Callable[[Any], Any]
    """Makes an array of numbers."""
    differentiate: Differentiate
    notes: Notes

    def public(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        """Each public function with its name; classes are left out."""
        for prefix, module in self.modules.items():
            for name in sorted(dir(module), key=str.lower):
                found = getattr(module, name)
                home = (getattr(found, "__module__", None) or "").partition(".")[0]
                if callable(found) and not isinstance(found, type) and home == self.package and name[0] != "_":
                    yield f"{prefix}.{name}", found

    def functions(self) -> Sequence[Function]:
        """All public functions; `ValueError` where a note is missing or contradicts what a call shows."""
        scope = Templates.of(self.adapter.dialect).scope
        operands = {name: self.array(numbers) for name, numbers in {**MATRICES, **VECTORS}.items()}
        ops, made, wrong = self.ops(scope), [], []
        for name, function in self.public():
            if found := ops.get(name):
                made.append(Function(name, found))
                continue
            noted = self.notes.reasons.get(name, "")
            calls = (self.notes.calls[name],) if name in self.notes.calls else CALLS
            calls = () if noted in self.notes.not_called else calls
            seen = outcome(function, calls, operands, scope, self.differentiate)
            why = noted or FOUND.get(seen, "")
            if not why or (seen is Outcome.DERIVATIVE) == (why in self.without):
                wrong.append(f"{name} ({seen.name}): {why or 'no reason'}")
            made.append(Function(name, (), why))
        missing = {each.name for each in made if not each.ops}
        wrong += [f"{name} is noted in vain" for name in ({*self.notes.reasons} | {*self.notes.calls}) - missing]
        if wrong:
            raise ValueError("\n".join(wrong))
        return made

    @property
    def without(self) -> frozenset[str]:
        """The reasons of functions that have no derivative."""
        return self.notes.without | {*FOUND.values()}

    def ops(self, scope: Mapping[str, Any]) -> Mapping[str, tuple[str, ...]]:
        """The ops that call each public function, by its name. Objects that have several names are called by all of
        them; a method and an operator are the first function of their name.
        """
        names: dict[int, list[str]] = {}
        methods: dict[str, str] = {}
        for name, function in self.public():
            names.setdefault(id(function), []).append(name)
            methods.setdefault(name.rpartition(".")[2], name)
        found: dict[str, dict[str, None]] = {}
        for op, code in lines(self.adapter.dialect, self.adapter.limits):
            for callee in callees(code, scope):
                own = [methods[callee]] if isinstance(callee, str) and callee in methods else names.get(id(callee), [])
                for name in own:
                    found.setdefault(name, {})[op] = None
        return {name: tuple(ops) for name, ops in found.items()}
