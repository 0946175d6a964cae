"""The features that a framework lacks, and its other defaults, found by trying: tables with the reasons, which can be
a file.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

Reasons = Mapping[str, str]
"""Missing features by name, each with the reason."""


@dataclass(frozen=True)
class Findings:
    """The features that a framework with a known interface lacks, and its other defaults. All other features of the
    suite's tables count as there.
    """

    name: str
    version: str
    dtypes: Reasons = field(default_factory=dict)
    capabilities: Reasons = field(default_factory=dict)
    ops: Reasons = field(default_factory=dict)
    writes: Reasons = field(default_factory=dict)
    modules: Reasons = field(default_factory=dict)
    optimizers: Reasons = field(default_factory=dict)
    dimensions: Reasons = field(default_factory=dict)
    """Numbers of dimensions that an op does not take, such as ``batch_norm.4``."""
    broadcasts: Reasons = field(default_factory=dict)
    """Ops that take operands of one shape only, and do not broadcast them."""
    defaults: Reasons = field(default_factory=dict)
    """Settings whose defaults differ from PyTorch's, such as ``adamw.weight_decay``. Programs always give them."""
    templates: Mapping[str, str] = field(default_factory=dict)
    """The code that calls an op, where PyTorch's call is unsupported. An attribute that it leaves out has PyTorch's
    default.
    """


ARRAYS = "its gradients are arrays, not tensors"
"""The reason why no program assigns a tensor in the place of a gradient."""

TABLES = tuple(each.name for each in fields(Findings) if each.name not in ("name", "version"))
"""The names of the tables of reasons."""

HEAD = """# The features that {name} {version} lacks, found by trying. All others count as there, and are tested.
# Delete a line to have something tested all the same; add one, with a reason, to leave something out. Then type
#     autograd-conformance --framework={like}:{name}@{file}
# or, where an adapter is a class, set its attribute `path` to this file.
# The last table has the code that calls an op, where PyTorch's call is unsupported.
"""


def to_toml(found: Findings, file: str, like: str = "torch-like") -> str:
    """Returns the text of the file of the findings, whose name is `file`."""
    lines = [HEAD.format(like=like, name=found.name, version=found.version, file=file)]
    lines += [f"name = {json.dumps(found.name)}", f"version = {json.dumps(found.version)}"]
    for table in TABLES:
        lines += ["", f"[{table}]"]
        lines += [
            f"{_key(name)} = {json.dumps(why, ensure_ascii=False)}" for name, why in getattr(found, table).items()
        ]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return json.dumps(name) if "." in name else name


def read(path: Path) -> Findings:
    """Returns the findings in a file. Raises `ValueError`, whose message names the file and the problem."""
    try:
        form = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path}: {error}") from None
    unknown = sorted({*form} - {*TABLES, "name", "version"})
    if unknown:
        raise ValueError(f"{path}: there is no table {unknown[0]!r}; there are {', '.join(TABLES)}")
    for table in TABLES:
        rows = form.setdefault(table, {})
        if not isinstance(rows, dict) or not all(isinstance(why, str) for why in rows.values()):
            raise ValueError(f'{path}: [{table}] has lines of the form NAME = "reason"')
    if not all(isinstance(form.get(key), str) for key in ("name", "version")):
        raise ValueError(f"{path}: name and version are missing")
    return Findings(**form)


def needs_adapter(module: str) -> str:
    """Returns what to do with a framework that has neither PyTorch's interface nor NumPy's."""
    return f"it needs an adapter; to begin one: autograd-conformance new-adapter NAME --module {module}"
