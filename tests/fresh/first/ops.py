"""Faults about ops and values: 42 versions of PyTorch that are wrong in one way each."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from tests.fresh.fault import Fault
from torch.autograd import Function

Tensor = torch.Tensor


# ---------------------------------------------------------------- tools

def _after(out: Tensor, fn: Callable[[list, Sequence], list]) -> None:
    """What the op's node gives its operands is changed by fn(gradients, cotangents)."""
    if out.grad_fn is not None:
        out.grad_fn.register_hook(lambda gi, go: tuple(fn(list(gi), go)))


def _before(out: Tensor, fn: Callable[[Tensor], Tensor]) -> None:
    """The cotangent that the op's node sees is changed by fn."""
    if out.grad_fn is not None:
        out.grad_fn.register_prehook(lambda go: tuple(g if g is None else fn(g) for g in go))


def _alias(value: Tensor, fn: Callable[[Tensor], Tensor]) -> Tensor:
    """The operand in the same memory; what this use of it contributes is changed by fn."""
    made = value.view_as(value)
    if made.requires_grad:
        made.register_hook(fn)
    return made


def _dims(dim: Any, count: int) -> tuple[int, ...]:
    if dim is None or dim == ():
        return tuple(range(count))
    return tuple(d % count if count else 0 for d in (dim if isinstance(dim, tuple) else (dim,)))


def _one(number: Any) -> int:
    return number[0] if isinstance(number, tuple) else number


# ---------------------------------------------------------------- elementwise ops and activations

class ErfinvSinglePrecision(Fault):
    """The derivative of erfinv in float64 multiplies with a constant that was written down in float32."""
    rule, family = "gradients/op", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "erfinv" and out[0].dtype == torch.float64:
            wrong = float(np.float32(math.sqrt(math.pi) / 2)) / (math.sqrt(math.pi) / 2)
            _after(out[0], lambda gi, go: [g if g is None else g * wrong for g in gi])
        return out


class MultiplyInnerBroadcast(Fault):
    """The gradient of a factor that was broadcast along a new leading dimension as well as along one of size one is summed
    over the leading one only, and takes the first slice of the other."""
    rule, family = "gradients/op", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "multiply" and operands[0] is not operands[1]:
            for k in (0, 1):
                self._wrong(out[0], k, operands[k], operands[1 - k])
        return out

    def _wrong(self, out, k, mine, other):
        lead = out.dim() - mine.dim()
        inner = [d for d, n in enumerate(mine.shape) if n == 1 and out.shape[lead + d] > 1]
        if not mine.requires_grad or lead == 0 or not inner or out.numel() == 0:
            return

        def summed(gi, go):
            if gi[k] is not None:
                whole = (go[0] * other).sum(tuple(range(lead)))
                for d in inner:
                    whole = whole.narrow(d, 0, 1)
                gi[k] = whole.to(gi[k].dtype)
            return gi
        _after(out, summed)


class LogaddexpOverflow(Fault):
    """The derivative of logaddexp is computed as exp(a) / (exp(a) + exp(b)) without subtracting the maximum: no number where
    exp overflows."""
    rule, family = "gradients/op", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "logaddexp":
            with torch.no_grad():
                over = torch.exp(torch.maximum(*operands)).isinf()
                nan = torch.zeros_like(out[0].detach()).masked_fill(over, torch.nan)
            shapes = [x.shape for x in operands]
            if bool(over.any()):
                _after(out[0], lambda gi, go: [
                    g if g is None else g + nan.sum_to_size(s).to(g.dtype) for g, s in zip(gi, shapes)])
        return out


class _Tanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return _TanhGrad.apply(g, y)


class _TanhGrad(Function):
    @staticmethod
    def forward(ctx, g, y):
        ctx.save_for_backward(g, y)
        return g * (1 - y * y)

    @staticmethod
    def backward(ctx, h):
        g, y = ctx.saved_tensors
        return h * (1 - y * y), -2 * y.detach() * g * h


class TanhThird(Fault):
    """The second derivative of tanh takes the saved result for a constant, so that the third derivative lacks a term."""
    rule, family = "higher/op-third", "higher"

    def apply(self, op, operands, attrs):
        if op == "tanh":
            return (_Tanh.apply(operands[0]),)
        return super().apply(op, operands, attrs)


class _Gelu(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x, approximate="tanh")

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return _GeluGrad.apply(g, x)


class _GeluGrad(Function):
    @staticmethod
    def forward(ctx, g, x):
        ctx.save_for_backward(g, x)
        return torch.ops.aten.gelu_backward(g, x, approximate="tanh")

    @staticmethod
    def backward(ctx, h):
        g, x = ctx.saved_tensors
        density = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return torch.ops.aten.gelu_backward(h, x, approximate="tanh"), g * h * density * (2 - x * x)


class GeluTanhSecond(Fault):
    """The second derivative of gelu ignores approximate='tanh': it is that of the exact gelu."""
    rule, family = "higher/op", "higher"

    def apply(self, op, operands, attrs):
        if op == "gelu_tanh":
            return (_Gelu.apply(operands[0]),)
        return super().apply(op, operands, attrs)


