"""Losses that are zero beyond a margin, and the loss of a sequence of classes whose places in time are not known."""

from __future__ import annotations

from itertools import groupby, product

from autograd_conformance.ops.rows.domains import DIFFERENCES_OFF_ONE, MARGIN, MODERATE, ZEROS_APART
from autograd_conformance.ops.rows.row import Certainty, Choices, Op, table
from autograd_conformance.ops.rows.selection import entry, logsumexp, nested, stacked
from autograd_conformance.ops.rows.shapes import every, nonempty, ranked, same, same_two, shaped
from autograd_conformance.ops.tables.distances import norm
from autograd_conformance.ops.tables.losses import REDUCTION, SIGNS, reduce_loss
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np

TRIPLET_MARGIN = 0.75
"""The margin of the triplets."""


def _hinges(j, x, target):
    """Returns, for each class but the target's, by how much its number is above the target's minus one."""
    chosen = np.eye(x.shape[-1])[np.array(target)]
    return j.np.maximum(1 - j.np.sum(x * chosen, axis=-1, keepdims=True) + x, 0.0) * (1 - chosen)


def _multi_margin(j, x, target, p, reduction):
    hinges = _hinges(j, x, target)
    return reduce_loss(j, j.np.mean(hinges if p == 1 else hinges * hinges, axis=-1), reduction)


def _multilabel_margin(j, x, target, reduction):
    """Each target is a row of classes that ends with the first -1."""
    rows = np.array(target).reshape(-1, x.shape[-1])
    weights = np.zeros((len(rows), x.shape[-1], x.shape[-1]))
    for at, row in enumerate(rows):
        classes = list(row[: [*row, -1].index(-1)])
        for c in classes:
            weights[at, c, [i for i in range(x.shape[-1]) if i not in classes]] = 1.0
    weights = weights.reshape(*x.shape, x.shape[-1])
    hinges = j.np.maximum(1 - x[..., :, None] + x[..., None, :], 0.0) * weights
    return reduce_loss(j, j.np.sum(hinges, axis=(-2, -1)) / x.shape[-1], reduction)


def _triplet(j, anchor, positive, negative, p, reduction):
    near, far = (norm(j, anchor - other + 1e-6, p, axis=-1) for other in (positive, negative))
    return reduce_loss(j, j.np.maximum(TRIPLET_MARGIN + near - far, 0.0), reduction)


def _triplets_apart(anchor: np.ndarray, positive: np.ndarray, negative: np.ndarray) -> bool:
    for p in (2, 3):
        near, far = ((np.abs(anchor - other) ** p).sum(-1) ** (1 / p) for other in (positive, negative))
        if min(near.min(), far.min(), np.abs(TRIPLET_MARGIN + near - far).min()) < MARGIN:
            return False
    return True


def _cosine_embedding(j, x, y, target, reduction):
    first, second = (j.np.sum(v * v, axis=-1) + 1e-12 for v in (x, y))
    found = j.np.sum(x * y, axis=-1) / j.np.sqrt(first * second)
    return reduce_loss(j, j.np.where(np.array(target) == 1, 1 - found, j.np.maximum(found + 0.5, 0.0)), reduction)


def _cosines_apart(x: np.ndarray, y: np.ndarray) -> bool:
    cosines = (x * y).sum(-1) / np.sqrt((x * x).sum(-1) * (y * y).sum(-1))
    return bool(np.abs(cosines + 0.5).min() >= MARGIN)


def _ctc(j, x, target, input_lengths, target_lengths, reduction):
    """Sums over all paths through time that give the target if repetitions and then blanks (class 0) are removed."""
    logs = x - logsumexp(j, x, -1, keepdims=True)
    losses = []
    for at, (labels, length) in enumerate(zip(target, input_lengths, strict=True)):
        paths = [p for p in product(range(x.shape[-1]), repeat=length) if _label(p) == labels]
        scores = [sum(entry(j, logs, t, at, c) for t, c in enumerate(path)) for path in paths]
        losses.append(-logsumexp(j, stacked(j, scores, 0), 0))
    found = stacked(j, losses, 0)
    return j.np.mean(found / len(target[0])) if reduction == "mean" else reduce_loss(j, found, reduction)


