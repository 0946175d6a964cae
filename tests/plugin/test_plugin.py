"""The hooks and fixtures that pytest finds by name."""

from __future__ import annotations

from importlib import import_module
from inspect import isfunction
from pkgutil import iter_modules

from autograd_conformance import plugin
from autograd_conformance.plugin import hooks as found


def test_pytest_finds_every_hook():
    names = [each.name for each in iter_modules(plugin.__path__) if each.name != "hooks"]
    modules = [import_module(f"{plugin.__name__}.{name}") for name in names]
    hooks = {name for module in modules for name in vars(module) if name.startswith("pytest_")}
    assert "pytest_collection_modifyitems" in hooks
    assert {name for name in hooks if not isfunction(getattr(found, name, None))} == set()
