"""In-place ops on a part of a tensor: assignments and updates (``x[i] += source``) at an index, of a slice or a
diagonal, under a mask.

A number as index selects one row, an array of numbers several, and a mask any rows or (in ``set_elements_``) any
elements. The source is broadcast to the part, and elements that are overwritten get no gradient.
"""

from __future__ import annotations

from autograd_conformance.ops.rows.row import Certainty, Choices, Op
from autograd_conformance.ops.rows.selection import nested, placed, put, untouched
from autograd_conformance.ops.rows.shapes import broadcast, every, nonempty, ranked, shaped, size
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np

MAYBE = Certainty.MAYBE

FILLED = every(nonempty, ranked(1))
VALUES = (0.0, 2.5, -1.0)


def _rows(*options: Shape) -> list[tuple[Shape, ...]]:
    """Returns the given shapes, without repetitions, as shapes that the source (the only further operand) may have."""
    return [(s,) for s in dict.fromkeys(options)]


def _index_sources(first: Shape) -> list[tuple[Shape, ...]]:
    return _rows(first[1:], (), *([(1,)] if len(first) > 1 else []))


def _assigned_sources(first: Shape) -> list[tuple[Shape, ...]]:
    """Returns the shapes of sources of an assignment at an index; its shape may begin with ones that the part lacks."""
    part = first[1:]
    return [*_index_sources(first), *(_rows((1, *part), (1, *(1 for _ in part))) if part else [])]


def _indices(*shapes: Shape) -> Choices:
    n = shapes[0][0]
    return [{"index": i} for i in dict.fromkeys((0, n - 1, -1))]


def _spans(n: int) -> list[tuple[int, int, int]]:
    return list(dict.fromkeys([(0, n, 1), (1, n, 1), (0, n, 2), (0, n - 1, 1), (1, n, 3), (0, 0, 1)]))


def _count(span: tuple[int, int, int]) -> int:
    return len(range(*span))


def _slice_sources(first: Shape) -> list[tuple[Shape, ...]]:
    parts = [(_count(s), *first[1:]) for s in _spans(first[0])]
    return _rows(*parts, first[1:], (), (1, *parts[0]))


def _slices(*shapes: Shape) -> Choices:
    first, *sources = shapes
    return [
        dict(zip(("start", "stop", "step"), s, strict=True))
        for s in _spans(first[0])
        if all(_fits(source, (_count(s), *first[1:])) for source in sources)
    ]


def _fits(source: Shape, part: Shape) -> bool:
    """Whether a source can be broadcast to a part of this shape, without the ones that its shape may begin with."""
    return broadcast(part, _trimmed(source, len(part))) == part


def _trimmed(source: Shape, dimensions: int) -> Shape:
    """Returns a shape without the ones that it has before the last dimensions; an assignment leaves them out."""
    while len(source) > dimensions and source[0] == 1:
        source = source[1:]
    return source


def _column_sources(first: Shape) -> list[tuple[Shape, ...]]:
    return _rows(*((*first[:-1], _count(s)) for s in _spans(first[-1]) if s[2] == 1), (*first[:-1], 1), ())


def _columns(*shapes: Shape) -> Choices:
    first, source = shapes
    spans = [s for s in _spans(first[-1]) if s[2] == 1]
    return [{"start": a, "stop": b} for a, b, _ in spans if _fits(source, (*first[:-1], b - a))]


def _row_masks(n: int) -> list[tuple[bool, ...]]:
    at = np.arange(n)
    return list(dict.fromkeys(nested(m) for m in (at % 2 == 0, at % 3 == 1, at >= 0)))  # type: ignore[misc, arg-type]


def _mask_sources(first: Shape) -> list[tuple[Shape, ...]]:
    return _rows(*((sum(m), *first[1:]) for m in _row_masks(first[0])), ())


def _masks(*shapes: Shape) -> Choices:
    first, *sources = shapes
    fitting = [m for m in _row_masks(first[0]) if all(_fits(s, (sum(m), *first[1:])) for s in sources)]
    return [{"mask": m} for m in fitting]


def _pairs(*shapes: Shape) -> Choices:
    """Returns choices of ``index``: two different rows for a source of two rows, one row for a source of one row."""
    first, source = shapes
    n, k = first[0], source[0]
    options = [(n - 1, 0), (0, n - 1)] if k == 2 else [(n - 1,), (0,)]
    return [{"index": i} for i in dict.fromkeys(options) if len(set(i)) == k]