class SigmoidExpandedCotangent(Fault):
    """The backward kernel of sigmoid reads a cotangent that is expanded along some of its dimensions as if it were dense: it
    takes its elements in the order of memory."""
    rule, family = "gradients/graph", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "sigmoid":
            _before(out[0], self._dense)
        return out

    @staticmethod
    def _dense(go):
        expanded = [n > 1 and s == 0 for n, s in zip(go.shape, go.stride())]
        real = [n > 1 and s != 0 for n, s in zip(go.shape, go.stride())]
        if not (any(expanded) and any(real)):
            return go
        memory = go
        for d, yes in enumerate(expanded):
            if yes:
                memory = memory.narrow(d, 0, 1)
        memory = memory.reshape(-1)
        return memory[torch.arange(go.numel(), device=go.device) % memory.numel()].reshape(go.shape)


class EluInPlaceOverwritten(Fault):
    """elu in place computes its derivative as alpha * exp(x) from the memory in which the result stands by then."""
    rule, family = "writes/recorded", "writes"

    def write(self, op, target, operands, attrs):
        before = target.grad_fn
        super().write(op, target, operands, attrs)
        if op == "elu_" and not target._is_view() and target.grad_fn is not before:
            alpha, y = dict(attrs)["alpha"], target.detach()
            _after(target, lambda gi, go: [
                g if g is None else torch.where(y < 0, go[0] * alpha * torch.exp(y), g) for g in gi])


# ---------------------------------------------------------------- reductions, cumulative ops

class ProdDimZeros(Fault):
    """The derivative of prod along a dimension counts zeros in the whole tensor: as soon as there are two, those of slices
    with one zero each are taken to be zero."""
    rule, family = "gradients/op", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "prod_dim" and operands[0].dim():
            zero = operands[0].detach() == 0
            if int(zero.sum()) > 1:
                some = zero.any(dim=dict(attrs)["dim"], keepdim=True).expand(zero.shape)
                _after(out[0], lambda gi, go: [g if g is None else g.masked_fill(some, 0.0) for g in gi])
        return out


class StdMeanBothResults(Fault):
    """Where one call reaches both results of std_mean, the cotangent of the mean is dropped."""
    rule, family = "gradients/several-results", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "std_mean":
            given, shape = dict(attrs), operands[0].shape
            dims = _dims(given["dim"], len(shape))
            kept = [1 if d in dims else n for d, n in enumerate(shape)]
            count = math.prod(shape[d] for d in dims) if shape else 1

            def dropped(gi, go):
                if gi[0] is not None and go[0] is not None and go[1] is not None:
                    gi[0] = gi[0] - (go[1].reshape(kept) / count).expand(shape)
                return gi
            _after(out[0], dropped)
        return out


class MeanForgetsUnsqueeze(Fault):
    """The derivative of mean along the last dimension without keepdim does not insert that dimension again, which goes
    unnoticed for a square matrix: the gradient is spread along the wrong one."""
    rule, family = "gradients/op", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "mean":
            given, shape = dict(attrs), operands[0].shape
            square = len(shape) == 2 and shape[0] == shape[1] > 1
            if square and not given["keepdim"] and _dims(given["dim"], 2) == (1,):
                _after(out[0], lambda gi, go: [g if g is None else g.mT for g in gi])
        return out


class SortLong(Fault):
    """Along a dimension of more than 16 elements the derivative of sort applies the permutation where it needs the inverse."""
    rule, family = "gradients/op", "gradients"

    def apply(self, op, operands, attrs):
        given = dict(attrs)
        if op != "sort" or operands[0].dim() == 0 or operands[0].shape[given["dim"]] <= 16:
            return super().apply(op, operands, attrs)
        with torch.no_grad():
            order = torch.sort(operands[0], dim=given["dim"], descending=given["descending"]).indices
        out = super().apply(op, operands, attrs)
        _after(out[0], lambda gi, go: [g if g is None else go[0].gather(given["dim"], order) for g in gi])
        return out


class CumsumBlocks(Fault):
    """The derivative of cumsum sums backwards in blocks of 16 elements and carries nothing from one block to the next."""
    rule, family = "gradients/op", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        dim = dict(attrs).get("dim")
        if op == "cumulative_sum" and operands[0].dim() and operands[0].shape[dim] > 16:
            _after(out[0], lambda gi, go: [g if g is None else torch.cat(
                [b.flip(dim).cumsum(dim).flip(dim) for b in go[0].split(16, dim)], dim).to(g.dtype) for g in gi])
        return out


# ---------------------------------------------------------------- manipulation, joining, splitting, indexing

class ReshapeTransposed(Fault):
    """A reshape that has to copy a permuted operand gives the gradient back in the order of the operand's memory."""
    rule, family = "gradients/graph", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "reshape":
            x, made = operands[0], out[0]
            copied = x.numel() > 1 and made.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
            if copied and not x.is_contiguous() and all(s for s, n in zip(x.stride(), x.shape) if n > 1):
                strides, shape = x.stride(), x.shape
                perm = sorted(range(len(shape)), key=lambda d: -strides[d])
                inverse = [perm.index(d) for d in range(len(shape))]
                _before(made, lambda go: go.reshape([shape[p] for p in perm]).permute(inverse).reshape(go.shape))
        return out


class BroadcastToEmpty(Fault):
    """The sum over no elements, which is the gradient of what was broadcast to an empty tensor, is never written: it is NaN."""
    rule, family = "gradients/op", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "broadcast_to" and out[0].numel() == 0 and operands[0].numel():
            _after(out[0], lambda gi, go: [g if g is None else g + torch.nan for g in gi])
        return out


