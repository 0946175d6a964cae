"""Joining and splitting: several operands become one result, or one operand several results.

If only some of several results have a cotangent, the others count as zeros.
"""

from __future__ import annotations

from autograd_conformance.ops.rows.row import LARGEST, POOL, Certainty, Choices, Op, table
from autograd_conformance.ops.rows.selection import stacked
from autograd_conformance.ops.rows.shapes import dims, every, growing, having, ranked, same, same_two, shaped, size
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np

ALWAYS, NEVER = Certainty.ALWAYS, Certainty.NEVER


def _joinable(first: Shape) -> list[tuple[Shape, ...]]:
    """Shapes of the pool that differ from the first in at most one dimension; the first one's shape comes first."""
    alike = [s for s in POOL if len(s) == len(first) and sum(a != b for a, b in zip(s, first, strict=True)) == 1]
    return [(first,), *((s,) for s in alike if size(s) + size(first) <= LARGEST)]


def _joins(*shapes: Shape) -> Choices:
    def fits(dim: int) -> bool:
        return len({s[:dim] + s[dim + 1 :] for s in shapes}) == 1

    return [{"dim": d} for d in range(len(shapes[0])) if fits(d)] + ([{"dim": -1}] if fits(len(shapes[0]) - 1) else [])


def _stacks(*shapes: Shape) -> Choices:
    return [{"dim": d} for d in (*range(len(shapes[0]) + 1), -1)]


def _concat(j, *operands, dim):
    return j.np.concatenate(operands, axis=dim)


def _stack(j, *operands, dim):
    return stacked(j, list(operands), dim)


def _two_joinable(first: Shape) -> list[tuple[Shape, ...]]:
    """Shapes of two further operands, one of which may differ from the first in one dimension."""
    others = [other for (other,) in _joinable(first) if 2 * size(first) + size(other) <= LARGEST]
    return [(first, first), *((first, other) for other in others[1:3]), *((other, first) for other in others[1:3])]


def _sections(shape: Shape) -> Choices:
    named = [(d, n) for d, n in enumerate(shape) if n >= 2]
    uneven = [{"sizes": (1, n - 1), "dim": d} for d, n in named]
    return [*uneven, *({"sizes": (n - 1, 0, 1), "dim": d} for d, n in named)]


def _split(j, x, sizes, dim):
    ends = np.cumsum(sizes)
    return tuple(j.lax.slice_in_dim(x, e - s, e, axis=dim % x.ndim) for s, e in zip(sizes, ends.tolist(), strict=True))


def _chunk(j, x, chunks, dim):
    n = x.shape[dim]
    each = -(-n // chunks)
    return _split(j, x, [min(each, n - start) for start in range(0, n, each)], dim)


def _tensor_split(j, x, sections, dim):
    n, more = divmod(x.shape[dim], sections)
    return _split(j, x, [n + (i < more) for i in range(sections)], dim)


def _cut(name: str, options: tuple[int, ...]):
    """Returns a function that offers numbers of pieces (as the attribute `name`) along every dimension with at least
    that many elements.
    """
    return lambda shape: [{name: k, "dim": d} for k in options for d, n in enumerate(shape) if n >= k][:8]


def _unstack(j, x, dim):
    return tuple(j.lax.index_in_dim(x, i, dim % x.ndim, keepdims=False) for i in range(x.shape[dim]))


def _block_diag(j, a, b):
    above = j.np.concatenate([a, np.zeros((a.shape[0], b.shape[1]))], axis=1)
    return j.np.concatenate([above, j.np.concatenate([np.zeros((b.shape[0], a.shape[1])), b], axis=1)], axis=0)


def _room(shape: Shape) -> bool:
    return (shape[0] + 1) * (shape[1] + 2) <= LARGEST


def _matrices(first: Shape) -> list[tuple[Shape, ...]]:
    return [(s,) for s in ((1, 2), (2, 1), (2, 2)) if (s[0] + first[0]) * (s[1] + first[1]) <= LARGEST]


def _op(name: str, torch: str, reference, accepts, **more) -> Op:
    return Op(name, torch, reference, NEVER, **more, **shaped(accepts))


def _views(name: str, torch: str, reference, accepts, choices, multi: bool = True) -> Op:
    return _op(name, torch, reference, accepts, choices=choices, aliases=Certainty.ALWAYS, multi=multi, sequence=True)


JOINING = table(
    "joining",
    _op(
        "concat",
        "torch.cat([{0}, {1}], {dim})",
        _concat,
        every(growing(2), ranked(1)),
        rest=_joinable,
        choices=_joins,
        promotes=ALWAYS,
    ),
    _op(
        "concat_three",
        "torch.cat([{0}, {1}, {2}], {dim})",
        _concat,
        every(growing(3), ranked(1)),
        rest=_two_joinable,
        choices=_joins,
        promotes=ALWAYS,
    ),
    _op(
        "stack",
        "torch.stack([{0}, {1}], {dim})",
        _stack,
        every(growing(2), ranked(0, 3)),
        rest=same,
        choices=_stacks,
        promotes=ALWAYS,
    ),
    _op(
        "stack_three",
        "torch.stack([{0}, {1}, {2}], {dim})",
        _stack,
        every(growing(3), ranked(0, 3)),
        rest=same_two,
        choices=_stacks,
        promotes=ALWAYS,
    ),
    _op("block_diag", "torch.block_diag({0}, {1})", _block_diag, every(ranked(2, 2), _room), rest=_matrices),
)

SPLITTING = table(
    "splitting",
    _views("split", "torch.split({0}, {sizes}, {dim})", _split, having(2), _sections),
    _views("chunk", "torch.chunk({0}, {chunks}, {dim})", _chunk, having(1), _cut("chunks", (2, 1, 3))),
    # PyTorch slices the operand repeatedly here, and each slice may be written to.
    _views(
        "tensor_split",
        "torch.tensor_split({0}, {sections}, {dim})",
        _tensor_split,
        having(1),
        _cut("sections", (2, 1, 3)),
        multi=False,
    ),
    _views("unstack", "torch.unbind({0}, {dim})", _unstack, having(1), lambda shape: dims(shape, low=1)),
)
