"""`OpBuilder` draws ops and operands into a draft. Each op is valid when it is drawn.

An op gets only operands inside its domain; if no value fits, a fresh leaf is created. So no draw is rejected for its
values. Choices run from the newest value to the oldest and from the simplest op to the rarest, which is the order in
which Hypothesis shrinks.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence

from autograd_conformance.ops.rows.domains import ANY, Domain
from autograd_conformance.ops.rows.row import LARGEST, POOL, Certainty, arity, choices_of, rest_of, takes
from autograd_conformance.ops.tables import OPS, VIEWS, Op
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Apply, Attrs, DefaultDtype, Literal, Ref, Shape
from autograd_conformance.programs.operands import operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.strategies.building.alphabet import SAVING
from autograd_conformance.strategies.building.draft import Draft, Unsupported, UnsupportedShape
from autograd_conformance.strategies.building.layouts import Layout, downstream_op, equal_along, view

LIMIT = 100.0
"""Largest absolute value of a result. If an op would exceed it, an op of `CALM` is applied instead."""

CALM = ("tanh", "sin", "cos", "sigmoid", "negative")
"""Ops that accept every value, with results no larger in magnitude than the operand or 1."""

Rarity = typing.Literal["beside", "mixed", "default"]
"""Rare features: the second operand is a view of the first; operands of several dtypes; another default dtype."""

RARE: dict[Rarity, int] = {"beside": 16, "mixed": 12, "default": 12}
"""One in this many ops or programs has the feature. Hypothesis treats ranges of up to 10 numbers as alternatives."""

OTHER_DEFAULT = "float64"
"""The default dtype of some programs that compute in a narrower one."""

_NONEMPTY = tuple(s for s in POOL if 0 not in s)


class OpBuilder(Draft):
    """A draft that draws its ops."""

    largest = 2 * LARGEST
    """Largest number of elements of a result."""
    layouts: Sequence[Layout | None] = (None,)
    """The layouts of fresh operands, drawn evenly, simplest first; None is contiguous."""

    def begin(self) -> None:
        """Begin a program; rarely with another default dtype."""
        # drawn in either dtype, so that a program shrinks from one dtype to the other
        rare = self.can(Capability.DEFAULT_DTYPE) and self.rarely("default")
        if rare and self.dtype != OTHER_DEFAULT:
            self.add(DefaultDtype(OTHER_DEFAULT))

    # -- drawing ops --------------------------------------------------------------------------------------------------

    def op(self, name: str | None = None, fresh: bool = False, on: Ref | None = None) -> list[Ref]:
        """Append a drawn op, or the named one, on drawn operands, and return its results. With `fresh` all operands are
        new leaves. `on` is the first operand if the op accepts it.
        """
        if name is None and not self.alphabet.weighted:
            raise Unsupported("no program can be drawn: the framework has no working op")
        op = self.alphabet.row(name or self.pick(self.alphabet.weighted))
        first = (
            on
            if on is not None and self._fits(op, 0, on)
            else self._operand(op, 0, lambda shape: takes(op, shape), self.shapes(op.fresh), fresh)
        )
        options = rest_of(op, self.shape(first))
        if self.alphabet.limits_shapes:
            options = tuple(shapes for shapes in options if all(map(self.alphabet.admits, shapes)))
            if not options:
                return [first]
        others = self._beside(op, first, options) if options[0] and self.rarely("beside") else []
        if others:
            options = tuple(shapes for shapes in options if shapes[0] == self.shape(others[0]))
        dtype = self.dtypes[first]
        other = self.other_dtype(op, first) if op.promotes and self.rarely("mixed") else None
        if len(options[0]) == 1 and not fresh and other is None and not others:
            fitting = {shape for (shape,) in options}
            others.append(self._operand(op, 1, fitting.__contains__, [s for (s,) in options], fresh, dtype))
        else:
            for k, shape in enumerate(self.pick(options)[len(others) :], 1 + len(others)):
                mixed = other is not None and bool(shape) == bool(self.shape(first))
                others.append(self._operand(op, k, shape.__eq__, (shape,), fresh, other if mixed else dtype))
        args = (first, *others)
        attrs = self.pick(choices_of(op, tuple([self.shape(r) for r in args])))
        return self.checked(op, args, attrs)

    def rarely(self, rarity: Rarity) -> bool:
        """Draw whether this op or program has a rare feature."""
        return self.below(RARE[rarity]) == RARE[rarity] - 1

    def _beside(self, op: Op, first: Ref, options: Sequence[tuple[Shape, ...]]) -> list[Ref]:
        """A view of the first operand that can be the second operand of an op. `options` are the shapes that the other
        operands may have together. The list is empty if no view fits.
        """
        shapes = {shapes[0] for shapes in options}

        def suits(value: np.ndarray) -> bool:
            """Whether a value may be the second operand."""
            return value.shape in shapes and op.domain(1).holds(value)

        rows = [self.alphabet.row(name) for name in self.alphabet.ops if name in VIEWS]
        views = [row for row in rows if takes(row, self.shape(first))]
        at = self.below(max(1, len(views)))
        for row in (*views[at:], *views[:at]):
            attrs = self.pick(choices_of(row, (self.shape(first),)))
            made = self.reference.apply(row.name, (first,), attrs)
            if made and suits(made[0]):
                return [ref for ref in self.checked(row, (first,), attrs)[:1] if suits(self.reference.values[ref])]
        return []

    def other_dtype(self, op: Op, first: Ref) -> str | None:
        """A dtype for the other operands that differs from the first operand's; None if the op or the framework allows
        none.
        """
        others = [dtype for dtype in self.alphabet.dtypes if dtype != self.dtypes[first]]
        fits = op.promotes is not Certainty.NEVER and others and self.can(Capability.PROMOTES)
        return self.pick(others) if fits else None

    def checked(self, op: Op, args: tuple[Ref, ...], attrs: Attrs) -> list[Ref]:
        """Append an op and return its results. If a result would be too large, or operands are tied, an op of `CALM` is
        applied to the first operand instead; if there is none, the first operand is returned.
        """
        values = self.reference.values
        if op.apart is None or op.apart(*(values[r] for r in args)):
            made = self.reference.apply(op.name, args, attrs)
            fits = not self.alphabet.one_element or all(self.alphabet.admits(np.shape(y)) for y in made)
            if fits and all(
                y.size <= self.largest and y.ndim <= 5 and (not y.size or np.abs(y).max() <= LIMIT) for y in made
            ):
                at = self.add(Apply(op.name, args, attrs, len(made)))
                return [Ref(at, k) for k in range(len(made))]
        calm = next((name for name in CALM if name in self.alphabet.ops), None)
        return self.apply(calm, args[:1]) if calm else [args[0]]

    def form(self, op: Op, operands: Sequence[Shape], attrs: Attrs) -> list[Ref]:
        """Append an op with these attributes on fresh leaves of these shapes. Return its results."""
        leaves = [self.leaf(value=self.tensor(shape, self.dtype, op.domain(k))) for k, shape in enumerate(operands)]
        return self.checked(op, tuple(leaves), attrs)

    def _fits(self, op: Op, place: int, ref: Ref) -> bool:
        return takes(op, self.shape(ref)) and op.domain(place).holds(self.reference.values[ref])

    def _operand(
        self,
        op: Op,
        place: int,
        accepts: Callable[[Shape], bool],
        shapes: Sequence[Shape],
        fresh: bool,
        dtype: str | None = None,
        where: Callable[[Ref], bool] | None = None,
    ) -> Ref:
        """An existing value that fits, preferably a recent one, or a fresh leaf in the op's domain."""
        domain = op.domain(place)
        values, dtypes = self.reference.values, self.dtypes
        fitting = [] if fresh else [
            r
            for r in self.live
            if (dtype is None or dtypes[r] == dtype) and accepts(values[r].shape) and (where is None or where(r))
        ]  # fmt: skip
        if fitting:
            choice = self.back(len(fitting) + 1)
            if choice < len(fitting):
                at = len(fitting) - 1 - choice
                for ref in (*fitting[at::-1], *fitting[:at:-1]):
                    if domain is ANY or domain.holds(self.reference.values[ref]):
                        return ref
        value = self.tensor(self.pick(shapes), dtype or self.dtype, domain)
        return self._leaf_in_layout(value, domain, self.pick(self.requiring))

    def _leaf_in_layout(self, value: Literal, domain: Domain, requires_grad: bool) -> Ref:
        """A fresh leaf, or a view of one in a drawn layout of `layouts` if its shape and domain allow it."""
        layout = self.pick(self.layouts)
        if layout is None or self.alphabet.one_element:
            return self.leaf(value=value, requires_grad=requires_grad)
        array = np.array(value.data, value.dtype).reshape(value.shape)
        if layout == "expanded" and array.ndim:
            equal = equal_along(array, self.below(array.ndim))
            array = equal if domain.holds(equal) else array
        made = view(array, layout)
        if made is None or not self._views(made.op, made.literal.shape, made.attrs):
            return self.leaf(value=value, requires_grad=requires_grad)
        return self.apply(made.op, (self.leaf(value=made.literal, requires_grad=requires_grad),), made.attrs)[0]

    def _views(self, op: str, shape: Shape, attrs: Attrs) -> bool:
        """Whether a view op on a value of some shape can be drawn."""
        return op in self.alphabet.ops and self.alphabet.unsupported(op, (shape,), attrs) is None

    def with_cotangent_layout(self, value: Ref, layout: Layout | None) -> Ref:
        """A view op applied to `value`, so that the cotangent of `value` gets a layout. If that is impossible, `value`
        itself.
        """
        made = None if layout is None or self.alphabet.one_element else downstream_op(self.shape(value), layout)
        if made is None or not self._views(made[0], self.shape(value), made[1]):
            return value
        op, attrs = made
        return self.apply(op, (value,), attrs)[0]

    def grow(self, least: int, most: int) -> None:
        """Append between `least` and `most` drawn ops."""
        for _ in range(least + self.below(most - least + 1)):
            self.op()

    # -- values with a property ---------------------------------------------------------------------------------------

    def required(self) -> Ref:
        """A non-empty value that requires grad: an existing one or a fresh leaf."""
        options = [r for r in self.live if self.requires(r) and self.reference.values[r].size]
        if options and self.below(4) < 3:
            return self.recent(options)
        return self.leaf(self.pick(self.shapes(_NONEMPTY)))

    def nonlinear(self, value: Ref, name: str | None = None) -> Ref:
        """The result of an op that saves tensors, with `value` for all its operands. If the framework has no such op,
        the result of any op that accepts `value`.
        """
        name = name or self.pick(self.saving_ops() or self.substitutes(value))
        args = (value,) * arity(OPS[name])
        attrs = choices_of(self.alphabet.row(name), tuple(map(self.shape, args)))
        return self.apply(name, args, attrs[0] if attrs else ())[0]

    def saving_ops(self) -> tuple[str, ...]:
        found = [[n for n in names if n in self.alphabet.ops] for names in (SAVING[:5], SAVING[5:])]
        return tuple(found[0] or found[1])

    def substitutes(self, value: Ref) -> tuple[str, ...]:
        """The ops that can replace the usual saving ops: those that always save and keep the shape of `value`, or if
        the framework has none that saves, those that accept `value`. Raises `UnsupportedShape` if there are none.
        """
        rows = [self.alphabet.row(name) for name in self.alphabet.ops]
        saving = [row for row in rows if row.saves is Certainty.ALWAYS]
        made = {row.name: self._made(row, (value,) * arity(row)) for row in saving or rows}
        same = tuple(name for name, shape in made.items() if shape == self.shape(value))
        found = same or tuple(name for name, shape in made.items() if shape is not None and not saving)
        if not found:
            raise UnsupportedShape("the framework has no op that the situation could apply to this value")
        return found

    def _made(self, row: Op, args: tuple[Ref, ...]) -> Shape | None:
        """The shape of an op's result on some values. None if the op does not accept them, or its result is too large,
        or it has several results.
        """
        values = [self.reference.values[ref] for ref in args]
        shapes = tuple(map(self.shape, args))
        taken = len(args) == arity(row) and takes(row, shapes[0]) and shapes[1:] in rest_of(row, shapes[0])
        holds = taken and all(row.domain(k).holds(value) for k, value in enumerate(values))
        if not holds or not (row.apart is None or row.apart(*values)):
            return None
        made = self.reference.apply(row.name, args, choices_of(row, shapes)[0])
        calm = all(y.size <= self.largest and (not y.size or np.abs(y).max() <= LIMIT) for y in made)
        return made[0].shape if len(made) == 1 and calm else None

    def join(self, one: Ref, other: Ref) -> Ref:
        """The sum of two values of one shape, or the result of another op of two operands."""
        usual = ("add", "subtract", "multiply")
        pairs = [row for row in map(self.alphabet.row, self.alphabet.ops) if arity(row) == 2]
        named = next((name for name in usual if name in self.alphabet.ops), None)
        name = named or next((row.name for row in pairs if self._made(row, (one, other)) is not None), None)
        if name is None:
            if pairs:
                raise UnsupportedShape("the framework has no op that accepts these two values")
            self.available(*usual)
        assert name is not None, "`available` has raised"
        attrs = choices_of(self.alphabet.row(name), (self.shape(one), self.shape(other)))
        return self.apply(name, (one, other), attrs[0] if attrs else ())[0]

    def root(self, most: int = 5) -> Ref:
        """A value, after up to `most` drawn ops, whose backward call needs saved tensors."""
        if not self.leaves:
            self.leaf(self.pick(self.shapes(_NONEMPTY)))
        self.grow(0, most)
        options = [r for r in self.live if r in self.saving]
        if options and self.below(4) < 3:
            return self.recent(options)
        return self.nonlinear(self.required())

    def successor(self, value: Ref) -> Ref:
        """A new value computed from `value` by one op."""
        for _ in range(2):
            made = self.op(on=value)[0]
            if value in operands(self.reference.steps[made.at]) and self.requires(made):
                return made
        named = tuple(n for n in ("negative", "sin", "tanh") if n in self.alphabet.ops)
        return self.apply(self.pick(named), (value,))[0] if named else self.nonlinear(value)

    def rebuild(self, value: Ref) -> Ref:
        """The value recomputed by the same ops from the same leaves."""
        new: dict[Ref, Ref] = {}
        for at in sorted(self._ancestors(value)):
            step = self.reference.steps[at]
            assert isinstance(step, Apply)
            made = self.apply(step.op, [new.get(r, r) for r in step.args], step.attrs)
            new.update({Ref(at, k): ref for k, ref in enumerate(made)})
        return new.get(value, value)

    def _ancestors(self, value: Ref) -> set[int]:
        """Indices of the ops that a value was computed by."""
        step = self.reference.steps[value.at]
        if not isinstance(step, Apply):
            return set()
        return {value.at}.union(*(self._ancestors(r) for r in step.args))
