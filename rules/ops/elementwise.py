"""Elementwise ops of one operand: exponentials and logarithms, trigonometry, powers and roots, rounding-free kinks."""

from __future__ import annotations

from rules.ops.domains import ABOVE_ONE, NONZERO, POSITIVE, SMALL, UNIT, off
from rules.ops.op import Op, Saves, table

SURELY, PERHAPS, NEVER = Saves.SURELY, Saves.PERHAPS, Saves.NEVER

ELEMENTWISE = table(
    "elementwise",
    Op("negative", "-{0}", lambda j, x: -x, NEVER),
    Op("exp", "torch.exp({0})", lambda j, x: j.np.exp(x), SURELY, domains=(SMALL,)),
    Op("log", "torch.log({0})", lambda j, x: j.np.log(x), SURELY, domains=(POSITIVE,)),
    Op("sin", "torch.sin({0})", lambda j, x: j.np.sin(x), SURELY),
    Op("acosh", "torch.acosh({0})", lambda j, x: j.np.arccosh(x), SURELY, domains=(ABOVE_ONE,)),
    Op("asin", "torch.asin({0})", lambda j, x: j.np.arcsin(x), SURELY, domains=(UNIT,)),
    Op("reciprocal", "torch.reciprocal({0})", lambda j, x: 1 / x, SURELY, domains=(NONZERO,)),
    Op("abs", "torch.abs({0})", lambda j, x: j.np.abs(x), SURELY, domains=(off(0.0),)),
    Op("sigmoid", "torch.sigmoid({0})", lambda j, x: j.nn.sigmoid(x), SURELY),
)
