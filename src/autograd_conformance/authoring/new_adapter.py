"""Writes the first files of an adapter: the adapter, its known differences, and a CI workflow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from autograd_conformance.frameworks.torchlike.findings import Findings, to_toml
from autograd_conformance.package.address import repository

WIDTH = 88
"""Largest length of a line in the adapter."""


@dataclass(frozen=True)
class Probed:
    """A framework that has the interface of another one, as the probe found it."""

    like: str
    """The word before the module's name: ``torch-like`` or ``numpy-like``."""
    findings: Findings
    """The missing features, each with the reason."""
    there: str
    """The features that are there, in words, as ``210 of 257 ops``."""


LIKE = '''"""The adapter of {name} for the autograd conformance suite.

autograd-conformance check {file}:{kind}
autograd-conformance --framework {file}:{kind} --known {name}.toml
"""

from __future__ import annotations

from pathlib import Path

from autograd_conformance.frameworks.{room}.adapter import {base}

# The probe of {name} {version} found {there}.
# It did not find these claims:
{missing}


class {kind}({base}):
    """{name}. Define here again the methods that differ from {model}."""

    module = "{module}"
    # what is missing, as the probe found it; without this line, a run tries everything
    path = str(Path(__file__).with_name("{name}.findings.toml"))
'''

OWN = '''"""The adapter of {name} for the autograd conformance suite.

autograd-conformance check {file}:{kind}
autograd-conformance --framework {file}:{kind} --known {name}.toml

Every method marked with TODO calls {name}. `docs/adapter.md` of the suite explains each one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

{imports}
from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind

OPS = {{
    # the suite's name of an op, and the code that applies it; `docs/ops.md` lists all names and attributes
    "add": "{{0}} + {{1}}",
    "multiply": "{{0}} * {{1}}",
    "negative": "-{{0}}",
    "sum": "{module}.sum({{0}}, dim={{dim}}, keepdim={{keepdim}})",
}}


class {kind}(Adapter):
    """{name}."""

    name = "{name}"
    version = str(getattr({module}, "__version__", "unknown"))
    packages = ("{package}",)
    dtypes = ("float64", "float32")
    ops = frozenset(OPS)
    capabilities = frozenset(
        {{
            # `docs/capabilities.md` lists all; claim what the framework documents
            Capability.IMPERATIVE,
            Capability.ACCUMULATES,
            Capability.COTANGENTS,
            Capability.CONSTANTS,
            Capability.DETACH,
            Capability.ZERO_TO_NONE,
        }}
    )
    dialect = Dialect(
        prelude="import {module}",
        tensor="{module}.tensor({{data}}, dtype={module}.{{dtype}}{{flags}})",
        empty="{module}.zeros({{shape}}, dtype={module}.{{dtype}}{{flags}})",
        differentiable=", requires_grad=True",
        ops=OPS,
        detach="{{source}}.detach()",
        backward="{{root}}.backward({{arguments}})",
        backward_many="",
        retain="",
        clear_to_none="{{leaf}}.grad = None",
        clear_to_zeros="",
        gradient="{{leaf}}.grad",
    )

    def __init__(self, device: str = "cpu") -> None:
        """Opens a device."""

    def reset(self) -> None:
        """Prepares for a new program. Clear here what the framework keeps for the whole process, such as a tape."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Any:
        """Returns a tensor with the array's elements and dtype."""
        raise NotImplementedError("TODO")

    def apply(self, op: str, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
        """Returns all results of an op."""
        raise NotImplementedError("TODO")

    def detach(self, value: Any) -> Any:
        """Returns the same values without history."""
        return value.detach()

    def backward(
        self,
        roots: Sequence[Any],
        cotangents: Sequence[np.ndarray | None],
        retain_graph: bool | None,
    ) -> None:
        """Calls backward; a cotangent of None is the implicit one."""
        raise NotImplementedError("TODO")

    def zero_grad(self, leaves: Sequence[Any], set_to_none: bool) -> None:
        """Clears gradients to None, or to zeros if that is claimed."""
        for leaf in leaves:
            leaf.grad = None

    def gradient(self, leaf: Any) -> Any | None:
        """Returns the stored gradient, or None."""
        return leaf.grad

    def identity(self, gradient: Any) -> int | None:
        """Returns a number that differs between gradient objects, or None."""
        return None

    def read(self, value: Any) -> np.ndarray:
        """Returns a copy of the elements."""
        raise NotImplementedError("TODO")

    def dtype(self, value: Any) -> str:
        """Returns the name of the dtype: float32 or float64."""
        raise NotImplementedError("TODO")

    def requires_grad(self, value: Any) -> bool | None:
        """Whether the tensor requires grad; None if the framework does not expose it."""
        return None

    def classify(self, error: BaseException) -> Kind:
        """Returns the kind of an error; `check` prints the missing lines."""
        return Kind.UNKNOWN
'''

