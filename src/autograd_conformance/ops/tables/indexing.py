"""Indexing: elements taken from, put into or masked out of a tensor, at indices that are attributes.

If an index names an element twice, its gradient is a sum; elements that no index names have a zero gradient.
"""

from __future__ import annotations

from typing import Any

from autograd_conformance.ops.rows.domains import ANY, NONZERO
from autograd_conformance.ops.rows.row import RESULTS, Certainty, Choices, Op, table
from autograd_conformance.ops.rows.selection import along, nested, picked, placed, positions, put, slices, untouched
from autograd_conformance.ops.rows.shapes import every, growing, having, nonempty, ranked, same, shaped, size
from autograd_conformance.ops.tables.binary import masks
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np

MAYBE, NEVER = Certainty.MAYBE, Certainty.NEVER

FILLED = every(nonempty, ranked(1))


def _tensor(attribute: str) -> str:
    return f"torch.tensor({{{attribute}}}, device={{0}}.device)"


def _slices(shape: Shape) -> Choices:
    n = shape[0]
    options = [(0, n, 1), (1, n, 1), (0, n, 2), (0, n - 1, 1), (1, n, 2), (0, 0, 1), (0, n, 3), (n - 1, n, 1)]
    return [dict(zip(("start", "stop", "step"), c, strict=True)) for c in dict.fromkeys(options)]


def _selections(shape: Shape) -> Choices:
    found = [{"dim": d, "index": i} for d, n in enumerate(shape) for i in dict.fromkeys((0, -1)) if n][:8]
    return found + [{"dim": d, "index": 1} for d, n in enumerate(shape) if n > 2]


