"""Attention and the encoder layer around it, from Vaswani et al. (2017)."""

from __future__ import annotations

from typing import Any

from autograd_conformance.ops.modules.module import Call, Given, Named, Settings, Size, Sizes, made, module, unless
from autograd_conformance.programs.language import Attrs, Shape
from autograd_conformance.programs.own_numpy import np


def _heads(j, x, heads):
    """Reshapes an array (batch, time, width) to (batch, head, time, part), where each head gets a part of the width."""
    return j.np.swapaxes(j.np.reshape(x, (*x.shape[:2], heads, -1)), 1, 2)


def _hidden(queries: int, keys: int, mask: Any, padding: Any) -> np.ndarray | None:
    """A mask of the keys that are hidden from each query, for every sample or for all; True hides."""
    hidden = None
    if mask is not None:
        rows = np.triu(np.ones((queries, keys), bool), 1) if mask == "causal" else np.array(mask)
        hidden = rows[None, None]
    if padding is not None:
        ends = np.array(padding)[:, None, None, :]
        hidden = ends if hidden is None else hidden | ends
    return hidden


def _attend(j, x, memory, weights, heads, mask, padding):
    """Multi-head attention of `x` to `memory` (batch, time, width): the output, and the attention weights' mean over
    heads.

    `weights` are the stacked weights of the query, key and value projections, their biases, the weights of the output
    projection, and its bias; a bias may be None.
    """
    w_in, b_in, w_out, b_out = weights
    biases = (0.0,) * 3 if b_in is None else j.np.split(b_in, 3)
    q, k, v = (
        _heads(j, j.np.matmul(given, w.T) + b, heads)
        for given, w, b in zip((x, memory, memory), j.np.split(w_in, 3), biases, strict=True)
    )
    scores = j.np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(q.shape[-1])
    hidden = _hidden(x.shape[1], memory.shape[1], mask, padding)
    if hidden is not None:
        scores = j.np.where(j.np.asarray(hidden), -np.inf, scores)
    likely = j.np.exp(scores - j.lax.stop_gradient(j.np.max(scores, axis=-1, keepdims=True)))
    likely = likely / j.np.sum(likely, axis=-1, keepdims=True)
    attended = j.np.swapaxes(j.np.einsum("bhqk,bhkd->bhqd", likely, v), 1, 2)
    out = j.np.matmul(j.np.reshape(attended, x.shape), w_out.T)
    return out if b_out is None else out + b_out, j.np.mean(likely, axis=1)


def _attention(j, x, *operands, heads, bias, batch_first, memory, mask, padding, need_weights):
    given, operands = (operands[0], operands[1:]) if memory else (x, operands)
    weights = operands if bias else (operands[0], None, operands[1], None)
    if not batch_first:
        x, given = j.np.swapaxes(x, 0, 1), j.np.swapaxes(given, 0, 1)
    out, likely = _attend(j, x, given, weights, heads, mask, padding)
    out = out if batch_first else j.np.swapaxes(out, 0, 1)
    return (out, likely) if need_weights else out


def _attention_parameters(settings: Settings, sizes: Sizes) -> Named:
    width = sizes["width"]
    named = (
        ("in_proj_weight", (3 * width, width)),
        ("in_proj_bias", (3 * width,)),
        ("out_proj.weight", (width, width)),
        ("out_proj.bias", (width,)),
    )
    return named if settings["bias"] else named[::2]


def _memory(settings: Settings, sizes: Sizes, first: Shape) -> Named:
    """Returns the name and shape of the memory operand, with `keys` positions, to which the input attends; empty if the
    input attends to itself.
    """
    shape = (first[0], sizes["keys"], first[2]) if settings["batch_first"] else (sizes["keys"], *first[1:])
    return (("memory", shape),) if settings["memory"] else ()


def _masks(given: Given, settings: Settings, mask: str, padding: str, keys: str) -> dict[str, str]:
    """Returns the keyword arguments for masks, as code by name; a causal mask has one row per query and one column per
    key.
    """
    x, along, found = given["x"], 1 if settings["batch_first"] else 0, {}
    if settings["mask"] == "causal":
        rows = f"{x}.shape[{along}], {keys}.shape[{along}]"
        found[mask] = f"torch.ones({rows}, dtype=torch.bool, device={x}.device).triu(1)"
    elif settings["mask"] is not None:
        found[mask] = f"torch.tensor({settings['mask']}, device={x}.device)"
    if settings["padding"] is not None:
        found[padding] = f"torch.tensor({settings['padding']}, device={x}.device)"
    return found


