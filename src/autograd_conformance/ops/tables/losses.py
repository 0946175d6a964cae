"""Softmax and losses. Targets that are class indices or signs are attributes; targets that are values or probabilities
are operands.
"""

from __future__ import annotations

from autograd_conformance.ops.rows.domains import (
    ANY,
    MARGIN,
    MODERATE,
    POSITIVE,
    PROBABILITY,
    SMALL,
    SQUARABLE,
    off,
)
from autograd_conformance.ops.rows.row import Certainty, Choices, Op, table
from autograd_conformance.ops.rows.selection import nested
from autograd_conformance.ops.rows.shapes import dims, every, having, nonempty, offer, ranked, same, same_two, shaped
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np

ALWAYS, MAYBE = Certainty.ALWAYS, Certainty.MAYBE

SIGNS = "torch.tensor({target}, dtype={0}.dtype, device={0}.device)"
"""The code of a target that is an attribute, with the dtype of the first operand."""

REDUCTION = offer(reduction=("mean", "sum", "none"))


def _log_softmax(j, x, dim):
    shifted = _shifted(j, x, dim)
    return shifted - j.np.log(j.np.sum(j.np.exp(shifted), axis=dim, keepdims=True))


def _softmax(j, x, dim):
    powers = j.np.exp(_shifted(j, x, dim))
    return powers / j.np.sum(powers, axis=dim, keepdims=True)


def _shifted(j, x, dim):
    """The operand minus its maximum, for accuracy: for large numbers only the differences are exact."""
    return x - j.lax.stop_gradient(j.np.max(x, axis=dim, keepdims=True))


def reduce_loss(j, loss, reduction):
    """Returns the losses of all elements, or their mean or sum, as `reduction` says."""
    match reduction:
        case "mean":
            return j.np.mean(loss)
        case "sum":
            return j.np.sum(loss)
        case "none":
            return loss


def _classes(shape: Shape) -> Shape:
    """The shape of a target: the operand's, without the class dimension."""
    return shape[:1] + shape[2:] if len(shape) > 1 else ()


def _targets(shape: Shape) -> Choices:
    """Returns choices of ``target`` (a class index for every sample) and ``reduction``, one for each reduction."""
    at = np.arange(np.prod(_classes(shape), dtype=int)).reshape(_classes(shape))
    classes = shape[1] if len(shape) > 1 else shape[0]
    patterns = [at % classes, (at + 1) * 2 % classes]
    return [{"target": nested(patterns[i % 2]), "reduction": r} for i, r in enumerate(("mean", "sum", "none"))]


def _smoothed(shape: Shape) -> Choices:
    plain = _targets(shape)
    return [{**c, "label_smoothing": 0.0} for c in plain] + [{**plain[0], "label_smoothing": 0.25}]


def _likelihood(j, x, target, reduction):
    """Returns the negated values at the targets, or their mean or sum, as `reduction` says. The classes are in
    dimension 1, or in dimension 0 if there are no samples.
    """
    dim = min(1, x.ndim - 1)
    chosen = np.moveaxis(np.eye(x.shape[dim])[np.array(target)], -1, dim)
    return reduce_loss(j, -j.np.sum(x * chosen, axis=dim), reduction)


def _cross_entropy(j, x, target, reduction, label_smoothing):
    dim = min(1, x.ndim - 1)
    logs = _log_softmax(j, x, dim)
    uniform = reduce_loss(j, -j.np.mean(logs, axis=dim), reduction)
    return (1 - label_smoothing) * _likelihood(j, logs, target, reduction) + label_smoothing * uniform


def _cross_entropy_soft(j, x, target, reduction):
    dim = min(1, x.ndim - 1)
    return reduce_loss(j, -j.np.sum(target * _log_softmax(j, x, dim), axis=dim), reduction)


def _kl_div(j, x, target, reduction):
    return reduce_loss(j, target * (j.np.log(target) - x), reduction)


def _kl_div_log(j, x, target, reduction):
    return reduce_loss(j, j.np.exp(target) * (target - x), reduction)


def _bce(j, x, target, reduction):
    return reduce_loss(j, -(target * j.np.log(x) + (1 - target) * j.np.log1p(-x)), reduction)


def _bce_logits(j, x, target, reduction):
    return reduce_loss(j, j.np.log1p(j.np.exp(x)) - x * target, reduction)


