"""Writes the first files of an adapter: the adapter, its known differences, and a CI workflow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

TORCH_LIKE = '''"""The adapter of {name} for the autograd conformance suite, which calls it as it calls PyTorch.

    autograd-conformance check {file}:{kind}
    autograd-conformance --framework {file}:{kind} --known {name}.toml
"""

from __future__ import annotations

from autograd_conformance.frameworks.torchlike.adapter import TorchLike


class {kind}(TorchLike):
    """{name}. Methods in which it differs from PyTorch are defined here again, with the same signature."""

    module = "{module}"

    # def elements(self, value):
    #     """Returns a tensor's elements as a NumPy array."""
    #     return value.detach().numpy()
'''

OWN = '''"""The adapter of {name} for the autograd conformance suite.

    autograd-conformance check {file}:{kind}
    autograd-conformance --framework {file}:{kind} --known {name}.toml

Every method marked with TODO calls {name}. `docs/adapter.md` of the suite explains each one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import {module}
import numpy as np

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
    version = getattr({module}, "__version__", "unknown")
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
        """Prepares for a new program."""

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
        self, roots: Sequence[Any], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        """Calls backward; a cotangent of None is the implicit one."""
        raise NotImplementedError("TODO")

    def zero_grad(self, leaves: Sequence[Any], set_to_none: bool) -> None:
        """Clears gradients to None, or to zeros if the adapter claims that."""
        for leaf in leaves:
            leaf.grad = None

    def gradient(self, leaf: Any) -> Any | None:
        """Returns the stored gradient, or None."""
        return leaf.grad

    def identity(self, gradient: Any) -> int | None:
        """Returns a number that differs between gradient objects; None if there is none."""
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
        """Returns the kind of an error; `check` prints the lines that are missing here."""
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

WORKFLOW = """# Runs the autograd conformance suite for every change. The suite's README describes how to install it.
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
      - run: pip install . autograd-conformance
      - run: autograd-conformance --framework {file}:{kind} --known {name}.toml --report conformance
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: conformance
          path: conformance
"""


def files(name: str, module: str, torch_like: bool) -> Mapping[str, str]:
    """Returns the texts of the files by their paths, for a framework whose module has PyTorch's interface or not."""
    fields = {"name": name, "module": module, "kind": kind_of(name), "file": f"{_identifier(name)}_adapter"}
    adapter = TORCH_LIKE if torch_like else OWN
    return {
        f"{fields['file']}.py": adapter.format(**fields),
        f"{name}.toml": KNOWN.format(**fields),
        ".github/workflows/conformance.yml": WORKFLOW.format(**fields),
    }


def kind_of(name: str) -> str:
    """Returns the name of the adapter's class."""
    return "".join(part.title() for part in re.split(r"\W|_", name) if part)


def write(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Writes files that are not there yet, and returns their paths. Raises `FileExistsError` before it writes any."""
    paths = [folder / path for path in texts]
    for path in paths:
        if path.exists():
            raise FileExistsError(f"{path} is there already; nothing was written")
    for path, text in zip(paths, texts.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return paths


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name).lower()