def _attention_call(given: Given, settings: Settings) -> Call:
    x, keys = given["x"], given.get("memory", given["x"])
    layer = made(
        "MultiheadAttention", Size("x", -1), settings["heads"], bias=unless(True, settings["bias"]),
        batch_first=unless(False, settings["batch_first"]),
    )  # fmt: skip
    masks = _masks(given, settings, "attn_mask", "key_padding_mask", keys)
    if settings["need_weights"]:
        return Call(layer, (x, keys, keys), masks)
    return Call(layer, (x, keys, keys), {**masks, "need_weights": "False"}, "{call}[0]")


# -- the encoder layer: attention, then two linear maps, each added to what it was given


ENCODER = (
    "self_attn.in_proj_weight", "self_attn.in_proj_bias", "self_attn.out_proj.weight", "self_attn.out_proj.bias",
    "linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias",
    "norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias",
)  # fmt: skip


def _normalised(j, x, weight, bias):
    centred = x - j.np.mean(x, axis=-1, keepdims=True)
    return centred / j.np.sqrt(j.np.mean(centred * centred, axis=-1, keepdims=True) + 1e-5) * weight + bias


def _encoder(j, x, *operands, heads, batch_first, norm_first, mask, padding):
    attention, (w1, b1, w2, b2), (s1, t1, s2, t2) = operands[:4], operands[4:8], operands[8:]
    x = x if batch_first else j.np.swapaxes(x, 0, 1)

    def attended(y):
        return _attend(j, y, y, attention, heads, mask, padding)[0]

    def fed(y):
        inner = j.np.matmul(y, w1.T) + b1
        inner = inner * 0.5 * (1 + j.lax.erf(inner / np.sqrt(2.0)))
        return j.np.matmul(inner, w2.T) + b2

    if norm_first:
        x = x + attended(_normalised(j, x, s1, t1))
        x = x + fed(_normalised(j, x, s2, t2))
    else:
        x = _normalised(j, x + attended(x), s1, t1)
        x = _normalised(j, x + fed(x), s2, t2)
    return x if batch_first else j.np.swapaxes(x, 0, 1)


def _encoder_parameters(settings: Settings, sizes: Sizes) -> Named:
    e, f = sizes["width"], sizes["feedforward"]
    shapes = ((3 * e, e), (3 * e,), (e, e), (e,), (f, e), (f,), (e, f), (e,), (e,), (e,), (e,), (e,))
    return tuple(zip(ENCODER, shapes, strict=True))


def _encoder_call(given: Given, settings: Settings) -> Call:
    x = given["x"]
    layer = made(
        "TransformerEncoderLayer", Size("x", -1), settings["heads"], Size("linear1.weight", 0),
        dropout="0.0", activation='"gelu"', batch_first=unless(False, settings["batch_first"]),
        norm_first=unless(False, settings["norm_first"]),
    )  # fmt: skip
    return Call(layer, (x,), _masks(given, settings, "src_mask", "src_key_padding_mask", x))


UNMASKED: Attrs = (("mask", None), ("padding", None))
MASKED: tuple[Attrs, ...] = ((("mask", "causal"),), (("mask", ((True,),)), ("padding", ((True,),))))

ATTENTION = (
    module(
        "nn_attention",
        _attention_call,
        _attention,
        _attention_parameters,
        ("width", "keys"),
        (("heads", 1), ("bias", True), ("batch_first", True), ("memory", True), *UNMASKED, ("need_weights", True)),
        _memory,
        lambda settings: 2 if settings["need_weights"] else 1,
        MASKED,
        unsaved=(4, 5),  # the bias that is added last; its position depends on `memory`
    ),
    module(
        "nn_transformer",
        _encoder_call,
        _encoder,
        _encoder_parameters,
        ("width", "feedforward"),
        (("heads", 1), ("batch_first", True), ("norm_first", False), *UNMASKED),
        others=MASKED,
        unsaved=(8, 12),  # the bias that is added last, which depends on `norm_first`
        also_saves=(11, 12),  # a normalisation saves all its operands together
    ),
)