def _huber(j, x, y, reduction, delta):
    d = j.np.abs(x - y)
    return reduce_loss(j, j.np.where(d < delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)


def _poisson(j, x, y, reduction):
    return reduce_loss(j, j.np.exp(x) - y * x, reduction)


def _gaussian(j, x, y, var, reduction):
    return reduce_loss(j, 0.5 * (j.np.log(var) + (x - y) * (x - y) / var), reduction)


def _soft_margin(j, x, target, reduction):
    return reduce_loss(j, j.np.log1p(j.np.exp(-x * np.array(target))), reduction)


def _ranking(j, x, y, target, reduction):
    return reduce_loss(j, j.np.maximum(0.5 - np.array(target) * (x - y), 0.0), reduction)


def _hinge(j, x, target, reduction):
    return reduce_loss(j, j.np.where(np.array(target) == 1, x, j.np.maximum(1 - x, 0.0)), reduction)


def _multilabel(j, x, y, reduction):
    return reduce_loss(j, j.np.mean(_bce_logits(j, x, y, "none"), axis=-1), reduction)


def _signs(shape: Shape) -> Choices:
    at = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    return [{"target": nested(1.0 - 2.0 * (at % 2)), "reduction": r} for r in ("mean", "sum", "none")]


def gap_off(*kinks: float):
    """Returns a test that the absolute difference of two operands is at least `MARGIN` away from each of the given
    kinks.
    """

    def holds(x: np.ndarray, y: np.ndarray) -> bool:
        return all(np.abs(np.abs(x - y) - k).min(initial=np.inf) >= MARGIN for k in kinks)

    return holds


def _filled_dims(*shapes: Shape) -> Choices:
    return dims(shapes[0], low=1)


SAMPLES = shaped(every(nonempty, ranked(1, 4)))
VALUES = shaped(nonempty)


def _loss(name: str, torch: str, reference, *domains, choices=REDUCTION, **more) -> Op:
    return Op(name, f"F.{torch}", reference, ALWAYS, choices=choices, domains=domains or (ANY,), **{**VALUES, **more})


LOSSES = table(
    "losses",
    Op("softmax", "torch.softmax({0}, {dim})", _softmax, ALWAYS, choices=_filled_dims, **shaped(having(1))),
    Op("log_softmax", "torch.log_softmax({0}, {dim})", _log_softmax, ALWAYS, choices=_filled_dims, **shaped(having(1))),
    Op(
        "softmin",
        "F.softmin({0}, {dim})",
        lambda j, x, dim: _softmax(j, -x, dim),
        ALWAYS,
        choices=_filled_dims,
        **shaped(having(1)),
    ),
    _loss(
        "cross_entropy",
        "cross_entropy({0}, torch.tensor({target}, device={0}.device), "
        "reduction={reduction}, label_smoothing={label_smoothing})",
        _cross_entropy,
        choices=_smoothed,
        **SAMPLES,
    ),
    _loss(
        "cross_entropy_soft",
        "cross_entropy({0}, {1}, reduction={reduction})",
        _cross_entropy_soft,
        ANY,
        PROBABILITY,
        choices=offer(reduction=("sum", "none")),
        rest=same,
        **SAMPLES,
    ),
    Op(
        "nll_loss",
        "F.nll_loss({0}, torch.tensor({target}, device={0}.device), reduction={reduction})",
        _likelihood,
        MAYBE,
        choices=_targets,
        also_saves=(0,),  # for its shape
        **SAMPLES,
    ),
    _loss(
        "mse_loss",
        "mse_loss({0}, {1}, reduction={reduction})",
        lambda j, x, y, reduction: reduce_loss(j, (x - y) * (x - y), reduction),
        SQUARABLE,
        rest=same,
    ),
    _loss(
        "l1_loss",
        "l1_loss({0}, {1}, reduction={reduction})",
        lambda j, x, y, reduction: reduce_loss(j, j.np.abs(x - y), reduction),
        rest=same,
        apart=gap_off(0.0),
    ),
    _loss(
        "huber_loss",
        "huber_loss({0}, {1}, reduction={reduction}, delta={delta})",
        _huber,
        rest=same,
        apart=gap_off(1.5),
        choices=offer(reduction=("mean", "sum", "none"), delta=(1.5,)),
    ),
    _loss(
        "smooth_l1_loss",
        "smooth_l1_loss({0}, {1}, reduction={reduction}, beta={beta})",
        lambda j, x, y, reduction, beta: _huber(j, x, y, reduction, beta) / beta,
        rest=same,
        apart=gap_off(0.5),
        choices=offer(reduction=("mean", "sum", "none"), beta=(0.5,)),
    ),
    _loss("kl_div", "kl_div({0}, {1}, reduction={reduction})", _kl_div, ANY, POSITIVE, rest=same),
    _loss("kl_div_log", "kl_div({0}, {1}, reduction={reduction}, log_target=True)", _kl_div_log, ANY, SMALL, rest=same),
    _loss(
        "binary_cross_entropy",
        "binary_cross_entropy({0}, {1}, reduction={reduction})",
        _bce,
        PROBABILITY,
        rest=same,
        also_saves=(1,),  # saved whichever operand requires grad
    ),
    _loss(
        "bce_with_logits",
        "binary_cross_entropy_with_logits({0}, {1}, reduction={reduction})",
        _bce_logits,
        MODERATE,
        rest=same,
        also_saves=(1,),  # saved whichever operand requires grad
    ),
    _loss(
        "poisson_nll_loss", "poisson_nll_loss({0}, {1}, reduction={reduction})", _poisson, SMALL, POSITIVE, rest=same
    ),
    _loss(
        "gaussian_nll_loss",
        "gaussian_nll_loss({0}, {1}, {2}, reduction={reduction})",
        _gaussian,
        SQUARABLE,
        SQUARABLE,
        POSITIVE,
        rest=same_two,
        **shaped(every(nonempty, ranked(1))),
    ),
    _loss(
        "soft_margin_loss",
        f"soft_margin_loss({{0}}, {SIGNS}, reduction={{reduction}})",
        _soft_margin,
        MODERATE,
        choices=_signs,
    ),
    _loss(
        "margin_ranking_loss",
        f"margin_ranking_loss({{0}}, {{1}}, {SIGNS}, margin=0.5, reduction={{reduction}})",
        _ranking,
        MODERATE,
        rest=same,
        choices=lambda *shapes: _signs(shapes[0]),
        apart=gap_off(0.5),
    ),
    _loss(
        "hinge_embedding_loss",
        f"hinge_embedding_loss({{0}}, {SIGNS}, reduction={{reduction}})",
        _hinge,
        off(1.0),
        choices=_signs,
    ),
    _loss(
        "multilabel_soft_margin_loss",
        "multilabel_soft_margin_loss({0}, {1}, reduction={reduction})",
        _multilabel,
        MODERATE,
        PROBABILITY,
        rest=same,
        **shaped(every(nonempty, ranked(1, 2))),
    ),
)
