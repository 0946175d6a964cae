"""The differentiable functions of PyTorch: those that PyTorch's own tests differentiate (`torch.testing`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.ops.tables import OPS
from evaluation.pages.functions.function import Function, Notes
from evaluation.pages.ops import code

CALL = re.compile(r"(?:torch\.|F\.|[\w)]\.)((?:linalg\.|special\.|fft\.)?[a-z]\w*)")
"""A call in the code of an op, with the name of the function or method."""

NOTES = Notes.of("pytorch")


def calls() -> Mapping[str, tuple[str, ...]]:
    """The ops that call each function or method, by its name without its package and without a final underscore."""
    found: dict[str, dict[str, None]] = {}
    for row in (*OPS.values(), *WRITES.values(), *RANDOM_OPS.values()):
        for call in CALL.finditer(code(row)):
            found.setdefault(short(call[1]), {})[row.name] = None
    return {name: tuple(ops) for name, ops in found.items()}


def short(name: str) -> str:
    """A function's name without the package `nn.functional`, `linalg` or `special`, and without a final underscore."""
    return re.sub(r"^(nn\.functional|linalg|special)\.", "", name).rstrip("_")


def functions() -> Sequence[Function]:
    """The functions that PyTorch's tests differentiate, in alphabetical order."""
    from torch.testing._internal.common_methods_invocations import op_db

    called = calls()
    aliases = {info.name: [alias.name for alias in info.aliases] for info in op_db if info.supports_autograd}
    made = []
    for name in sorted(aliases, key=str.lower):
        ops = next((called[s] for s in map(short, [name, *aliases[name]]) if s in called), ())
        plain = name.removeprefix("nn.functional.")
        made.append(Function(plain, ops, "" if ops else NOTES.reasons[plain]))
    return made