class UnfoldOverlap(Fault):
    """The derivative of unfold writes each window's cotangent where it belongs instead of adding it: of windows that overlap
    the last one counts."""
    rule, family = "gradients/op", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        given, x = dict(attrs), operands[0]
        if op == "unfold" and x.dim():
            dim, size, step = given["dimension"] % x.dim(), given["size"], given["step"]
            length, windows = x.shape[dim], out[0].shape[dim]
            if step >= size or windows < 2:
                return out

            def last(gi, go):
                if gi[0] is None:
                    return gi
                slices = []
                for p in range(length):
                    w = min(p // step, windows - 1)
                    inside = p - w * step < size
                    slices.append(go[0].select(-1, p - w * step).select(dim, w) if inside else gi[0].select(dim, p))
                gi[0] = torch.stack(slices, dim)
                return gi
            _after(out[0], last)
        return out


class JoinSameTensor(Fault):
    """cat and stack keep the gradients of their operands in a table by operand: one that stands in two places gets that of
    the last place alone."""
    rule, family = "gradients/same-argument", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op in ("concat", "concat_three", "stack", "stack_three"):
            ids = [id(x) for x in operands]
            again = [ids[k] in ids[k + 1:] for k in range(len(ids))]
            if any(again):
                _after(out[0], lambda gi, go: [
                    torch.zeros_like(g) if g is not None and a else g for g, a in zip(gi, again)])
        return out


class SplitFirstUnused(Fault):
    """The derivative of split joins the cotangents of the pieces that were used and fills up with zeros behind them, also
    where a piece before them was not used."""
    rule, family = "gradients/several-results", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "split" and len(out) > 1:
            dim = dict(attrs)["dim"]
            shapes = [piece.shape for piece in out]

            def joined(gi, go):
                used = [g is not None for g in go]
                if gi[0] is None or used == sorted(used, reverse=True):
                    return gi
                there = [g for g in go if g is not None]
                gone = [gi[0].new_zeros(s) for g, s in zip(go, shapes) if g is None]
                gi[0] = torch.cat(there + gone, dim)
                return gi
            _after(out[0], joined)
        return out


class IndexNegative(Fault):
    """The derivative of indexing with a tensor passes over negative indices, which the forward pass counts from the end."""
    rule, family = "gradients/op", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "index":
            index = torch.tensor(dict(attrs)["index"], device=self.device)
            if index.numel() and bool((index < 0).any()):
                rows = (index < 0).reshape(index.shape + (1,) * (out[0].dim() - index.dim()))
                _before(out[0], lambda go: go.masked_fill(rows, 0.0))
        return out


class DiagonalNegativeOffset(Fault):
    """The derivative of diagonal takes the offset without its sign: a cotangent of a lower diagonal of a square matrix goes
    to the upper one."""
    rule, family = "gradients/op", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "diagonal" and dict(attrs)["offset"] < 0 and operands[0].shape[-1] == operands[0].shape[-2]:
            _after(out[0], lambda gi, go: [g if g is None else g.mT for g in gi])
        return out


class MaskCachedByShape(Fault):
    """masked_fill keeps its masks for backward in a cache by shape: a later call with another mask of the same shape puts its
    own in the place of the first."""
    rule, family = "gradients/graph", "gradients"

    def reset(self):
        super().reset()
        self.masks = {}

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "masked_fill":
            mask, masks = torch.tensor(dict(attrs)["mask"], dtype=torch.bool, device=self.device), self.masks
            key = tuple(mask.shape)
            masks[key] = mask
            if mask.dim() <= out[0].dim() and operands[0].shape == out[0].shape:
                _after(out[0], lambda gi, go: [g if g is None else go[0].masked_fill(masks[key], 0.0) for g in gi])
        return out


# ---------------------------------------------------------------- products, linear algebra

class MmRemainder(Fault):
    """The gradient of the second matrix of a product sums over the rows in tiles of 16 and leaves out the rows of the last,
    incomplete tile."""
    rule, family = "gradients/op", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op in ("mm", "matmul") and operands[0].dim() == operands[1].dim() == 2:
            first, rows = operands[0], operands[0].shape[0]
            whole = rows - rows % 16
            if rows > 16 and whole < rows and operands[1].requires_grad:
                _after(out[0], lambda gi, go: [gi[0], gi[1] if gi[1] is None else first[:whole].mT @ go[0][:whole]])
        return out


class SolveTriangularUnmasked(Fault):
    """The gradient of the matrix of solve_triangular is not restricted to the triangle that the op reads."""
    rule, family = "gradients/op", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "solve_triangular":
            (a, b), upper, x = operands, dict(attrs)["upper"], out[0].detach()
            b = b.clone()  # as it is now, with its history

            def full(gi, go):
                if gi[0] is not None:
                    solved = torch.linalg.solve_triangular(a, b, upper=upper) if torch.is_grad_enabled() else x
                    rhs = torch.linalg.solve_triangular(a.mT, go[0], upper=not upper)
                    gi[0] = -(rhs @ solved.mT).sum_to_size(gi[0].shape)
                return gi
            _after(out[0], full)
        return out


# ---------------------------------------------------------------- losses, normalisation, convolution, pooling

class CrossEntropySoftTarget(Fault):
    """cross_entropy takes soft targets for constants: they get a gradient of zeros."""
    rule, family = "gradients/op", "gradients"

    def apply(self, op, operands, attrs):
        if op == "cross_entropy_soft":
            operands = (operands[0], _alias(operands[1], torch.zeros_like))
        return super().apply(op, operands, attrs)


class LayerNormSeveralDims(Fault):
    """Where layer_norm normalises over several dimensions, its derivative takes the two means over the last one alone."""
    rule, family = "gradients/op", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        given = dict(attrs)
        if op == "layer_norm" and len(given["normalized_shape"]) > 1:
            x, dims = operands[0], tuple(range(-len(given["normalized_shape"]), 0))

            def partly(gi, go):
                if gi[0] is not None:
                    var, mean = torch.var_mean(x, dim=dims, keepdim=True, correction=0)
                    scale = torch.rsqrt(var + given["eps"])
                    hat, g = (x - mean) * scale, go[0]
                    gi[0] = scale * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))
                return gi
            _after(out[0], partly)
        return out


