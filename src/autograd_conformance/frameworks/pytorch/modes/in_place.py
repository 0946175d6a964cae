"""PyTorch's forward mode through in-place ops: each op that has a form in place writes to a clone of its operand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from autograd_conformance.frameworks.pytorch.modes.forward import TorchJvp, source
from autograd_conformance.ops.catalogue import APPLIED, WRITES, row_of

FORMS: Mapping[str, str] = {
    "divide": "div_",
    "multiply": "mul_",
    "negative": "neg_",
    "subtract": "sub_",
    "divide_scalar": "div_scalar_",
    "multiply_scalar": "mul_scalar_",
    "subtract_scalar": "sub_scalar_",
}
"""The in-place ops of the ops that have one of another name than usual: `exp_` for `exp`."""

ELEMENTWISE = ("activations", "binary", "elementwise")
"""The families of the ops of which each element depends only on the same element of each operand."""

# The function below is printed in the scripts of failures.


def in_place(write, plain, x, *others, apart=False):  # type: ignore[no-untyped-def]
    """Returns the result of an op, which is written to a clone of the first operand if its shape and dtype allow it.
    `apart` says that no operand may be the target.
    """
    result = plain(x, *others)
    if result.shape != x.shape or result.dtype != x.dtype or (apart and any(other is x for other in others)):
        return result
    y = x.clone()
    write(y, *[y if other is x else other for other in others])
    return y


def _templates() -> Iterator[tuple[str, str]]:
    """Yields the ops that have a form in place, each with the template of its code."""
    for op in sorted(APPLIED):
        write = WRITES.get(FORMS.get(op, f"{op}_"))
        row = row_of(op)
        if write is None or not isinstance(write.template, str) or not isinstance(row.template, str):
            continue
        count = next((k for k in range(9) if f"{{{k}}}" not in write.template), 9)
        names = [f"x{k}" for k in range(count)]
        bodies = [write.template, row.template]
        for k, name in enumerate(names):
            bodies = [body.replace(f"{{{k}}}", name) for body in bodies]
        functions = [f"lambda {', '.join(names)}: {body}" for body in bodies]
        operands = ", ".join(f"{{{k}}}" for k in range(count))
        # what an op reads from a target that it has begun to write is certain only if it goes element by element
        apart = "" if row.family in ELEMENTWISE else ", apart=True"
        yield op, f"in_place({functions[0]}, {functions[1]}, {operands}{apart})"


TEMPLATES: Mapping[str, str] = dict(_templates())
"""The templates of the ops that have a form in place."""


class TorchJvpInPlace(TorchJvp):
    """PyTorch with gradients from `torch.func.jvp`, and with ops in place on clones of their first operands.

    If an elementwise op takes a value twice, it takes the clone twice.
    """

    name = "torch-jvp-in-place"

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        dialect = self.dialect
        assert dialect is not None
        self.dialect = replace(
            dialect, prelude=f"{dialect.prelude}\n\n{source(in_place)}\n", ops={**dialect.ops, **TEMPLATES}
        )
        self.eager.code = self.eager.code.with_templates(TEMPLATES, names={"in_place": in_place})
