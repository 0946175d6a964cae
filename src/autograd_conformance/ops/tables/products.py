"""Products of matrices, vectors and batches, contracted in every rank and order."""

from __future__ import annotations

from collections.abc import Callable

from autograd_conformance.ops.rows.domains import SQUARABLE, UNIT, strictly
from autograd_conformance.ops.rows.row import LARGEST, POOL, Certainty, Choices, Op, table
from autograd_conformance.ops.rows.shapes import (
    broadcast,
    every,
    growing,
    nonempty,
    offer,
    ranked,
    same,
    same_two,
    shaped,
    size,
    small,
)
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np

ALWAYS = Certainty.ALWAYS


def _product_shape(a: Shape, b: Shape) -> Shape | None:
    """The shape of a matrix product; None if the shapes do not match."""
    if a[-1] != b[-2 if len(b) > 1 else -1]:
        return None
    batch = broadcast(a[:-2], b[:-2])
    return None if batch is None else (*batch, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


def _factors(first: Shape) -> list[tuple[Shape, ...]]:
    """Returns shapes of the right factor of a matrix product: a vector, then matrices and batches of `POOL` with the
    matching height.
    """
    n = first[-1]
    options = dict.fromkeys([(n,), *(s for s in POOL if s), (n, 2)])
    return [(s,) for s in options if (c := _product_shape(first, s)) is not None and small(c)]


def _matrices(first: Shape) -> list[tuple[Shape, ...]]:
    return [((first[-1], k),) for k in (2, 1, 3) if size(first[:-1]) * k <= LARGEST]


EQUATIONS = (
    "i,i->",
    "i,j->ij",
    "ij,j->i",
    "ij,jk->ik",
    "ij,kj->ik",
    "ij,ij->j",
    "ij,i->ji",
    "ij,kl->kjil",
    "bij,bij->bi",
    "i,ij->j",
)


def _lengths(equation: str, shapes: tuple[Shape, ...]) -> dict[str, set[int]] | None:
    """Returns the lengths of each letter's dimensions in an einsum equation; None if the equation does not fit the
    ranks.
    """
    terms = equation.split("->")[0].split(",")
    if [len(t) for t in terms] != [len(s) for s in shapes]:
        return None
    lengths: dict[str, set[int]] = {}
    for letter, n in zip("".join(terms), (n for s in shapes for n in s), strict=True):
        lengths.setdefault(letter, set()).add(n)
    return lengths


def _fitting(shapes: tuple[Shape, ...], fits: Callable[[list[set[int]]], bool]) -> Choices:
    found = [(e, n) for e in EQUATIONS if (n := _lengths(e, shapes)) is not None and fits([*n.values()])]
    return [{"equation": e} for e, n in found if np.prod([max(n[c]) for c in e.split("->")[1]]) <= LARGEST]


def _equations(*shapes: Shape) -> Choices:
    return _fitting(shapes, lambda lengths: all(len(n) == 1 for n in lengths))


def _stretching(*shapes: Shape) -> Choices:
    """Returns the equations in which some letter's dimension has length 1 in one operand and is longer in the other."""

    def fits(lengths: list[set[int]]) -> bool:
        uneven = [n for n in lengths if len(n) > 1]
        return bool(uneven) and all(1 in n and 0 not in n and len(n) == 2 for n in uneven)

    return _fitting(shapes, fits)


def _stretched_partners(first: Shape) -> list[tuple[Shape, ...]]:
    return [(s,) for s in POOL if _stretching(first, s)]


def _einsum_partners(first: Shape) -> list[tuple[Shape, ...]]:
    return [(s,) for s in dict.fromkeys([first, *POOL]) if _equations(first, s)]


def _contractions(*shapes: Shape) -> Choices:
    a, b = shapes
    counts = [k for k in (1, 0, 2) if k <= min(len(a), len(b)) and a[len(a) - k :] == b[:k]]
    return [{"dims": k} for k in counts if small((*a[: len(a) - k], *b[k:]))]


def _contracted(first: Shape) -> list[tuple[Shape, ...]]:
    return [(s,) for s in dict.fromkeys([(first[-1],), *POOL]) if _contractions(first, s)]


def _same_last(first: Shape) -> list[tuple[Shape, ...]]:
    return [(s,) for s in dict.fromkeys([first, *POOL]) if s[-1:] == first[-1:] and small(first[:-1] + s[:-1])]


def _vectors(first: Shape) -> list[tuple[Shape, ...]]:
    return [((n,),) for n in (2, 3, 1) if n * size(first) <= LARGEST]


def _weights(first: Shape) -> list[tuple[Shape, ...]]:
    options = [((n, first[-1]),) for n in (2, 1, 3) if size(first[:-1]) * n <= LARGEST]
    return [*options, ((first[-1],),)]


def _biased(first: Shape) -> list[tuple[Shape, ...]]:
    return [((n, first[-1]), (n,)) for n in (2, 1, 3) if size(first[:-1]) * n <= LARGEST]


def _linear(j, x, weight, bias=0.0):
    return j.np.matmul(x, weight.T) + bias


def _dim3(shape: Shape) -> Choices:
    return [{"dim": d} for d, n in enumerate(shape) if n == 3]


def _cross(j, a, b, dim):
    def turned(x, by):
        return j.np.roll(x, -by, axis=dim)

    return turned(a, 1) * turned(b, 2) - turned(a, 2) * turned(b, 1)


def _kron(j, a, b):
    rank = max(a.ndim, b.ndim)
    sizes = [(1,) * (rank - x.ndim) + x.shape for x in (a, b)]
    left = j.np.reshape(a, [n for m in sizes[0] for n in (m, 1)])
    right = j.np.reshape(b, [n for m in sizes[1] for n in (1, m)])
    return j.np.reshape(left * right, [m * n for m, n in zip(*sizes, strict=True)])


def _kron_partners(first: Shape) -> list[tuple[Shape, ...]]:
    return [(s,) for s in ((2,), (1, 2), (2, 1), (3,), (2, 2)) if size(s) * size(first) <= LARGEST]


def _chains(first: Shape) -> list[tuple[Shape, ...]]:
    return [((first[1], 2), (2, 3)), ((first[1], 3), (3, 1)), ((first[1], 1), (1, 2))]


def _bilinear_rest(first: Shape) -> list[tuple[Shape, ...]]:
    return [((*first[:-1], 2), (2, first[-1], 2), (2,)), ((*first[:-1], 1), (1, first[-1], 1), (1,))]


def _add_product(j, x, a, b, beta, alpha):
    return beta * x + alpha * j.np.matmul(a, b)


def _attention(j, query, key, value, is_causal):
    scores = j.np.matmul(query, j.np.swapaxes(key, -1, -2)) / query.shape[-1] ** 0.5
    powers = j.np.exp(scores - j.lax.stop_gradient(j.np.max(scores, axis=-1, keepdims=True)))
    seen = np.tril(np.ones(scores.shape[-2:])) if is_causal else np.ones(scores.shape[-2:])
    return j.np.matmul(powers * seen / j.np.sum(powers * seen, axis=-1, keepdims=True), value)


def _op(name: str, torch: str, reference, rest, accepts, **more) -> Op:
    return Op(name, torch, reference, ALWAYS, rest=rest, domains=(SQUARABLE,), **more, **shaped(accepts, (2, 2, 2)))


def _added(name: str, factors, accepts, reference=_add_product) -> Op:
    """Makes the row of an op such as `addmm`, which adds a product to its first operand, with a factor for each."""
    torch = f"torch.{name}({{0}}, {{1}}, {{2}}, beta={{beta}}, alpha={{alpha}})"
    return _op(name, torch, reference, factors, accepts, choices=offer(beta=(1, 0.5), alpha=(1, -2)), unsaved=(0,))


ATTENTION = Op(
    "scaled_dot_product_attention",
    "F.scaled_dot_product_attention({0}, {1}, {2}, is_causal={is_causal})",
    _attention,
    ALWAYS,
    rest=same_two,
    choices=offer(is_causal=(False, True)),
    domains=(strictly(UNIT), strictly(UNIT), SQUARABLE),
    **shaped(every(nonempty, ranked(2, 3)), (2, 2, 2)),
)

PRODUCTS = table(
    "products",
    ATTENTION,
    _op("matmul", "{0} @ {1}", lambda j, a, b: j.np.matmul(a, b), _factors, ranked(1)),
    _op("mm", "torch.mm({0}, {1})", lambda j, a, b: j.np.matmul(a, b), _matrices, ranked(2, 2)),
    _op("mv", "torch.mv({0}, {1})", lambda j, a, b: j.np.matmul(a, b), lambda first: [((first[1],),)], ranked(2, 2)),
    _op("dot", "torch.dot({0}, {1})", lambda j, a, b: j.np.sum(a * b), same, ranked(1, 1)),
    _op(
        "bmm",
        "torch.bmm({0}, {1})",
        lambda j, a, b: j.np.matmul(a, b),
        lambda first: [((first[0], first[2], n),) for n in (2, 1)],
        every(ranked(3, 3), lambda s: s[0] * s[1] * 2 <= LARGEST),
    ),
    _op(
        "vecdot",
        "torch.linalg.vecdot({0}, {1}, dim={dim})",
        lambda j, a, b, dim: j.np.sum(a * b, axis=dim),
        same,
        ranked(1),
        choices=lambda *shapes: [{"dim": d} for d in (-1, *range(len(shapes[0]) - 1))],
    ),
    _op(
        "outer",
        "torch.outer({0}, {1})",
        lambda j, a, b: a[:, None] * b[None, :],
        _vectors,
        every(ranked(1, 1), growing(3)),
    ),
    _op(
        "inner",
        "torch.inner({0}, {1})",
        lambda j, a, b: j.np.tensordot(a, b, axes=(-1, -1)),
        _same_last,
        every(ranked(1), lambda s: bool(_same_last(s))),
    ),
    _op(
        "tensordot",
        "torch.tensordot({0}, {1}, dims={dims})",
        lambda j, a, b, dims: j.np.tensordot(a, b, axes=dims),
        _contracted,
        ranked(1),
        choices=_contractions,
    ),
    _op(
        "einsum",
        "torch.einsum({equation}, {0}, {1})",
        lambda j, a, b, equation: j.np.einsum(equation, a, b),
        _einsum_partners,
        ranked(1, 3),
        choices=_equations,
    ),
    _op(
        "einsum_broadcast",
        "torch.einsum({equation}, {0}, {1})",
        lambda j, a, b, equation: j.np.einsum(equation, a, b),
        _stretched_partners,
        lambda s: bool(_stretched_partners(s)),
        choices=_stretching,
    ),
    _op(
        "einsum_three",
        "torch.einsum({equation}, {0}, {1}, {2})",
        lambda j, a, b, c, equation: j.np.einsum(equation, a, b, c),
        lambda first: [((first[0],), (first[1],))],
        ranked(2, 2),
        choices=offer(equation=("ij,i,j->", "ij,i,j->ij", "ij,i,j->ji")),
    ),
    _op("kron", "torch.kron({0}, {1})", _kron, _kron_partners, every(growing(2), ranked(0, 3))),
    _op(
        "cross",
        "torch.linalg.cross({0}, {1}, dim={dim})",
        _cross,
        same,
        every(nonempty, lambda s: 3 in s),
        choices=lambda *shapes: _dim3(shapes[0]),
    ),
    _op("linear", "F.linear({0}, {1})", lambda j, x, weight: j.np.matmul(x, weight.T), _weights, ranked(1)),
    _op("linear_bias", "F.linear({0}, {1}, bias={2})", _linear, _biased, ranked(1), unsaved=(2,)),
    _op(
        "bilinear",
        "F.bilinear({0}, {1}, {2}, bias={3})",
        lambda j, a, b, weight, bias: j.np.einsum("...i,oik,...k->...o", a, weight, b) + bias,
        _bilinear_rest,
        every(ranked(2, 3), lambda s: s[-1] > 0 and size(s[:-1]) * 2 <= LARGEST),
        unsaved=(3,),
    ),
    _op(
        "multi_dot",
        "torch.linalg.multi_dot([{0}, {1}, {2}])",
        lambda j, a, b, c: j.np.matmul(j.np.matmul(a, b), c),
        _chains,
        every(ranked(2, 2), lambda s: s[0] <= 8),
    ),
    _added("addmm", lambda s: [((s[0], k), (k, s[1])) for k in (2, 1, 3)], ranked(2, 2)),
    _added("addmv", lambda s: [((s[0], k), (k,)) for k in (2, 1, 3)], ranked(1, 1)),
    _added(
        "addr",
        lambda s: [((s[0],), (s[1],))],
        ranked(2, 2),
        lambda j, x, a, b, beta, alpha: beta * x + alpha * a[:, None] * b[None, :],
    ),
    _added("baddbmm", lambda s: [((s[0], s[1], k), (s[0], k, s[2])) for k in (2, 1)], ranked(3, 3)),
)
