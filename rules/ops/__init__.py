"""The op catalogue: one table, by name, of every differentiable op that programs may use."""

from __future__ import annotations

from rules.ops.elementwise import ELEMENTWISE
from rules.ops.op import Op, Saves

OPS: dict[str, Op] = {**ELEMENTWISE}

__all__ = ["OPS", "Op", "Saves"]