class ConvBorderWeight(Fault):
    """The gradient of the weight of conv1d leaves out the positions whose window reaches into the padding."""
    rule, family = "gradients/op", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        given = dict(attrs)
        if op == "conv1d" and not isinstance(given["padding"], str) and _one(given["padding"]) > 0 and operands[1].requires_grad and operands[0].dim() == 3:
            stride, pad, dil = (_one(given[n]) for n in ("stride", "padding", "dilation"))
            x, w = operands
            start = torch.arange(out[0].shape[-1], device=self.device) * stride - pad
            inside = (start >= 0) & (start + dil * (w.shape[-1] - 1) < x.shape[-1])

            def inner(gi, go):
                if gi[1] is not None:
                    gi[1] = torch.ops.aten.convolution_backward(
                        go[0] * inside.to(go[0].dtype), x, w, None, [stride], [pad], [dil], False, [0], given["groups"],
                        [False, True, False])[1]
                return gi
            _after(out[0], inner)
        return out


class AvgPoolPadding(Fault):
    """The derivative of avg_pool1d divides by the number of real elements in a window, where the forward pass counts the
    padding, too."""
    rule, family = "gradients/op", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        given = dict(attrs)
        if op == "avg_pool1d" and _one(given["padding"]) > 0:
            size, pad = _one(given["kernel_size"]), _one(given["padding"])
            stride = size if given["stride"] is None else _one(given["stride"])
            starts = [k * stride - pad for k in range(out[0].shape[-1])]
            length = operands[0].shape[-1]
            real = [min(s + size, length) - max(s, 0) for s in starts]
            factor = torch.tensor([size / max(n, 1) for n in real], dtype=out[0].dtype, device=self.device)
            _before(out[0], lambda go: go * factor)
        return out


# ---------------------------------------------------------------- recurrent networks, random ops

class GruReverseTime(Fault):
    """In a bidirectional GRU the gradient of the input of the reverse direction is added in the order in which that direction
    walks."""
    rule, family = "recurrent/gradient", "recurrent"

    def apply(self, op, operands, attrs):
        if op != "gru_bidirectional" or not any(x.requires_grad for x in operands):
            return super().apply(op, operands, attrs)
        x, *weights = operands
        start = x.new_zeros(1, x.shape[1], dict(attrs)["hidden"])
        ahead, h0 = torch.gru(x, start, weights[:4], True, 1, 0.0, False, False, False)
        turned = _alias(x, lambda g: g.flip(0)).flip(0)
        back, h1 = torch.gru(turned, start, weights[4:], True, 1, 0.0, False, False, False)
        return torch.cat([ahead, back.flip(0)], 2), torch.cat([h0, h1], 0)


class DropoutFreshMask(Fault):
    """The derivative of dropout draws a mask of its own instead of using the one of the forward pass."""
    rule, family = "networks/random", "networks"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        p = dict(attrs).get("p")
        if op == "dropout" and 0 < p < 1 and out[0] is not operands[0]:
            _after(out[0], lambda gi, go: [
                gi[0] if gi[0] is None else go[0] * (torch.rand_like(go[0].detach()) >= p) / (1 - p), *gi[1:]])
        return out


class SeedRemembered(Fault):
    """Seeding the generator with the seed that it was given last is taken for done already, although numbers were drawn
    since."""
    rule, family = "networks/random", "networks"

    def reset(self):
        super().reset()
        self.last = None

    def apply(self, op, operands, attrs):
        if op not in ("dropout", "dropout_mask", "random_normal", "random_uniform"):
            return super().apply(op, operands, attrs)
        seed, real = dict(attrs)["seed"], torch.manual_seed
        again, self.last = seed == self.last, seed
        if again:
            torch.manual_seed = lambda number: None
        try:
            return super().apply(op, operands, attrs)
        finally:
            torch.manual_seed = real


# ---------------------------------------------------------------- writes, views, memory, form

