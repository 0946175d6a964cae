"""Elementwise ops of two or three operands with broadcasting: gradients must be summed to each operand's shape."""

from __future__ import annotations

from autograd_conformance.ops.rows.domains import (
    ABOVE_MINUS_ONE,
    ANY,
    MARGIN,
    MODERATE,
    NONZERO,
    POSITIVE,
    POWERS,
    SMALL,
    SQUARABLE,
)
from autograd_conformance.ops.rows.row import RESULTS, Certainty, Choices, Op, table
from autograd_conformance.ops.rows.selection import nested
from autograd_conformance.ops.rows.shapes import broadcast, broadcasting, broadcasting_two, nonempty, offer, size
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np

ALWAYS, MAYBE, NEVER = Certainty.ALWAYS, Certainty.MAYBE, Certainty.NEVER


def untied(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether corresponding elements of two operands, after broadcasting, differ by at least `MARGIN`."""
    return a.size == 0 or b.size == 0 or bool(np.abs(a - b).min() >= MARGIN)


def _off_origin(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether no pair of corresponding elements of two operands is near (0, 0); one of the two may be 0."""
    return a.size == 0 or b.size == 0 or bool((np.abs(a) + np.abs(b)).min() >= 0.1)


def _off_cut(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether no angle of two operands is near that of (0, -1), where `atan2` jumps, and none is undefined."""
    if a.size == 0 or b.size == 0:
        return True
    return _off_origin(a, b) and not bool(((np.abs(a) < MARGIN) & (b < 0)).any())


def masks(*shapes: Shape) -> Choices:
    """Returns choices of a ``mask`` that broadcasts with the operands: every other element, every third, or one value
    for all.
    """
    shape = shapes[0] if len(shapes) == 1 else broadcast(*shapes)
    if shape is None or not nonempty(shape):
        return [{"mask": True}]
    at = np.arange(size(shape)).reshape(shape)
    return [{"mask": m} for m in dict.fromkeys((nested(at % 2 == 0), nested(at % 3 == 1), True, False))]


_PROMOTES = {"promotes": MAYBE}


def _two(name: str, torch: str, reference, saves: Certainty, *domains, **more) -> Op:
    return Op(name, torch, reference, saves, rest=broadcasting, domains=domains or (ANY,), **_PROMOTES | more)


def _three(name: str, torch: str, reference, saves: Certainty, *domains, **more) -> Op:
    return Op(name, torch, reference, saves, rest=broadcasting_two, domains=domains or (ANY,), **_PROMOTES | more)


def _log1pexp(j, x):
    return j.np.log1p(j.np.exp(x))


BINARY = table(
    "binary",
    _two("add", "{0} + {1}", lambda j, a, b: a + b, NEVER, promotes=ALWAYS),
    _two("subtract", "{0} - {1}", lambda j, a, b: a - b, NEVER, promotes=ALWAYS),
    _two("multiply", "{0} * {1}", lambda j, a, b: a * b, ALWAYS, SQUARABLE, promotes=ALWAYS),
    _two("divide", "{0} / {1}", lambda j, a, b: a / b, ALWAYS, ANY, NONZERO),
    _two("pow", "{0} ** {1}", lambda j, a, b: j.np.exp(b * j.np.log(a)), ALWAYS, POWERS, SMALL),
    _two("ldexp", "torch.ldexp({0}, {1})", lambda j, a, b: a * j.np.exp(b * np.log(2)), ALWAYS, SQUARABLE, SMALL),
    _two("atan2", "torch.atan2({0}, {1})", lambda j, a, b: j.np.arctan2(a, b), ALWAYS, apart=_off_cut),
    _two("hypot", "torch.hypot({0}, {1})", lambda j, a, b: j.np.sqrt(a * a + b * b), ALWAYS, apart=_off_origin),
    _two("logaddexp", "torch.logaddexp({0}, {1})", lambda j, a, b: b + _log1pexp(j, a - b), ALWAYS, MODERATE),
    _two(
        "logaddexp2",
        "torch.logaddexp2({0}, {1})",
        lambda j, a, b: b + _log1pexp(j, (a - b) * np.log(2)) / np.log(2),
        ALWAYS,
        MODERATE,
    ),
    _two("maximum", "torch.maximum({0}, {1})", lambda j, a, b: j.np.where(a > b, a, b), ALWAYS, apart=untied),
    _two("minimum", "torch.minimum({0}, {1})", lambda j, a, b: j.np.where(a < b, a, b), ALWAYS, apart=untied),
    _two("fmax", "torch.fmax({0}, {1})", lambda j, a, b: j.np.where(a > b, a, b), ALWAYS, apart=untied),
    _two("fmin", "torch.fmin({0}, {1})", lambda j, a, b: j.np.where(a < b, a, b), ALWAYS, apart=untied),
    # PyTorch saves the first operand of these two for points where both factors are zero.
    _two("xlogy", "torch.xlogy({0}, {1})", lambda j, a, b: a * j.np.log(b), ALWAYS, ANY, POSITIVE, also_saves=(0,)),
    _two(
        "xlog1py",
        "torch.special.xlog1py({0}, {1})",
        lambda j, a, b: a * j.np.log1p(b),
        ALWAYS,
        ANY,
        ABOVE_MINUS_ONE,
        also_saves=(0,),
    ),
    _two(
        "copysign",
        "torch.copysign({0}, {1})",
        lambda j, a, b: j.np.abs(a) * j.np.sign(b),
        ALWAYS,
        NONZERO,
        also_saves=(RESULTS,),  # saved whichever operand requires grad
    ),
    _two(
        "add_scaled",
        "torch.add({0}, {1}, alpha={alpha})",
        lambda j, a, b, alpha: a + alpha * b,
        MAYBE,
        promotes=ALWAYS,
        choices=offer(alpha=(2.0, -0.5)),
    ),
    _two(
        "subtract_scaled",
        "torch.sub({0}, {1}, alpha={alpha})",
        lambda j, a, b, alpha: a - alpha * b,
        MAYBE,
        promotes=ALWAYS,
        choices=offer(alpha=(2.0, -0.5)),
    ),
    _two(
        "lerp_scalar",
        "torch.lerp({0}, {1}, {weight})",
        lambda j, a, b, weight: a + weight * (b - a),
        MAYBE,
        choices=offer(weight=(0.25, 0.75, 1.5)),
        promotes=NEVER,
    ),
    _two(
        "where",
        "torch.where(torch.tensor({mask}, device={0}.device), {0}, {1})",
        lambda j, a, b, mask: j.np.where(np.array(mask), a, b),
        MAYBE,
        promotes=ALWAYS,
        choices=masks,
    ),
    _three(
        "lerp",
        "torch.lerp({0}, {1}, {2})",
        lambda j, a, b, w: a + w * (b - a),
        ALWAYS,
        SQUARABLE,
        also_saves=(2,),  # saved whichever operand requires grad
        promotes=NEVER,
    ),
    _three(
        "addcmul",
        "torch.addcmul({0}, {1}, {2}, value={value})",
        lambda j, a, b, c, value: a + value * b * c,
        ALWAYS,
        SQUARABLE,
        choices=offer(value=(1, 0.5)),
        unsaved=(0,),
    ),
    _three(
        "addcdiv",
        "torch.addcdiv({0}, {1}, {2}, value={value})",
        lambda j, a, b, c, value: a + value * b / c,
        ALWAYS,
        ANY,
        ANY,
        NONZERO,
        choices=offer(value=(1, 0.5)),
        unsaved=(0,),
        also_saves=(2,),  # saved whichever operand requires grad
    ),
)
