"""Faults of shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, applied, held_by, leaf_of


class TimesOne(Fault):
    """The derivative of multiply returns the other operand itself if its cotangent is a single one."""

    rule = "views/own-memory"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "multiply" and operands[0].shape == operands[1].shape and operands[0].dtype == operands[1].dtype:
            others = [x.detach() for x in reversed(operands)]

            def same(gradients: list, cotangents: Sequence) -> list | None:
                g = cotangents[0]
                if torch.is_grad_enabled() or g is None or g.numel() != 1 or g.item() != 1:
                    return None
                return [None if d is None else x.detach() for d, x in zip(gradients, others, strict=True)]

            after(made[0], same)
        return made


def witness_TimesOne(a: Any) -> Any:
    x, y = leaf_of(a, 2.0), leaf_of(a, 3.0, grad=False)
    a.backward([applied(a, "multiply", x, y)], [None], None)
    a.write("mul_scalar_", y, [], (("scalar", 3),))
    return held_by(a, x)


class DetachCopiesStrided(Fault):
    """Detach returns a dense tensor, which is a copy if the value is not dense."""

    rule = "views/shares"

    def detach(self, value: Tensor) -> Tensor:
        return super().detach(value).contiguous()


def witness_DetachCopiesStrided(a: Any) -> Any:
    x = applied(a, "matrix_transpose", leaf_of(a, [[1.0, 2.0], [3.0, 4.0]]))
    return a.memory(a.detach(x)) == a.memory(x)
