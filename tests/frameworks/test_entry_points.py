"""Adapters that installed packages offer: found by name, with what to install, and with their known differences."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograd_conformance.frameworks.loading.entry_points import SERVED, Entry, frameworks, known_file, variable
from autograd_conformance.frameworks.loading.registry import AdapterError, UnknownFramework, load
from autograd_conformance.known_differences.file import known, shipped
from autograd_conformance.package.places import ROOT

KNOWN = """[[known]]
rule = "accumulation/adds"
again = true
any_value = true
reason = "it is strange"
link = "not reported"
since = "2026-11-25"
witness = "a = leaf 1; backward a; backward a"
"""
FILES = {
    "stranger/__init__.py": "",
    "stranger/adapter.py": (
        "from examples.tiny_adapter import Tiny\n\n\nclass Strange(Tiny):\n    name = 'strange'\n\n\n"
        "def absent(device='cpu'):\n    import framework_that_is_absent\n"
    ),
    "stranger-1.0.dist-info/METADATA": (
        "Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\nProvides-Extra: absent\n"
        'Requires-Dist: framework-that-is-absent>=3; extra == "absent"\n'
        'Requires-Dist: beside; extra == "other"\n'
    ),
    "stranger-1.0.dist-info/entry_points.txt": (
        "[autograd_conformance.adapters]\nstrange = stranger.adapter:Strange\n"
        "absent-mode = stranger_absent:make\ntorch = stranger.adapter:Strange\n"
    ),
    "stranger_absent.py": "import framework_that_is_absent\n",
}


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of somebody else, installed in a folder."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    frameworks.cache_clear()
    yield tmp_path
    frameworks.cache_clear()
    for module in ("stranger", "stranger.adapter", "stranger_absent"):
        sys.modules.pop(module, None)


def test_the_suites_own_adapters_are_first_and_say_what_to_install() -> None:
    names = [name for name, entry in frameworks().items() if entry.is_ours]
    assert names[:2] == ["torch", "torch-allow-mutation"]
    assert len(names) == 82
    assert frameworks()["tensorflow-function"].install == "tensorflow-cpu==2.21.0"
    assert frameworks()["torch-compile-inductor"].install == "'torch>=2.13,<2.15'"
    assert frameworks()["mlx"].install == "mlx[cpu]"
    assert frameworks()["pytensor"].install == "pytensor==3.0.7"


def test_an_adapter_of_another_package_is_found_by_its_name(stranger: Path) -> None:
    assert load("strange").name == "strange"
    assert frameworks()["strange"].package == "stranger"


def test_no_package_takes_a_name_of_the_suite(stranger: Path) -> None:
    assert frameworks()["torch"].is_ours


def test_a_framework_that_is_not_installed_is_named_with_what_to_install(stranger: Path) -> None:
    with pytest.raises(AdapterError, match=r"pip install 'framework-that-is-absent>=3'$"):
        load("absent-mode")


def test_a_name_that_nobody_offers_lists_all(stranger: Path) -> None:
    with pytest.raises(UnknownFramework, match=r"There are: .*strange.*torch"):
        load("nobody")


def test_a_checkout_of_an_earlier_install_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("registry", "entry_points"):
        monkeypatch.setattr(f"autograd_conformance.frameworks.loading.{module}.frameworks", dict)
    with pytest.raises(
        UnknownFramework, match=r"type: python -m pip install -e \.$|type: python -m pip install -e \. "
    ):
        load("torch")


def test_known_differences_are_found_beside_the_adapter(stranger: Path) -> None:
    assert known_file("strange") is None
    (stranger / "stranger" / "known").mkdir()
    file = stranger / "stranger" / "known" / "strange.toml"
    file.write_text(KNOWN)
    assert shipped("strange") == file
    assert [entry.reason for entry in known("strange")] == ["it is strange"]


def test_known_differences_of_a_module_with_a_known_interface_have_its_name() -> None:
    path = known_file("torch-like:candle")
    assert path is not None
    assert path.parts[-3:] == ("torchlike", "known", "candle.toml")
    assert known_file("torch-like:candle@found.toml") == path
    assert shipped("torch-like:candle") == path
    assert known_file("torch-like:nosuch") is None
    assert known_file("torch-like:../known/candle") is None


def test_a_package_that_breaks_at_import_has_no_known_differences(stranger: Path) -> None:
    (stranger / "stranger" / "__init__.py").write_text("raise RuntimeError('broken')\n")
    assert known_file("strange") is None


def test_a_worker_without_the_suites_metadata_knows_the_adapter() -> None:
    assert json.loads(variable("mygrad")[SERVED])[0] == "mygrad"
    code = (
        "from autograd_conformance.frameworks.loading import entry_points as e;"
        "e.entry_points, e.requires = lambda group: (), None;"
        "entry = e.frameworks()['mygrad'];"
        "print([entry.name, entry.factory, entry.package, entry.install])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=variable("mygrad"), capture_output=True, text=True, cwd=ROOT, check=True
    )
    entry = frameworks()["mygrad"]
    assert isinstance(entry, Entry)
    assert done.stdout.strip() == repr([entry.name, entry.factory, entry.package, "mygrad==2.5.0"])