def _narrowings(shape: Shape) -> Choices:
    named = [(d, n) for d, n in enumerate(shape) if n]
    return [{"dim": d, "start": n // 2, "length": n - n // 2} for d, n in named] + [
        {"dim": d, "start": 0, "length": n - 1} for d, n in named[:3]
    ]


def _takes(shape: Shape) -> Choices:
    named = [(d, n) for d, n in enumerate(shape) if n]
    found = [{"dim": d, "index": index} for d, n in named for index in dict.fromkeys(((n - 1, 0), (0,)))][:8]
    return found + [{"dim": d, "index": (n - 1, 0, n - 1)} for d, n in named[:2] if n > 1]


def _flat_indices(shape: Shape) -> Choices:
    n = np.prod(shape, dtype=int).item()
    return [{"index": (n - 1, 0)}, {"index": (0, 0, n // 2)}, {"index": ((0,), (n - 1,))}]


def _rows(shape: Shape) -> Choices:
    n = shape[0]
    return [{"index": index} for index in dict.fromkeys(((n - 1, 0), (0, 0), ((0, n - 1),)))]


def _bags(shape: Shape) -> Choices:
    n = shape[0]
    return [{"index": ((n - 1, 0), (0, 0)), "mode": "sum"}, {"index": ((0, n - 1, 0),), "mode": "mean"}]


def _bagged(j, rows, mode):
    return j.np.sum(rows, axis=1) if mode == "sum" else j.np.mean(rows, axis=1)


def _indices(*shapes: Shape) -> Choices:
    """Returns choices of ``dim`` and of an ``index`` array of the last operand's shape, for each dimension: reversed,
    and with repetitions.
    """
    shape = shapes[-1]
    options = [(d, np.indices(shape)[d]) for d in range(len(shape))]
    backwards = [{"dim": d, "index": nested(shape[d] - 1 - at)} for d, at in options]
    repeated = [{"dim": d, "index": nested(at // 2)} for d, at in options if shape[d] > 1]
    return [*backwards, *repeated][:8]


def _unique_indices(*shapes: Shape) -> Choices:
    return _indices(*shapes)[: len(shapes[0])]


def _lines(*shapes: Shape) -> Choices:
    """Returns choices of ``dim`` and of a one-dimensional ``index`` of that dimension's length: reversed, and with
    repetitions.
    """
    named = list(enumerate(shapes[0]))
    backwards = [{"dim": d, "index": tuple(range(n))[::-1]} for d, n in named]
    return [*backwards, *({"dim": d, "index": tuple(i // 2 for i in range(n))} for d, n in named if n > 1)][:8]


def _unique_lines(*shapes: Shape) -> Choices:
    return _lines(*shapes)[: len(shapes[0])]


def _row_shapes(first: Shape) -> list[tuple[Shape, ...]]:
    return [(first[1:],)]


def _firsts(*shapes: Shape) -> Choices:
    return [{"index": i} for i in dict.fromkeys((0, shapes[0][0] - 1, -1))]


def _masked(*shapes: Shape) -> Choices:
    return [{**choice, "value": value} for choice, value in zip(masks(*shapes), (0.0, 2.5, -1.0), strict=False)]


def _fills(*shapes: Shape) -> Choices:
    return [{**choice, "value": value} for choice in _lines(*shapes)[:4] for value in (0.0, 2.5)]


def _chosen(shape: Shape) -> Choices:
    return [choice for choice in masks(shape) if choice["mask"] not in (True, False)][:2] if shape else [{"mask": True}]


def _combinations(*shapes: Shape) -> Choices:
    return [{**c, "reduce": ("prod", "mean", "sum")[i % 3]} for i, c in enumerate(_indices(*shapes))]


def _combined(j, x, source, dim, index, reduce):
    """Adds or multiplies each element of `source` into an element of `x`, or takes the mean of all."""
    at = along(dim, np.array(index))
    if reduce != "prod":
        total = x + placed(j, source, at, x.shape)
        return total if reduce == "sum" else total / (1 + np.array(placed(j, np.ones(source.shape), at, x.shape)))
    for place, factor in zip(at(positions(x.shape)).reshape(-1), slices(j, j.np.reshape(source, -1), 0), strict=True):
        x = j.np.where(positions(x.shape) == place, x * factor, x)
    return x


def _some_rows(first: Shape) -> list[tuple[Shape, ...]]:
    return [((k, *first[1:]),) for k in dict.fromkeys((first[0], 1, 2)) if k <= first[0]]


def _row_numbers(*shapes: Shape) -> Choices:
    n, k = shapes[0][0], shapes[1][0]
    return [{"index": index} for index in dict.fromkeys((tuple(range(n))[::-1][:k], tuple(i // 2 for i in range(k))))]


def _starts(*shapes: Shape) -> Choices:
    n, k = shapes[0][0], shapes[1][0]
    return [{"start": start, "stop": start + k} for start in dict.fromkeys((n - k, 0))]


def _strided(shape: Shape) -> Choices:
    n = size(shape)
    return [
        {"size": (n - 1, 2), "stride": (1, 1), "offset": 0},
        {"size": (2, 2), "stride": (1, 0), "offset": 0},
        {"size": (n - 1,), "stride": (1,), "offset": 1},
    ]


def _laid_out(at: np.ndarray, size: Shape, stride: Shape, offset: int) -> np.ndarray:
    """Returns the elements with the given strides, in the order of memory; one may be there several times."""
    return at.reshape(-1)[offset + np.tensordot(stride, np.indices(size), 1)]


def _masked_scatter(j, x, source, mask):
    """Replaces the chosen elements of `x`, in order, by the first ones of `source`."""
    chosen = np.broadcast_to(np.array(mask), x.shape)
    first = picked(j, source, lambda at: at.reshape(-1)[: chosen.sum()])
    return put(j, x, first, lambda at: at[chosen])


def _take(j, x, dim, index):
    return picked(j, x, lambda at: np.take(at, index, axis=dim))


def _gather(j, x, dim, index):
    return picked(j, x, along(dim, np.array(index)))


def _line(dim: int, index: Any):
    return lambda at: np.take(at, index, axis=dim)


def _fill(j, x, dim, index, value):
    keep = untouched(_line(dim, index), x.shape)
    return x * keep + value * (1 - keep)


def _op(name: str, torch: str, reference, choices, accepts, saves: Certainty = MAYBE, domain=ANY, **more) -> Op:
    return Op(name, torch, reference, saves, choices=choices, domains=(domain,), **more, **shaped(accepts))


def _view(name: str, torch: str, reference, choices, accepts) -> Op:
    return _op(name, torch, reference, choices, accepts, NEVER, aliases=Certainty.ALWAYS)


TAKING = (
    _view(
        "slice",
        "{0}[{start}:{stop}:{step}]",
        lambda j, x, start, stop, step: x[start:stop:step],
        _slices,
        FILLED,
    ),
    _view(
        "select",
        "torch.select({0}, {dim}, {index})",
        lambda j, x, dim, index: _take(j, x, dim, index),
        _selections,
        having(1),
    ),
    _view(
        "narrow",
        "torch.narrow({0}, {dim}, {start}, {length})",
        lambda j, x, dim, start, length: j.lax.slice_in_dim(x, start, start + length, axis=dim),
        _narrowings,
        having(1),
    ),
    _op("take", f"torch.index_select({{0}}, {{dim}}, {_tensor('index')})", _take, _takes, having(1)),
    # PyTorch saves the operand of these three only for its shape.
    _op(
        "take_along_axis",
        f"torch.take_along_dim({{0}}, {_tensor('index')}, dim={{dim}})",
        _gather,
        _indices,
        FILLED,
        also_saves=(0,),
    ),
    _op("gather", f"torch.gather({{0}}, {{dim}}, {_tensor('index')})", _gather, _indices, FILLED, also_saves=(0,)),
    _op(
        "take_flat",
        f"torch.take({{0}}, {_tensor('index')})",
        lambda j, x, index: picked(j, x, lambda at: np.take(at, index)),
        _flat_indices,
        nonempty,
        also_saves=(0,),
    ),
    _op(
        "index",
        f"{{0}}[{_tensor('index')}]",
        lambda j, x, index: _take(j, x, 0, index),
        _rows,
        every(FILLED, growing(2)),
    ),
    _op(
        "embedding",
        f"F.embedding({_tensor('index')}, {{0}})",
        lambda j, x, index: _take(j, x, 0, index),
        _rows,
        every(nonempty, ranked(2, 2)),
    ),
    _op(
        "embedding_bag",
        f"F.embedding_bag({_tensor('index')}, {{0}}, mode={{mode}})",
        lambda j, x, index, mode: _bagged(j, _take(j, x, 0, index), mode),
        _bags,
        every(nonempty, ranked(2, 2)),
    ),
    _op(
        "as_strided",
        "{0}.clone(memory_format=torch.contiguous_format).as_strided({size}, {stride}, {offset}).clone()",
        lambda j, x, size, stride, offset: picked(j, x, lambda at: _laid_out(at, size, stride, offset)),
        _strided,
        every(nonempty, lambda shape: 3 <= size(shape) <= 12),
        NEVER,
    ),
    _op(
        "masked_select",
        f"{{0}}[{_tensor('mask')}]",
        lambda j, x, mask: picked(j, x, lambda at: at[np.array(mask)]),
        _chosen,
        nonempty,
    ),
)

PUTTING = (
    _op(
        "scatter",
        f"torch.scatter({{0}}, {{dim}}, {_tensor('index')}, {{1}})",
        lambda j, x, source, dim, index: put(j, x, source, along(dim, np.array(index))),
        _unique_indices,
        FILLED,
        rest=same,
    ),
    _op(
        "scatter_add",
        f"torch.scatter_add({{0}}, {{dim}}, {_tensor('index')}, {{1}})",
        lambda j, x, source, dim, index: x + placed(j, source, along(dim, np.array(index)), x.shape),
        _indices,
        FILLED,
        rest=same,
    ),
    _op(
        "index_add",
        f"torch.index_add({{0}}, {{dim}}, {_tensor('index')}, {{1}})",
        lambda j, x, source, dim, index: x + placed(j, source, _line(dim, index), x.shape),
        _lines,
        FILLED,
        rest=same,
        also_saves=(1,),  # for its shape
    ),
    _op(
        "index_copy",
        f"torch.index_copy({{0}}, {{dim}}, {_tensor('index')}, {{1}})",
        lambda j, x, source, dim, index: put(j, x, source, _line(dim, index)),
        _unique_lines,
        FILLED,
        rest=same,
        also_saves=(1,),  # for its shape
    ),
    _op("index_fill", f"torch.index_fill({{0}}, {{dim}}, {_tensor('index')}, {{value}})", _fill, _fills, FILLED),
    _op(
        "select_scatter",
        "torch.select_scatter({0}, {1}, 0, {index})",
        lambda j, x, source, index: put(j, x, source, lambda at: at[index]),
        _firsts,
        FILLED,
        NEVER,
        rest=_row_shapes,
    ),
    _op(
        "masked_fill",
        f"torch.masked_fill({{0}}, {_tensor('mask')}, {{value}})",
        lambda j, x, mask, value: j.np.where(np.array(mask), value, x),
        _masked,
        lambda shape: True,
    ),
    _op(
        "scatter_reduce",
        f"torch.scatter_reduce({{0}}, {{dim}}, {_tensor('index')}, {{1}}, {{reduce}})",
        _combined,
        _combinations,
        FILLED,
        rest=same,
        also_saves=(0, 1, RESULTS),
        domain=NONZERO,
    ),
    _op(
        "index_put",
        f"torch.index_put({{0}}, ({_tensor('index')},), {{1}}, accumulate=True)",
        lambda j, x, source, index: x + placed(j, source, _line(0, index), x.shape),
        _row_numbers,
        FILLED,
        rest=_some_rows,
    ),
    _op(
        "slice_scatter",
        "torch.slice_scatter({0}, {1}, 0, {start}, {stop})",
        lambda j, x, source, start, stop: put(j, x, source, lambda at: at[start:stop]),
        _starts,
        FILLED,
        NEVER,
        rest=_some_rows,
    ),
    _op(
        "masked_scatter",
        f"torch.masked_scatter({{0}}, {_tensor('mask')}, {{1}})",
        _masked_scatter,
        lambda *shapes: masks(shapes[0]),
        FILLED,
        rest=same,
    ),
)

INDEXING = table("indexing", *TAKING, *PUTTING)