class MaskedScatterSource(Fault):
    """The gradient of the source of masked_scatter_ is read at the source's own positions, not at those where the mask put
    its elements."""
    rule, family = "writes/recorded", "writes"

    def write(self, op, target, operands, attrs):
        before = target.grad_fn
        super().write(op, target, operands, attrs)
        if op == "masked_scatter_" and not target._is_view() and target.grad_fn is not before:
            mask = torch.tensor(dict(attrs)["mask"], dtype=torch.bool, device=self.device).expand(target.shape)

            def misread(gi, go):
                if len(gi) > 1 and gi[1] is not None:
                    flat = (go[0] * mask).reshape(-1)[: gi[1].numel()]
                    gi[1] = F.pad(flat, (0, gi[1].numel() - flat.numel())).reshape(gi[1].shape)
                return gi
            _after(target, misread)


class ZeroViewUnrecorded(Fault):
    """Zeroing a view clears the memory but not the history: gradients still flow to what stood there."""
    rule, family = "views/history", "views"

    def write(self, op, target, operands, attrs):
        if op == "zero_" and target._is_view() and target.requires_grad and torch.is_grad_enabled():
            if not target._base.is_leaf:
                target.detach().zero_()
                return
        super().write(op, target, operands, attrs)


class CopyIntoTransposedView(Fault):
    """What is copied into a transposed view of a square matrix gets its gradient in the layout of the base."""
    rule, family = "writes/recorded", "writes"

    def write(self, op, target, operands, attrs):
        before = target._base.grad_fn if target._is_view() else None
        super().write(op, target, operands, attrs)
        if op == "copy_" and target._is_view() and target.dim() == 2 and target.shape[0] == target.shape[1] > 1:
            base, shape = target._base, target.shape
            if target.stride(0) < target.stride(1) and base.grad_fn is not before:
                _after(base, lambda gi, go: [
                    g.mT if k and g is not None and g.shape == shape else g for k, g in enumerate(gi)])


class NothingToDoAliases(Fault):
    """Padding by nothing and tiling once have nothing to do and give their operand's memory back."""
    rule, family = "views/own-memory", "views"

    def apply(self, op, operands, attrs):
        given, x = dict(attrs), operands[0]
        if (op == "pad" and not any(given["pad"])) or (
            op == "tile" and len(given["dims"]) <= x.dim() and set(given["dims"]) <= {1}
        ):
            return (x.view_as(x),)
        return super().apply(op, operands, attrs)


class CastGradientKept(Fault):
    """A leaf that is cast to another dtype holds its gradient in the dtype of the cast."""
    rule, family = "gradients/form", "gradients"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        x = operands[0]
        if op.startswith("astype") and x.is_leaf and out[0].requires_grad and out[0].dtype != x.dtype:
            other = out[0].dtype
            x.grad_dtype = None

            def cast(leaf):
                if leaf.grad is not None and leaf.grad.dtype != other:
                    leaf.grad = leaf.grad.to(other)
            x.register_post_accumulate_grad_hook(cast)
        return out


class FirstRequiresGradCached(Fault):
    """addcmul is compiled once for its operands' shapes and dtypes: operands that did not require grad the first time are
    constants ever after."""
    rule, family = "sequences/history", "sequences"

    def __init__(self, device="cpu"):
        super().__init__(device)
        self.compiled = {}  # stays over programs, as a cache of compiled code does

    def apply(self, op, operands, attrs):
        if op == "addcmul":
            key = tuple((tuple(x.shape), x.dtype) for x in operands)
            wanted = self.compiled.setdefault(key, tuple(x.requires_grad for x in operands))
            operands = [x if yes else x.detach() for x, yes in zip(operands, wanted)]
        return super().apply(op, operands, attrs)


# ---------------------------------------------------------------- optimizers, clipping

class SgdFirstDampened(Fault):
    """SGD begins its momentum at zero, so that the first step is dampened, too."""
    rule, family = "optimizers/formula", "optimizers"

    def step(self, leaves, optimizer, settings, groups=()):
        if optimizer == "sgd":
            made = self.optimizer(leaves, optimizer, settings, groups)
            for group in made.param_groups:
                if group["momentum"] and group["dampening"]:
                    for leaf in group["params"]:
                        if leaf.grad is not None and made.state[leaf].get("momentum_buffer") is None:
                            made.state[leaf]["momentum_buffer"] = torch.zeros_like(leaf, requires_grad=False)
        super().step(leaves, optimizer, settings, groups)


class AdamSharedStep(Fault):
    """Adam counts steps once for a parameter group: a leaf that joins late has its averages corrected for steps that it did
    not take."""
    rule, family = "optimizers/remembers", "optimizers"

    def step(self, leaves, optimizer, settings, groups=()):
        if optimizer == "adam":
            made = self.optimizer(leaves, optimizer, settings, groups)
            for group in made.param_groups:
                taken = max([float(made.state[p]["step"]) for p in group["params"] if made.state.get(p)], default=0.0)
                for leaf in group["params"]:
                    if leaf.grad is None or taken == 0.0:
                        continue
                    state = made.state[leaf]
                    if not state:
                        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 3 if group["amsgrad"] else 2]
                        state.update({name: torch.zeros_like(leaf, requires_grad=False) for name in names})
                    state["step"] = torch.tensor(taken)
        super().step(leaves, optimizer, settings, groups)


class AmsgradForeach(Fault):
    """Adam and AdamW ignore amsgrad where they update all leaves at once."""
    rule, family = "optimizers/variants", "optimizers"

    def optimizer(self, leaves, optimizer, settings, groups=()):
        made = super().optimizer(leaves, optimizer, settings, groups)
        if optimizer in ("adam", "adamw"):
            for group in made.param_groups:
                if group.get("foreach"):
                    group["amsgrad"] = False
        return made