def _repeats(*shapes: Shape) -> Choices:
    n, k = shapes[0][0], shapes[1][0]
    return [{"index": i} for i in dict.fromkeys(((n - 1,) * k, tuple(range(k)) if k <= n else (0,) * k))]


def _pair_sources(first: Shape) -> list[tuple[Shape, ...]]:
    return [((k, *first[1:]),) for k in (1, 2) if k <= first[0]]


def _row_steps(first: Shape) -> list[tuple[int, int, int]]:
    """Returns slices (start, stop, step) of the last dimension: every other element from the first or the second on,
    and the last element only.
    """
    n = first[-1]
    return [s for s in dict.fromkeys([(0, n, 2), (1, n, 2), (n - 1, n, 1)]) if _count(s)]


def _step_sources(first: Shape) -> list[tuple[Shape, ...]]:
    return _rows(*((*first[:-1], _count(s)) for s in _row_steps(first)), (*first[:-1], 1), ())


def _steps(*shapes: Shape) -> Choices:
    first, source = shapes
    fitting = [s for s in _row_steps(first) if _fits(source, (*first[:-1], _count(s)))]
    return [dict(zip(("start", "stop", "step"), s, strict=True)) for s in fitting]


def _element_masks(shape: Shape) -> list[tuple[bool, ...]]:
    """Returns boolean masks of a tensor's elements, as nested tuples: some elements, all, none."""
    at = np.arange(size(shape)).reshape(shape)
    return list(dict.fromkeys(nested(m) for m in (at % 2 == 0, at % 3 == 1, at >= 0, at < 0)))  # type: ignore[misc, arg-type]


def _element_sources(first: Shape) -> list[tuple[Shape, ...]]:
    return _rows((), *((int(np.sum(m)),) for m in _element_masks(first)))


def _elements(*shapes: Shape) -> Choices:
    first, source = shapes
    return [{"mask": m} for m in _element_masks(first) if _fits(source, (int(np.sum(m)),))]


def _points(*shapes: Shape) -> Choices:
    """Returns choices of the index arrays ``rows`` and ``columns``, which select elements of a matrix, each once, some
    counted from the end.
    """
    (n, m), source = shapes
    options = [((0,), (m - 1,)), ((n - 1, 0), (0, m - 1)), ((-1,), (0,))]
    return [
        {"rows": rows, "columns": columns}
        for rows, columns in dict.fromkeys(options)
        if _fits(source, (len(rows),))
        and len({(r % n, c % m) for r, c in zip(rows, columns, strict=True)}) == len(rows)
    ]


def _diagonal(shape: Shape, offset: int) -> int:
    return len(np.diagonal(np.zeros(shape), offset))


def _diagonal_sources(first: Shape) -> list[tuple[Shape, ...]]:
    return _rows((), *((_diagonal(first, k),) for k in (0, 1, -1) if _diagonal(first, k)))


def _diagonals(*shapes: Shape) -> Choices:
    first, source = shapes
    return [{"offset": k} for k in (0, 1, -1) if (n := _diagonal(first, k)) and _fits(source, (n,))]


def _stretched(j, x, source, where):
    """Broadcasts the source to the shape of the part of `x` that `where` selects."""
    shape = where(np.zeros(x.shape)).shape
    return j.np.broadcast_to(source.reshape(_trimmed(source.shape, len(shape))), shape)


def _assigned(choose):
    """Makes the reference function of an assignment: it replaces the part of a tensor that `choose` selects by the
    source, which is broadcast.
    """

    def reference(j, x, source, **attrs):
        where = choose(**attrs)
        return put(j, x, _stretched(j, x, source, where), where)

    return reference


def _constant(choose):
    def reference(j, x, value, **attrs):
        keep = untouched(choose(**attrs), x.shape)
        return x * keep + value * (1 - keep)

    return reference


def _updated(combine, choose):
    """Makes the reference function of an update such as ``x[i] += source``: it combines the part of a tensor that
    `choose` selects with the source.
    """

    def reference(j, x, source, **attrs):
        where = choose(**attrs)
        inside = 1 - untouched(where, x.shape)
        return combine(x, placed(j, _stretched(j, x, source, where), where, x.shape), inside)

    return reference


def _at(index):
    return lambda at: at[index]


def _between(start, stop, step=1):
    return lambda at: at[start:stop:step]


def _last(start, stop):
    return lambda at: at[..., start:stop]


def _where(mask):
    return lambda at: at[np.array(mask)]


def _listed(index):
    return lambda at: at[np.array(index)]


def _stepped(start, stop, step):
    return lambda at: at[..., start:stop:step]


