"""Moved modules can be imported by their old names, for one release."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from autograd_conformance.package.moved import MOVED, current


def test_each_new_name_is_a_module() -> None:
    for old in (each for each in MOVED if ".pytorch" not in each):
        new = current(f"autograd_conformance.{old}")
        assert new is not None, old
        assert importlib.util.find_spec(new) is not None, old


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("frameworks.base", "frameworks.adapter"),
        ("frameworks.registry", "frameworks.loading.registry"),
        ("frameworks.templates", "frameworks.running.templates"),
        ("reports.records", "reporting.records.records"),
        ("reports.render.text", "reporting.render.text"),
        ("frameworks.mygrad.dialect", "adapters.mygrad.dialect"),
        ("rules.tape.model", "tape.model"),
        ("places", "package.places"),
        ("strategies.building.draft", "strategies.building.drafts.draft"),
    ],
)
def test_an_old_name_is_the_same_module_and_warns(old: str, new: str) -> None:
    module = importlib.import_module(f"autograd_conformance.{new}")
    sys.modules.pop(f"autograd_conformance.{old}", None)
    with pytest.warns(FutureWarning, match=f"autograd_conformance.{old} is autograd_conformance.{new} now"):
        assert importlib.import_module(f"autograd_conformance.{old}") is module
    assert module.__spec__ is not None
    assert module.__spec__.name == f"autograd_conformance.{new}"


def test_a_module_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("autograd_conformance.harness.nothing")


def test_the_old_command_of_reports_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "autograd_conformance.reports", "--help"]
    seen = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert seen.returncode == 0, seen.stderr
    assert "autograd_conformance.reporting" in seen.stderr