def _label(path: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(c for c, _ in groupby(path) if c)


def _reductions(found: Choices) -> Choices:
    """The given choices, each with another reduction."""
    return [{**each, "reduction": ("mean", "sum", "none")[i % 3]} for i, each in enumerate(found)]


def _classes(shape: Shape) -> Choices:
    at = np.arange(np.prod(shape[:-1], dtype=int)).reshape(shape[:-1])
    targets = [nested((at + i) % shape[-1]) for i in range(3)]
    return _reductions([{"target": t, "p": p} for t, p in zip(targets, (1, 1, 2), strict=True)])


def _label_rows(shape: Shape) -> Choices:
    n = shape[-1]
    rows = [[0, *[-1] * (n - 1)], [n - 1, 0, *[-1] * (n - 2)], [-1] * n]
    if len(shape) == 1:
        return _reductions([{"target": tuple(row)} for row in rows])
    return _reductions([{"target": nested(np.array([rows[(i + k) % 3] for k in range(shape[0])]))} for i in range(3)])


def _sequences(shape: Shape) -> Choices:
    times, batch, classes = shape
    whole, shorter = (times,) * batch, (*(times,) * (batch - 1), times - 1)
    labels = [(1,), (classes - 1,), (1, classes - 1), (1, 1)][: 4 if times > 2 else 2]
    options = [*((label, whole) for label in labels), ((1,), shorter)]
    return _reductions(
        [
            {"target": (label,) * batch, "input_lengths": lengths, "target_lengths": (len(label),) * batch}
            for label, lengths in options
        ]
    )


def _signs(*shapes: Shape) -> Choices:
    at = np.arange(np.prod(shapes[0][:-1], dtype=int)).reshape(shapes[0][:-1])
    return _reductions([{"target": nested(1.0 - 2.0 * ((at + i) % 2))} for i in range(3)])


def _op(name: str, torch: str, reference, accepts, *domains, fresh=(), **more) -> Op:
    torch = f"F.{torch}, reduction={{reduction}})"
    return Op(name, torch, reference, Certainty.ALWAYS, domains=domains, **more, **shaped(accepts, *fresh))


ROWS = every(nonempty, ranked(1, 2), lambda shape: shape[-1] > 1)
LABELS = "torch.tensor({target}, device={0}.device)"

MARGINS = table(
    "margins",
    _op(
        "multi_margin_loss",
        f"multi_margin_loss({{0}}, {LABELS}, p={{p}}",
        _multi_margin,
        ROWS,
        DIFFERENCES_OFF_ONE,
        choices=_classes,
    ),
    _op(
        "multilabel_margin_loss",
        f"multilabel_margin_loss({{0}}, {LABELS}",
        _multilabel_margin,
        ROWS,
        DIFFERENCES_OFF_ONE,
        choices=_label_rows,
    ),
    _op(
        "triplet_margin_loss",
        f"triplet_margin_loss({{0}}, {{1}}, {{2}}, margin={TRIPLET_MARGIN}, p={{p}}",
        _triplet,
        every(nonempty, ranked(1, 2)),
        MODERATE,
        rest=same_two,
        choices=lambda *shapes: [{**each, "p": p} for each, p in zip(REDUCTION(), (2, 2, 3), strict=True)],
        apart=_triplets_apart,
    ),
    _op(
        "cosine_embedding_loss",
        f"cosine_embedding_loss({{0}}, {{1}}, {SIGNS}, margin=-0.5",
        _cosine_embedding,
        ROWS,
        ZEROS_APART,
        rest=same,
        choices=_signs,
        apart=_cosines_apart,
    ),
    _op(
        "ctc_loss",
        f"ctc_loss(torch.log_softmax({{0}}, -1), {LABELS}, {{input_lengths}}, {{target_lengths}}",
        _ctc,
        every(ranked(3, 3), nonempty, lambda s: s[0] in (2, 3) and 3 <= s[2] <= 4),
        MODERATE,
        fresh=((2, 1, 3), (3, 1, 3), (2, 2, 3), (3, 2, 3)),
        choices=_sequences,
    ),
)
