"""Draws tensors, leaves and operands.

An operand is inside the domain of its op: if no value fits, a fresh leaf is created. So no draw is rejected for its
values. Choices run from the newest value to the oldest, which is the order in which Hypothesis shrinks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from autograd_conformance.ops.rows.domains import ANY, Domain
from autograd_conformance.ops.rows.row import POOL, Certainty
from autograd_conformance.ops.rows.shapes import form, size
from autograd_conformance.ops.tables import Op
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs, Leaf, Literal, Ref, Shape
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.strategies.building.drafts.script import Script
from autograd_conformance.strategies.building.layouts import Layout, downstream_op, equal_along, view
from autograd_conformance.strategies.building.randomness.choices import Choices
from autograd_conformance.strategies.building.tensors import literal
from autograd_conformance.strategies.building.unsupported import UnsupportedShape


class Operands:
    """Draws operands for a program: fresh tensors and leaves, and earlier values that fit an op."""

    requiring: Sequence[bool] = (True, True, True, True, False)
    """Values to draw from evenly for `requires_grad` of a fresh operand. Also used for whether a leaf is an input of a
    functional call made in place of a backward call.
    """

    only: int | None = None
    """The place of the one fresh operand of each op that requires grad; None if `requiring` decides."""

    layouts: Sequence[Layout | None] = (None,)
    """The memory layouts of fresh operands, such as "transposed", drawn evenly, simplest first; None is contiguous."""

    def __init__(self, script: Script, choices: Choices, dtype: str | None = None) -> None:
        self._script, self._choices = script, choices

        self.dtype = dtype or choices.pick(tuple(script.alphabet.dtypes))
        """The dtype of new leaves, unless an op draws an operand of another one."""

    def tensor(self, shape: Shape, dtype: str | None = None, domain: Domain = ANY) -> Literal:
        """Draws the values of a tensor of a shape, inside a domain."""
        data = self._choices.raw(size(shape)) if size(shape) else b""
        return literal(data, shape, dtype or self.dtype, domain)

    def leaf(
        self, shape: Shape | None = None, requires_grad: bool = True, domain: Domain = ANY, value: Literal | None = None
    ) -> Ref:
        """Adds a fresh leaf; its shape and values are drawn if not given."""
        script, alphabet = self._script, self._script.alphabet
        if value is None:
            value = self.tensor(self._choices.pick(alphabet.shapes(POOL)) if shape is None else shape, domain=domain)
        if alphabet.traits.scalars and value.shape != ():
            raise UnsupportedShape("the framework has no tensors of several elements")
        if alphabet.absent_forms and form(value.shape) in alphabet.absent_forms:
            raise UnsupportedShape(f"the framework has no leaves that are {form(value.shape)}")
        ref = Ref(script.add(Leaf(value, requires_grad or not alphabet.can(Capability.CONSTANTS))))
        script.leaves.append(ref)
        return ref

    def leaf_of(self, shapes: Sequence[Shape], requires_grad: bool = True) -> Ref:
        """Adds a fresh leaf whose shape is drawn from those of `shapes` that the framework has."""
        return self.leaf(self._choices.pick(self._script.alphabet.shapes(shapes)), requires_grad)

    def vector(self, requires_grad: bool = True) -> Ref:
        """Adds a fresh leaf with three elements, or with one if the framework has no such tensors."""
        return self.leaf((3,) if self._script.alphabet.admits((3,)) else (), requires_grad)

    def operand(
        self,
        op: Op,
        place: int,
        accepts: Callable[[Shape], bool],
        shapes: Sequence[Shape],
        fresh: bool,
        dtype: str | None = None,
        where: Callable[[Ref], bool] | None = None,
    ) -> Ref:
        """Returns an existing value that fits an op, preferably a recent one, or a fresh leaf in the op's domain."""
        domain = op.domain(place)
        values, dtypes = self._script.reference.values, self._script.dtypes
        fitting = [] if fresh else [
            r
            for r in self._script.live
            if (dtype is None or dtypes[r] == dtype) and accepts(values[r].shape) and (where is None or where(r))
        ]  # fmt: skip
        if fitting:
            choice = self._choices.back(len(fitting) + 1)
            if choice < len(fitting):
                at = len(fitting) - 1 - choice
                for ref in (*fitting[at::-1], *fitting[:at:-1]):
                    if domain is ANY or domain.holds(values[ref]):
                        return ref
        value = self.tensor(self._choices.pick(shapes), dtype or self.dtype, domain)
        requires = self._choices.pick(self.requiring) if self.only is None else place == self.only
        return self._leaf_in_layout(value, domain, requires)

    def other_dtype(self, op: Op, first: Ref) -> str | None:
        """Draws a dtype for the other operands that differs from the first operand's; None if the op or the framework
        allows none.
        """
        alphabet = self._script.alphabet
        others = [dtype for dtype in alphabet.dtypes if dtype != self._script.dtypes[first]]
        fits = op.promotes is not Certainty.NEVER and others and alphabet.can(Capability.PROMOTES)
        return self._choices.pick(others) if fits else None

    def fresh(self, shape: Shape, domain: Domain = ANY) -> Ref:
        """Adds a fresh leaf that requires grad, in one of `layouts`."""
        return self._leaf_in_layout(self.tensor(shape, domain=domain), domain, True)

    def _leaf_in_layout(self, value: Literal, domain: Domain, requires_grad: bool) -> Ref:
        """Adds a fresh leaf, and if its shape and domain allow it, a view of the leaf in a memory layout drawn from
        `layouts`.
        """
        layout = self._choices.pick(self.layouts)
        if layout is None or self._script.alphabet.one_element:
            return self.leaf(value=value, requires_grad=requires_grad)
        array = np.array(value.data, value.dtype).reshape(value.shape)
        if layout == "expanded" and array.ndim:
            equal = equal_along(array, self._choices.below(array.ndim))
            array = equal if domain.holds(equal) else array
        made = view(array, layout)
        if made is None or not self._views(made.op, made.literal.shape, made.attrs):
            return self.leaf(value=value, requires_grad=requires_grad)
        return self._script.apply(made.op, (self.leaf(value=made.literal, requires_grad=requires_grad),), made.attrs)[0]

    def with_cotangent_layout(self, value: Ref, layout: Layout | None) -> Ref:
        """Applies a view op to `value`, so that the cotangent of `value` gets a memory layout in backward, and returns
        the result. If that is impossible, returns `value` itself.
        """
        shape = self._script.shape(value)
        made = None if layout is None or self._script.alphabet.one_element else downstream_op(shape, layout)
        if made is None or not self._views(made[0], shape, made[1]):
            return value
        op, attrs = made
        return self._script.apply(op, (value,), attrs)[0]

    def _views(self, op: str, shape: Shape, attrs: Attrs) -> bool:
        """Whether a view op on a value of some shape can be drawn."""
        alphabet = self._script.alphabet
        return op in alphabet.ops and alphabet.unsupported(op, (shape,), attrs) is None
