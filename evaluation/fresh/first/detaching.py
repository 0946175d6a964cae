"""Faults of detaching."""

from __future__ import annotations

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, leaf_of, outcome, total, walked


class DetachHasItsOwnVersion(Fault):
    """A detached value shares memory but not the version counter, so that a write through it to a saved value is not
    detected.
    """

    rule = "writes/error-or-recorded"

    def detach(self, value):
        return value.data


def witness_DetachHasItsOwnVersion(a):
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "multiply_scalar", x, scalar=1.5)
    z = total(a, applied(a, "square", y))
    a.write("mul_scalar_", a.detach(y), [], (("scalar", 10.0),))
    return walked(a, z), held_by(a, x)


class DetachedLeafIsALeafAgain(Fault):
    """Detaching a leaf that requires grad returns a leaf that requires grad: the flag is copied."""

    rule = "detach/values"

    def detach(self, value):
        made = super().detach(value)
        return made.requires_grad_() if value.is_leaf and value.requires_grad else made


def witness_DetachedLeafIsALeafAgain(a):
    d = a.detach(leaf_of(a, [1.0, 2.0]))
    return a.requires_grad(d), walked(a, total(a, d))


class DetachingAViewIsIgnored(Fault):
    """Detaching a view in place does nothing instead of raising."""

    rule = "detach/view-raises"

    def detach_in_place(self, value):
        try:
            super().detach_in_place(value)
        except RuntimeError as error:
            if "Can't detach views in-place" not in str(error):
                raise


def witness_DetachingAViewIsIgnored(a):
    x = leaf_of(a, [1.0, 2.0])
    v = applied(a, "slice", applied(a, "square", x), start=0, stop=1, step=1)
    return outcome(a, lambda: a.detach_in_place(v))