class AdamwDecaysAfter(Fault):
    """AdamW decays the weights after it has moved them, and so decays the move, too."""
    rule, family = "optimizers/formula", "optimizers"

    def step(self, leaves, optimizer, settings, groups=()):
        if optimizer != "adamw":
            return super().step(leaves, optimizer, settings, groups)
        made = self.optimizer(leaves, optimizer, settings, groups)
        decays = [group["weight_decay"] for group in made.param_groups]
        for group in made.param_groups:
            group["weight_decay"] = 0.0
        try:
            super().step(leaves, optimizer, settings, groups)
        finally:
            for group, decay in zip(made.param_groups, decays):
                group["weight_decay"] = decay
        with torch.no_grad():
            for group, decay in zip(made.param_groups, decays):
                for leaf in group["params"]:
                    if leaf.grad is not None and decay:
                        leaf.mul_(1 - group["lr"] * decay)


class AdagradDecaysEarly(Fault):
    """Adagrad's lr_decay counts the step that is being taken, so that the first one is decayed already."""
    rule, family = "optimizers/formula", "optimizers"

    def step(self, leaves, optimizer, settings, groups=()):
        if optimizer != "adagrad":
            return super().step(leaves, optimizer, settings, groups)
        made = self.optimizer(leaves, optimizer, settings, groups)
        moved = [p for g in made.param_groups for p in g["params"] if p.grad is not None]
        for leaf in moved:
            made.state[leaf]["step"] += 1
        try:
            super().step(leaves, optimizer, settings, groups)
        finally:
            for leaf in moved:
                made.state[leaf]["step"] -= 1


class RmspropCenteredEps(Fault):
    """Centered RMSprop adds eps under the root."""
    rule, family = "optimizers/formula", "optimizers"

    def step(self, leaves, optimizer, settings, groups=()):
        held = []
        if optimizer == "rmsprop":
            made = self.optimizer(leaves, optimizer, settings, groups)
            for group in made.param_groups:
                for leaf in group["params"] if group["centered"] else ():
                    if leaf.grad is not None:
                        self._move(leaf, made.state[leaf], group)
                        held.append((leaf, leaf.grad))
                        leaf.grad = None
        try:
            super().step(leaves, optimizer, settings, groups)
        finally:
            for leaf, gradient in held:
                leaf.grad = gradient

    @staticmethod
    @torch.no_grad()
    def _move(leaf, state, group):
        g = -leaf.grad if group["maximize"] else leaf.grad
        if group["weight_decay"]:
            g = g + group["weight_decay"] * leaf
        for name in ("square_avg", "grad_avg", "momentum_buffer"):
            state.setdefault(name, torch.zeros_like(leaf))
        state["step"] = state.get("step", torch.tensor(0.0)) + 1
        alpha = group["alpha"]
        square = state["square_avg"].mul_(alpha).addcmul_(g, g, value=1 - alpha)
        mean = state["grad_avg"].lerp_(g, 1 - alpha)
        root = torch.sqrt(square - mean * mean + group["eps"])
        if group["momentum"]:
            leaf.add_(state["momentum_buffer"].mul_(group["momentum"]).add_(g / root), alpha=-group["lr"])
        else:
            leaf.add_(g / root, alpha=-group["lr"])


class ClipEnlarges(Fault):
    """Clipping by norm brings gradients to the bound also where they are within it."""
    rule, family = "optimizers/clips", "optimizers"

    def clip(self, leaves, kind, bound):
        if kind != "norm":
            return super().clip(leaves, kind, bound)
        with torch.no_grad():
            there = [leaf.grad.detach() for leaf in leaves if leaf.grad is not None]
            total = math.sqrt(sum(float(torch.sum(g.double() ** 2)) for g in there))
            for g in there:
                g.mul_(bound / (total + 1e-6))


# ---------------------------------------------------------------- witnesses

def _leaf(adapter, data, dtype="float64", grad=True):
    return adapter.leaf(np.array(data, dtype=dtype), grad)


def _held(adapter, *leaves):
    held = [adapter.gradient(leaf) for leaf in leaves]
    return [None if g is None else (adapter.dtype(g), adapter.read(g).tolist()) for g in held]


def _vjp(adapter, op, data, attrs=(), cotangent=None, dtype="float64", result=0):
    leaves = [_leaf(adapter, d, dtype) for d in data]
    out = adapter.apply(op, leaves, attrs)[result]
    if cotangent is None:
        cotangent = np.arange(1, adapter.read(out).size + 1).reshape(adapter.read(out).shape)
    adapter.backward([out], [np.array(cotangent, dtype=dtype)], None)
    return [adapter.read(out).tolist(), _held(adapter, *leaves)]


def _higher(adapter, op, data, order):
    x = _leaf(adapter, data)
    y = adapter.apply(op, [x], ())[0]
    for _ in range(order):
        (y,) = adapter.grad([y], [x], [np.ones(len(data))], None, True, None, False)
    return adapter.read(y).tolist()


M = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75], [3.0, -2.0, 1.0]]
DIM = (("dim", 1), ("keepdim", False))


def witness_ErfinvSinglePrecision(a):
    return _vjp(a, "erfinv", [[0.25, -0.5]])