KNOWN = """# Known differences of {name} from the rules. Each entry has a rule, an op or a key that names the case,
# a reason and a witness: the smallest program that shows it. `docs/adapter.md` of the suite lists the keys.
#
# [[known]]
# rule = "gradients/op"
# op = "sin"
# relative = 1e-6
# reason = "sin uses a table."
# witness = "a = leaf [1, 2]; b = sin a; backward b with [1, 1]"
"""

WORKFLOW_PATH = ".github/workflows/conformance.yml"
"""The path of the workflow in the folder."""

WORKFLOW = """# Runs the autograd conformance suite for every change.
name: autograd conformance
on: [push, pull_request]
jobs:
  conformance:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install . "autograd-conformance @ git+{repository}"
      - run: {run} --report conformance
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: conformance
          path: conformance
"""


def files(name: str, module: str, probed: Probed | None) -> Mapping[str, str]:
    """Returns the texts of the files by their paths: of an adapter that calls a framework as it calls another one, if
    the probe found that it can, or of one with all methods to fill in.
    """
    fields = {
        "name": name, "module": module, "package": module.partition(".")[0], "kind": kind_of(name),
        "file": _file(name), "run": run_of(name), "repository": repository(), "imports": _imports(module),
    }  # fmt: skip
    if probed is None:
        adapter, findings = OWN.format(**fields), {}
    else:
        adapter = LIKE.format(**fields, **_of(probed))
        findings = {f"{name}.findings.toml": to_toml(probed.findings, f"{name}.findings.toml", probed.like)}
    return {
        f"{fields['file']}.py": adapter,
        f"{name}.toml": KNOWN.format(**fields),
        **findings,
        WORKFLOW_PATH: WORKFLOW.format(**fields),
    }


BASES = {"torch-like": ("torchlike", "TorchLike", "PyTorch"), "numpy-like": ("numpylike", "NumpyLike", "HIPS autograd")}
"""The folder of the class that an adapter inherits, the class, and the framework that it calls, by the word before a
module's name.
"""


def _of(probed: Probed) -> Mapping[str, str]:
    """Returns the fields of the text of an adapter that come from what the probe found."""
    room, base, model = BASES[probed.like]
    whys: dict[str, list[str]] = {}
    for name, why in probed.findings.capabilities.items():
        whys.setdefault(why, []).append(name)
    lines = (line for why, names in whys.items() for line in _wrapped(f"{', '.join(names)}: {why}"))
    missing = "\n".join(f"#     {line}" for line in lines)
    return {
        "room": room, "base": base, "model": model, "there": probed.there, "version": probed.findings.version,
        "missing": missing or "#     none",
    }  # fmt: skip


def _imports(module: str) -> str:
    """Returns the lines that import the framework and NumPy, in alphabetical order."""
    own = f"import {module}  # type: ignore[import-not-found, import-untyped, unused-ignore]"
    return "\n".join(sorted(["import numpy as np", own]))


def _wrapped(text: str) -> list[str]:
    """Returns the lines of a comment; all but the first are indented."""
    return wrap(text, WIDTH - 6, subsequent_indent="    ")


def run_of(name: str) -> str:
    """Returns the command that runs the suites with the adapter."""
    return f"autograd-conformance --framework {_file(name)}:{kind_of(name)} --known {name}.toml"


def kind_of(name: str) -> str:
    """Returns the name of the adapter's class."""
    return "".join(part.title() for part in re.split(r"\W|_", name) if part)


@dataclass(frozen=True)
class Written:
    """The paths of the files of an adapter."""

    new: tuple[Path, ...]
    """The files that were written, the adapter first."""
    left: tuple[Path, ...]
    """The files that were there already and stay as they are: the workflow, which another adapter may have."""


def write(folder: Path, texts: Mapping[str, str]) -> Written:
    """Writes files that are not there yet. Raises `FileExistsError` before it writes any, if another file than the
    workflow is there already.
    """
    there = [path for path in texts if (folder / path).exists()]
    for path in there:
        if path != WORKFLOW_PATH:
            raise FileExistsError(f"{folder / path} is there already; nothing was written; name another --folder")
    new = [path for path in texts if path not in there]
    for path in new:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(texts[path], encoding="utf-8")
    return Written(tuple(folder / path for path in new), tuple(folder / path for path in there))


def _file(name: str) -> str:
    """Returns the name of the adapter's module."""
    return re.sub(r"\W", "_", name).lower() + "_adapter"
