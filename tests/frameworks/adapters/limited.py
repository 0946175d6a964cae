"""PyTorch with fewer in-place ops and with limits on some ops; anything beyond the limits raises."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.ops.limits import Limit
from autograd_conformance.programs.language import Attrs, Program


class Beyond(Exception):
    """The program uses something that the adapter declares unsupported."""


class Limited(Torch):
    """PyTorch, with limits."""

    name = "limited"
    writes: ClassVar[Collection[str]] = ("zero_", "copy_", "mul_", "add_scalar_", "set_slice_")
    limits: ClassVar[Mapping[str, Limit]] = {
        "add": Limit(broadcasts=False),
        "multiply": Limit(broadcasts=False),
        "sum": Limit({"keepdim": (False,)}, dimensions=(0, 1, 2)),
        "matmul": Limit(dimensions=(2,)),
        "conv1d": Limit({"stride": (1,)}),
        "tanh": Limit(empty=False),
        "mse_loss": Limit({"reduction": ("mean",)}),
        "set_slice_": Limit({"step": (1,)}, dimensions=(1,)),
    }

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.program: Program | None = None

    def reset(self) -> None:
        """Forget the last program."""
        super().reset()
        self.program = None

    def prepare(self, program: Program) -> None:
        """Store the next program."""
        self.program = program

    def backward(self, *arguments: Any, **options: Any) -> None:
        """The backward call; raises without a program."""
        if self.program is None:
            raise Beyond("nothing was foreseen")
        super().backward(*arguments, **options)

    def apply(self, op: str, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
        """The op, if it is within its limit."""
        self._keep_within(op, operands, attrs)
        return super().apply(op, operands, attrs)

    def write(self, op: str, target: Any, operands: Sequence[Any], attrs: Attrs) -> None:
        """The in-place op, if it is supported."""
        if op not in self.writes:
            raise Beyond(op)
        self._keep_within(op, (target, *operands), attrs)
        super().write(op, target, operands, attrs)

    def _keep_within(self, op: str, operands: Sequence[Any], attrs: Attrs) -> None:
        beyond = self.limits[op].outside([tuple(x.shape) for x in operands], attrs) if op in self.limits else None
        if beyond is not None:
            raise Beyond(f"{op} with {beyond}")