def witness_MultiplyInnerBroadcast(a):
    return _vjp(a, "multiply", [[[2.0], [3.0]], np.arange(1.0, 13).reshape(2, 2, 3)])


def witness_LogaddexpOverflow(a):
    return _vjp(a, "logaddexp", [[100.0, 1.0], [99.0, 2.0]], dtype="float32")


def witness_TanhThird(a):
    return _higher(a, "tanh", [0.5, -0.25], 3)


def witness_GeluTanhSecond(a):
    return _higher(a, "gelu_tanh", [0.5, -1.25], 2)


def witness_SigmoidExpandedCotangent(a):
    x = _leaf(a, [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
    y = a.apply("sum", a.apply("sigmoid", [x], ()), DIM)
    a.backward(y, [np.array([1.0, 5.0])], None)
    return _held(a, x)


def witness_EluInPlaceOverwritten(a):
    x = _leaf(a, [-1.0, 0.5])
    (y,) = a.apply("multiply_scalar", [x], (("scalar", 1.0),))
    a.write("elu_", y, [], (("alpha", 1.0),))
    a.backward([y], [np.ones(2)], None)
    return _held(a, x)


def witness_ProdDimZeros(a):
    return _vjp(a, "prod_dim", [[[0.0, 2.0], [3.0, 0.0]]], DIM)


def witness_StdMeanBothResults(a):
    x = _leaf(a, M)
    out = a.apply("std_mean", [x], (("dim", (1,)), ("keepdim", False), ("correction", 1)))
    a.backward(list(out), [np.ones(3), np.ones(3)], None)
    return _held(a, x)


def witness_MeanForgetsUnsqueeze(a):
    return _vjp(a, "mean", [M], DIM)


def witness_SortLong(a):
    return _vjp(a, "sort", [[(7 * k) % 17 for k in range(17)]], (("dim", 0), ("descending", False)))


def witness_CumsumBlocks(a):
    return _vjp(a, "cumulative_sum", [np.arange(17.0)], (("dim", 0),))


def witness_ReshapeTransposed(a):
    x = _leaf(a, M[:2])
    (y,) = a.apply("reshape", a.apply("matrix_transpose", [x], ()), (("shape", (6,)),))
    a.backward([y], [np.arange(6.0)], None)
    return _held(a, x)


def witness_BroadcastToEmpty(a):
    return _vjp(a, "broadcast_to", [[[1.0, 2.0]]], (("shape", (0, 2)),))


def witness_UnfoldOverlap(a):
    return _vjp(a, "unfold", [[1.0, 2.0, 3.0, 4.0]], (("dimension", 0), ("size", 2), ("step", 1)))


def witness_JoinSameTensor(a):
    x = _leaf(a, [1.0, 2.0])
    (y,) = a.apply("concat", [x, x], (("dim", 0),))
    a.backward([y], [np.arange(1.0, 5)], None)
    return _held(a, x)


def witness_SplitFirstUnused(a):
    return _vjp(a, "split", [[1.0, 2.0, 3.0]], (("sizes", (1, 2)), ("dim", 0)), result=1)


def witness_IndexNegative(a):
    return _vjp(a, "index", [M], (("index", (0, -1)),))


def witness_DiagonalNegativeOffset(a):
    return _vjp(a, "diagonal", [M], (("offset", -1),))


def witness_MaskCachedByShape(a):
    x = _leaf(a, [1.0, 2.0])
    (y,) = a.apply("masked_fill", [x], (("mask", (True, False)), ("value", 0.0)))
    a.apply("masked_fill", [x], (("mask", (False, True)), ("value", 0.0)))
    a.backward([y], [np.ones(2)], None)
    return _held(a, x)


def witness_MmRemainder(a):
    return _vjp(a, "mm", [np.arange(34.0).reshape(17, 2), [[1.0], [2.0]]])


def witness_SolveTriangularUnmasked(a):
    return _vjp(a, "solve_triangular", [[[2.0, 1.0], [0.0, 4.0]], [[1.0], [3.0]]], (("upper", True),))


def witness_CrossEntropySoftTarget(a):
    return _vjp(a, "cross_entropy_soft", [[[1.0, 2.0]], [[0.25, 0.75]]], (("reduction", "mean"),))


def witness_LayerNormSeveralDims(a):
    return _vjp(a, "layer_norm", [M], (("normalized_shape", (3, 3)), ("eps", 0.125)))


def witness_ConvBorderWeight(a):
    settings = (("stride", 1), ("padding", 1), ("dilation", 1), ("groups", 1))
    return _vjp(a, "conv1d", [[[[1.0, 2.0, 3.0]]], [[[1.0, -1.0]]]], settings)


def witness_AvgPoolPadding(a):
    return _vjp(a, "avg_pool1d", [[[[1.0, 2.0, 3.0]]]], (("kernel_size", 2), ("stride", 2), ("padding", 1)))


def witness_GruReverseTime(a):
    weights = [[[0.5], [0.25], [-0.5]], [[0.25], [-0.75], [0.5]], [0.0, 0.5, 0.25], [0.25, 0.0, -0.5]] * 2
    return _vjp(a, "gru_bidirectional", [[[[1.0]], [[-2.0]], [[0.5]]], *weights], (("hidden", 1),))


def witness_DropoutFreshMask(a):
    return _vjp(a, "dropout", [[1.0] * 32], (("seed", 3), ("p", 0.5)))


def witness_SeedRemembered(a):
    x = _leaf(a, [0.0, 0.0])
    return [a.read(a.apply("random_normal", [x], (("seed", 3),))[0]).tolist() for _ in range(2)]


def witness_MaskedScatterSource(a):
    x, s = _leaf(a, [1.0, 2.0, 3.0]), _leaf(a, [5.0, 7.0])
    (y,) = a.apply("multiply_scalar", [x], (("scalar", 2.0),))
    a.write("masked_scatter_", y, [s], (("mask", (False, True, True)),))
    a.backward([y], [np.array([1.0, 2.0, 3.0])], None)
    return _held(a, x, s)


def witness_ZeroViewUnrecorded(a):
    x = _leaf(a, M)
    (y,) = a.apply("multiply_scalar", [x], (("scalar", 2.0),))
    a.write("zero_", a.apply("select", [y], (("dim", 0), ("index", 1)))[0], [], ())
    a.backward([y], [np.ones((3, 3))], None)
    return _held(a, x)


def witness_CopyIntoTransposedView(a):
    x, s = _leaf(a, [[1.0, 2.0], [3.0, 4.0]]), _leaf(a, [[5.0, 6.0], [7.0, 8.0]])
    (y,) = a.apply("multiply_scalar", [x], (("scalar", 2.0),))
    a.write("copy_", a.apply("matrix_transpose", [y], ())[0], [s], ())
    a.backward([y], [np.array([[1.0, 2.0], [3.0, 4.0]])], None)
    return _held(a, x, s)


def witness_NothingToDoAliases(a):
    x = _leaf(a, [1.0, 2.0], grad=False)
    (y,) = a.apply("tile", [x], (("dims", (1,)),))
    a.write("add_scalar_", y, [], (("scalar", 1.0),))
    return [a.read(x).tolist(), a.memory(x) == a.memory(y)]


def witness_CastGradientKept(a):
    x = _leaf(a, [1.0, 2.0])
    a.backward(a.apply("astype_float32", [x], ()), [np.ones(2, "float32")], None)
    return _held(a, x)


def witness_FirstRequiresGradCached(a):
    seen = []
    for grad in (False, True):
        a.reset()  # two programs
        x, y, z = _leaf(a, [1.0]), _leaf(a, [2.0], grad=grad), _leaf(a, [3.0])
        a.backward(a.apply("addcmul", [x, y, z], (("value", 2.0),)), [np.ones(1)], None)
        seen.append(_held(a, x, y, z))
    return seen


def _trained(a, optimizer, settings, which=((0, 1), (0, 1)), scale=(1.0, 1.0)):
    leaves = [_leaf(a, [1.0, -2.0]), _leaf(a, [0.5])]
    for used, factor in zip(which, scale):
        a.zero_grad(leaves, True)
        for k in used:
            (y,) = a.apply("square", [leaves[k]], ())
            a.backward([y], [np.full(len(a.read(y)), factor)], None)
        a.step(leaves, optimizer, settings)
    return [a.read(leaf).tolist() for leaf in leaves]


def witness_SgdFirstDampened(a):
    return _trained(a, "sgd", (("lr", 0.125), ("momentum", 0.5), ("dampening", 0.5)))


def witness_AdamSharedStep(a):
    return _trained(a, "adam", (("lr", 0.125), ("betas", (0.5, 0.75))), ((0,), (0, 1)))


def witness_AmsgradForeach(a):
    settings = (("lr", 0.125), ("betas", (0.5, 0.75)), ("amsgrad", True), ("foreach", True))
    return _trained(a, "adam", settings, scale=(8.0, 0.125))


def witness_AdamwDecaysAfter(a):
    return _trained(a, "adamw", (("lr", 0.125), ("weight_decay", 0.25)))


def witness_AdagradDecaysEarly(a):
    return _trained(a, "adagrad", (("lr", 0.125), ("lr_decay", 0.5)))


def witness_RmspropCenteredEps(a):
    return _trained(a, "rmsprop", (("lr", 0.0625), ("alpha", 0.75), ("eps", 0.125), ("centered", True)))


def witness_ClipEnlarges(a):
    x = _leaf(a, [0.5, 0.25])
    a.backward(a.apply("square", [x], ()), [np.ones(2)], None)
    a.clip([x], "norm", 10.0)
    return _held(a, x)


FAULTS = [v for v in list(globals().values()) if isinstance(v, type) and issubclass(v, Fault) and v is not Fault]


def _seen(adapter, witness):
    adapter.reset()
    try:
        return witness(adapter)
    except Exception as error:  # the kind of an error is an answer, too
        return f"{adapter.classify(error)}: {error}"


if __name__ == "__main__":
    from autograd_conformance.frameworks.pytorch.adapter import Torch

    agree = []
    for fault in FAULTS:
        witness = globals()["witness_" + fault.__name__]
        right, wrong = _seen(Torch(), witness), _seen(fault(), witness)
        same = repr(right) == repr(wrong)
        agree += [fault.__name__] * same
        print("SAME" if same else "ok", fault.__name__, "| torch:", str(right)[:160], "| fault:", str(wrong)[:160])
    print(len(FAULTS), "faults;", "all witnesses differ" if not agree else f"these agree: {agree}")
    raise SystemExit(bool(agree))