def _pointed(rows, columns):
    return lambda at: at[np.array(rows), np.array(columns)]


def _on_diagonal(offset):
    return lambda at: np.diagonal(at, offset)


def _with_values(choices):
    """Adds a constant ``value`` to choices of attributes: the first choice gets each of `VALUES`, the others
    get one.
    """

    def offered(*shapes: Shape) -> Choices:
        first, *others = choices(*shapes)
        return [*({**first, "value": v} for v in VALUES), *({**c, "value": VALUES[1]} for c in others)]

    return offered


def _tensor(attribute: str) -> str:
    return f"torch.tensor({{{attribute}}}, device={{0}}.device)"


def _op(name: str, torch: str, reference, saves: Certainty, accepts=lambda shape: True, **more) -> Op:
    return Op(name, torch, reference, saves, **more, **shaped(accepts))


# PyTorch frees the recorded write to a part (which is a view) with the graph, like a saved tensor, for any source.
ASSIGNMENTS = (
    _op(
        "set_index_",
        "{0}[{index}] = {1}",
        _assigned(_at),
        MAYBE,
        FILLED,
        rest=_assigned_sources,
        choices=_indices,
    ),
    _op("set_index_fill_", "{0}[{index}] = {value}", _constant(_at), MAYBE, FILLED, choices=_with_values(_indices)),
    _op(
        "set_slice_",
        "{0}[{start}:{stop}:{step}] = {1}",
        _assigned(_between),
        MAYBE,
        FILLED,
        rest=_slice_sources,
        choices=_slices,
    ),
    _op(
        "set_slice_fill_",
        "{0}[{start}:{stop}:{step}] = {value}",
        _constant(_between),
        MAYBE,
        FILLED,
        choices=_with_values(_slices),
    ),
    _op(
        "set_columns_",
        "{0}[..., {start}:{stop}] = {1}",
        _assigned(_last),
        MAYBE,
        FILLED,
        rest=_column_sources,
        choices=_columns,
    ),
    _op(
        "set_steps_",
        "{0}[..., {start}:{stop}:{step}] = {1}",
        _assigned(_stepped),
        MAYBE,
        FILLED,
        rest=_step_sources,
        choices=_steps,
    ),
    _op(
        "set_elements_",
        f"{{0}}[{_tensor('mask')}] = {{1}}",
        _assigned(_where),
        MAYBE,
        FILLED,
        rest=_element_sources,
        choices=_elements,
    ),
    _op(
        "set_points_",
        f"{{0}}[{_tensor('rows')}, {_tensor('columns')}] = {{1}}",
        _assigned(_pointed),
        MAYBE,
        every(nonempty, ranked(2, 2)),
        rest=lambda first: _rows((), (1,), (2,)),
        choices=_points,
    ),
    _op(
        "set_diagonal_",
        "{0}.diagonal({offset})[:] = {1}",
        _assigned(_on_diagonal),
        MAYBE,
        every(nonempty, ranked(2, 2)),
        rest=_diagonal_sources,
        choices=_diagonals,
    ),
    _op(
        "set_mask_",
        f"{{0}}[{_tensor('mask')}] = {{1}}",
        _assigned(_where),
        MAYBE,
        FILLED,
        rest=_mask_sources,
        choices=_masks,
    ),
    _op(
        "set_mask_fill_",
        f"{{0}}[{_tensor('mask')}] = {{value}}",
        _constant(_where),
        MAYBE,
        FILLED,
        choices=_with_values(_masks),
    ),
    _op(
        "set_rows_",
        f"{{0}}[{_tensor('index')}] = {{1}}",
        _assigned(_listed),
        MAYBE,
        FILLED,
        rest=_pair_sources,
        choices=_pairs,
    ),
    _op(
        "index_put_",
        f"{{0}}.index_put_(({_tensor('index')},), {{1}}, accumulate=True)",
        lambda j, x, source, index: x + placed(j, source, _listed(index), x.shape),
        MAYBE,
        FILLED,
        rest=_pair_sources,
        choices=_repeats,
    ),
    _op(
        "add_index_",
        "{0}[{index}] += {1}",
        _updated(lambda x, source, inside: x + source, _at),
        MAYBE,
        FILLED,
        rest=_index_sources,
        choices=_indices,
    ),
    _op(
        "mul_index_",
        "{0}[{index}] *= {1}",
        _updated(lambda x, source, inside: x * (source + 1 - inside), _at),
        Certainty.ALWAYS,
        FILLED,
        rest=_index_sources,
        choices=_indices,
        domains=OPS["multiply"].domains,
    ),
)
