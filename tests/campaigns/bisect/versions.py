"""Versions of a framework: the example's source, with a wrong derivative of the sine in some versions."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import parse
from tests.plugin.test_cli import ROOT, TINY

FRAMEWORK = TINY
RIGHT = "np.cos(a.data)"
WRONG, DIES = "np.sin(a.data)", "__import__('os').abort()"
"""A wrong derivative of the sine."""
PROGRAM = {"rule": "gradients/op", **codec.to_json(parse("a = leaf [1, 2]\nb = sin a\nbackward b with [1, 1]"))}


def sources(version: str, sine: str = RIGHT, *, broken: bool = False) -> dict[str, str]:
    """The files of a version by their paths, with a derivative of the sine. A broken version cannot be imported."""
    tiny, adapter = ((ROOT / "examples" / name).read_text() for name in ("tiny.py", "tiny_adapter.py"))
    assert tiny.count(RIGHT) == 1
    assert adapter.count('version = "1.0"') == 1
    tiny = tiny.replace(RIGHT, sine)
    tiny = f"import no_such_module\n{tiny}" if broken else tiny
    adapter = adapter.replace('version = "1.0"', f'version = "{version}"')
    return {"examples/__init__.py": "", "examples/tiny.py": tiny, "examples/tiny_adapter.py": adapter}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def interpreter(folder: Path, files: dict[str, str]) -> Path:
    """An interpreter that finds only one version."""
    write(folder, files)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\ncd "{folder}" && exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return python


def wheel(folder: Path, version: str, files: dict[str, str]) -> Path:
    """A version as a package."""
    name = f"tiny_versions-{version}"
    about = {
        f"{name}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: tiny-versions\nVersion: {version}\n",
        f"{name}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{name}.dist-info/RECORD": "",
    }
    path = folder / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for each, text in (files | about).items():
            archive.writestr(each, text)
    return path


def program(folder: Path) -> Path:
    """The finding, as a replay file."""
    path = folder / "finding.json"
    path.write_text(json.dumps(PROGRAM))
    return path
