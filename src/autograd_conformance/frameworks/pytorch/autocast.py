"""The dtypes in which PyTorch's ops compute under autocast on the CPU.

Source: https://docs.pytorch.org/docs/stable/amp.html#cpu-op-specific-behavior, whose lists name functions of ATen. An
op that no list names computes in the dtypes of its operands, unless it calls a listed function, as `einsum` does: only
ops that call none are in this table.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch

from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.dtypes import OF_OPERANDS

LOWERED = (
    "matmul", "mm", "bmm", "vecdot", "linear", "linear_bias", "addmm", "baddbmm", "conv1d", "conv1d_bias", "conv2d",
    "conv2d_bias", "conv2d_uneven", "conv_transpose1d", "conv_transpose2d", "conv3d", "prelu",
    "scaled_dot_product_attention",
)  # fmt: skip
"""The ops that compute in bfloat16."""

RAISED = (
    "prod", "prod_dim", "quantile", "trace", "mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "kl_div",
    "kl_div_log", "cross_entropy", "cross_entropy_soft", "nll_loss", "binary_cross_entropy", "bce_with_logits",
    "poisson_nll_loss", "soft_margin_loss", "margin_ranking_loss", "hinge_embedding_loss", "multi_margin_loss",
    "multilabel_margin_loss", "triplet_margin_loss", "cosine_embedding_loss", "cdist", "avg_pool3d", "max_pool3d",
    "inv", "cholesky", "solve", "svdvals",
)  # fmt: skip
"""The ops that compute in float32."""

PLAIN_FAMILIES = (
    "elementwise", "binary", "activations", "reductions", "cumulative", "manipulation", "joining", "splitting",
)  # fmt: skip
"""The families of ops that call no listed function."""

CALLS_LISTED = ("cov", "pad_border", "vander")
"""The ops of these families that do."""

PLAIN = ("softmax", "log_softmax", "softmin", "tril", "triu", "diagonal", "layer_norm", "dot", "mv", "outer")
"""Further ops that call no listed function."""

AUTOCAST = {
    **{op: OF_OPERANDS for op, row in OPS.items() if row.family in PLAIN_FAMILIES and op not in CALLS_LISTED},
    **dict.fromkeys(PLAIN, OF_OPERANDS),
    **dict.fromkeys(RAISED, "float32"),
    **dict.fromkeys(LOWERED, "bfloat16"),
}
"""The dtype in which each op computes, by name."""

CODE = {
    "autocast": 'torch.autocast("cpu", torch.bfloat16)',
    "autocast_uncached": 'torch.autocast("cpu", torch.bfloat16, cache_enabled=False)',
    "autocast_off": 'torch.autocast("cpu", enabled=False)',
}
"""The code of the context manager of each cast mode."""


def context(mode: str) -> AbstractContextManager[Any]:
    """Returns the context manager of a cast mode."""
    if mode == "autocast_off":
        return torch.autocast("cpu", enabled=False)
    return torch.autocast("cpu", torch.bfloat16, cache_enabled=mode == "autocast")
