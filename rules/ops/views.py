"""Ops whose results may be views: an implementation may let them share memory with their first operand, or copy.

What is written to the operand may therefore show in the result, or not. Where that would matter, nothing is judged.
"""

from __future__ import annotations

VIEWS = frozenset(
    {
        "reshape", "permute_dims", "matrix_transpose", "transpose", "moveaxis", "expand_dims", "squeeze", "flatten",
        "unflatten", "broadcast_to", "unfold", "split", "chunk", "tensor_split", "unstack", "slice", "select", "narrow",
        "diagonal", "swapaxes", "tile", "roll",
    }
)  # fmt: skip
