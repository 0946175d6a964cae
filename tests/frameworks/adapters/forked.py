"""The adapters of `misbehaving` whose workers are forked, by the same names, and one that misbehaves in others."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from autograd_conformance.programs.language import Attrs
from examples.tiny import Tensor
from examples.tiny_adapter import Tiny
from tests.frameworks.adapters import misbehaving

LOADED_IN = os.getpid()


class _Forked:
    def before_forks(self) -> bool:
        """It is a few lines of Python."""
        return True


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return type(name, (_Forked, getattr(misbehaving, name)), {})


class OnceLoaded(_Forked, Tiny):
    """Cannot be used in a worker that has loaded it anew."""

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if "PYTEST_XDIST_WORKER" in os.environ and os.getpid() == LOADED_IN:
            os._exit(1)
        return super().apply(op, operands, attrs)
