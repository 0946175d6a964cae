"""Draws ops. Each op is valid where it is drawn. Choices run from the simplest op to the rarest, which is the order in
which Hypothesis shrinks.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograd_conformance.ops.rows.row import LARGEST, POOL, Certainty, arity, choices_of, rest_of, takes
from autograd_conformance.ops.rows.shapes import size
from autograd_conformance.ops.tables import OPS, VIEWS, Op
from autograd_conformance.programs.language import Apply, Attrs, Ref, Shape, is_recorded
from autograd_conformance.programs.operands import operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.strategies.building.alphabet import SAVING
from autograd_conformance.strategies.building.drafts.operands import Operands
from autograd_conformance.strategies.building.drafts.script import Script
from autograd_conformance.strategies.building.randomness.choices import Choices
from autograd_conformance.strategies.building.unsupported import Unsupported, UnsupportedShape

LIMIT = 100.0
"""Largest absolute value of a result. A drawn op that would exceed it is replaced by one of `CALM`, a drawn in-place op
by `zero_`.
"""

CALM = ("tanh", "sin", "cos", "sigmoid", "negative")
"""Ops that accept every value, with results no larger in magnitude than the operand or 1."""

_NONEMPTY = tuple(s for s in POOL if 0 not in s)


class Ops:
    """Adds drawn ops to a program, and finds or makes values with a property, such as one that requires grad."""

    largest = 2 * LARGEST
    """Largest number of elements of a result; an op with a larger result is replaced."""

    first: Shape | None = None
    """The shape of an op's first operand if that operand is a fresh leaf; None if the shape is drawn."""

    def __init__(self, script: Script, choices: Choices, operands: Operands, portable: bool) -> None:
        self._script, self._choices, self._operands = script, choices, operands

        self.portable = portable
        """Whether no view under `no_grad` of a value that requires grad is drawn: frameworks differ in whether such a
        view requires grad.
        """

        self._totals: dict[Ref, Ref] = {}
        """The sums computed by `total`, by the value whose elements are summed."""

    # -- drawing ops --------------------------------------------------------------------------------------------------

    def draw(self, name: str | None = None, fresh: bool = False, on: Ref | None = None) -> list[Ref]:
        """Appends a drawn op, or the named one, on drawn operands, and returns its results. With `fresh` all operands
        are new leaves. `on` is the first operand if the op accepts it.
        """
        script, alphabet, choices, operand = self._script, self._script.alphabet, self._choices, self._operands.operand
        if name is None and not alphabet.weighted:
            raise Unsupported("no program can be drawn: the framework has no working op")
        op = alphabet.row(name or choices.pick(alphabet.weighted))
        if on is not None and takes(op, script.shape(on)) and op.domain(0).holds(script.reference.values[on]):
            first = on
        else:
            firsts = alphabet.shapes(op.fresh) if self.first is None else (self.first,)
            first = operand(op, 0, lambda shape: takes(op, shape), firsts, fresh)
        options = rest_of(op, script.shape(first))
        if alphabet.limits_shapes:
            options = tuple(shapes for shapes in options if all(map(alphabet.admits, shapes)))
        if not options:  # the framework's limits leave this shape nothing
            return [first]
        others = self._beside(op, first, options) if options[0] and choices.rarely("beside") else []
        if others:
            options = tuple(shapes for shapes in options if shapes[0] == script.shape(others[0]))
        dtype = script.dtypes[first]
        other = self._operands.other_dtype(op, first) if op.promotes and choices.rarely("mixed") else None
        if len(options[0]) == 1 and not fresh and other is None and not others:
            fitting = {shape for (shape,) in options}
            others.append(operand(op, 1, fitting.__contains__, [s for (s,) in options], fresh, dtype))
        else:
            for k, shape in enumerate(choices.pick(options)[len(others) :], 1 + len(others)):
                mixed = other is not None and bool(shape) == bool(script.shape(first))
                others.append(operand(op, k, shape.__eq__, (shape,), fresh, other if mixed else dtype))
        args = (first, *others)
        attrs = choices.pick(choices_of(op, tuple([script.shape(r) for r in args])))
        return self.checked(op, args, attrs)

    def _beside(self, op: Op, first: Ref, options: Sequence[tuple[Shape, ...]]) -> list[Ref]:
        """Adds a view of the first operand that can be the second operand of an op, and returns it in a list, which is
        empty if no view fits. `options` are the shapes that the other operands may have together.
        """
        reference, alphabet = self._script.reference, self._script.alphabet
        shape, shapes = self._script.shape(first), {shapes[0] for shapes in options}

        def suits(value: np.ndarray) -> bool:
            """Whether a value may be the second operand."""
            return value.shape in shapes and op.domain(1).holds(value)

        rows = [alphabet.row(name) for name in alphabet.ops if name in VIEWS]
        views = [row for row in rows if takes(row, shape)]
        at = self._choices.below(max(1, len(views)))
        for row in (*views[at:], *views[:at]):
            attrs = self._choices.pick(choices_of(row, (shape,)))
            made = reference.apply(row.name, (first,), attrs)
            if made and suits(made[0]):
                return [ref for ref in self.checked(row, (first,), attrs)[:1] if suits(reference.values[ref])]
        return []

    def checked(self, op: Op, args: tuple[Ref, ...], attrs: Attrs) -> list[Ref]:
        """Appends an op and returns its results. If a result would be too large, or operands have equal or too close
        elements (ties, as for `maximum`), an op of `CALM` is applied to the first operand instead, and `negative` in
        place of a view that is not `portable`; if the framework has no such op, the first operand is returned.
        """
        script, alphabet = self._script, self._script.alphabet
        views = self.portable and op.aliases is not Certainty.NEVER
        if views and not is_recorded(script.modes) and script.requires(args[0]):
            if "negative" not in alphabet.ops:
                return [args[0]]
            op, args, attrs = OPS["negative"], args[:1], ()
        if op.apart is None or op.apart(*(script.reference.values[r] for r in args)):
            made = script.reference.apply(op.name, args, attrs)
            fits = not alphabet.one_element or all(alphabet.admits(np.shape(y)) for y in made)
            if fits and self._is_calm(made) and all(y.ndim <= 5 for y in made):
                at = script.add(Apply(op.name, args, attrs, len(made)))
                return [Ref(at, k) for k in range(len(made))]
        calm = next((name for name in CALM if name in alphabet.ops), None)
        return script.apply(calm, args[:1]) if calm else [args[0]]

    def _is_calm(self, made: Sequence[np.ndarray]) -> bool:
        """Whether results have few enough elements and small enough magnitudes."""
        return all(y.size <= self.largest and (not y.size or np.abs(y).max() <= LIMIT) for y in made)

    def form(self, op: Op, operands: Sequence[Shape], attrs: Attrs) -> list[Ref]:
        """Appends an op with these attributes on fresh operands of these shapes, and returns its results."""
        fresh = [self._operands.fresh(shape, op.domain(k)) for k, shape in enumerate(operands)]
        return self.checked(op, tuple(fresh), attrs)

    def grow(self, least: int, most: int) -> None:
        """Appends between `least` and `most` drawn ops."""
        for _ in range(least + self._choices.below(most - least + 1)):
            self.draw()

    # -- values with a property ---------------------------------------------------------------------------------------

    def required(self) -> Ref:
        """Returns a non-empty value that requires grad: an existing one or a fresh leaf."""
        script = self._script
        options = [r for r in script.live if script.requires(r) and script.reference.values[r].size]
        return self._one_of(options) or self._operands.leaf_of(_NONEMPTY)

    def _one_of(self, options: Sequence[Ref]) -> Ref | None:
        """Draws a recent one of some values in three cases of four; otherwise, or if there are none, returns None."""
        return self._choices.recent(options) if options and self._choices.below(4) < 3 else None

    def nonlinear(self, value: Ref, name: str | None = None) -> Ref:
        """Applies an op that saves tensors, with `value` for all its operands, and returns the result. If the framework
        has no such op, any op that accepts `value` is applied.
        """
        name = name or self._choices.pick(self.saving(value))
        return self._simplest(name, (value,) * arity(OPS[name]))

    def _simplest(self, name: str, args: tuple[Ref, ...]) -> Ref:
        """Applies an op with its simplest attributes, and returns its first result."""
        attrs = choices_of(self._script.alphabet.row(name), tuple(map(self._script.shape, args)))
        return self._script.apply(name, args, attrs[0] if attrs else ())[0]

    def saving(self, value: Ref) -> tuple[str, ...]:
        """Returns the ops that `nonlinear` draws from: the usual ones that save tensors, or their substitutes."""
        known = self._script.alphabet.ops
        usual, others = (tuple(n for n in names if n in known) for names in (SAVING[:5], SAVING[5:]))
        return usual or others or self._substitutes(value)

    def _substitutes(self, value: Ref) -> tuple[str, ...]:
        """Returns the ops that can replace the usual saving ops: those that always save and keep the shape of `value`,
        or if the framework has none that saves, those that accept `value`. Raises `UnsupportedShape` if there are none.
        """
        rows = [self._script.alphabet.row(name) for name in self._script.alphabet.ops]
        saving = [row for row in rows if row.saves is Certainty.ALWAYS]
        made = {row.name: self._made(row, (value,) * arity(row)) for row in saving or rows}
        same = tuple(name for name, shape in made.items() if shape == self._script.shape(value))
        found = same or tuple(name for name, shape in made.items() if shape is not None and not saving)
        if not found:
            raise UnsupportedShape("the framework has no op that the situation could apply to this value")
        return found

    def fits(self, name: str, args: tuple[Ref, ...]) -> bool:
        """Whether an op of one result accepts some values: they are in its domain, and the result is not too large."""
        return self._made(self._script.alphabet.row(name), args) is not None

    def _made(self, row: Op, args: tuple[Ref, ...]) -> Shape | None:
        """Returns the shape of an op's result on some values. None if the op does not accept them, or its result is too
        large, or it has several results.
        """
        values = [self._script.reference.values[ref] for ref in args]
        shapes = tuple(map(self._script.shape, args))
        taken = len(args) == arity(row) and takes(row, shapes[0]) and shapes[1:] in rest_of(row, shapes[0])
        holds = taken and all(row.domain(k).holds(value) for k, value in enumerate(values))
        if not holds or not (row.apart is None or row.apart(*values)):
            return None
        made = self._script.reference.apply(row.name, args, choices_of(row, shapes)[0])
        return made[0].shape if len(made) == 1 and self._is_calm(made) else None

    def join(self, one: Ref, other: Ref) -> Ref:
        """Applies `add`, or another op of two operands, to two values of one shape, and returns the result."""
        alphabet = self._script.alphabet
        usual = ("add", "subtract", "multiply")
        name = next((name for name in usual if name in alphabet.ops), None) or self._joining(one, other)
        if name is None:
            alphabet.available(*usual)
        assert name is not None, "`available` has raised"
        return self._simplest(name, (one, other))

    def _joining(self, one: Ref, other: Ref) -> str | None:
        """Returns the first op of two operands that accepts two values. None if the framework has no op of two operands
        at all. Raises `UnsupportedShape` if it has some, and none accepts them.
        """
        pairs = [row for row in map(self._script.alphabet.row, self._script.alphabet.ops) if arity(row) == 2]
        name = next((row.name for row in pairs if self._made(row, (one, other)) is not None), None)
        if pairs and name is None:
            raise UnsupportedShape("the framework has no op that accepts these two values")
        return name

    def root(self, most: int = 5) -> Ref:
        """Draws up to `most` ops, and returns a value on which a backward call needs saved tensors."""
        if not self._script.leaves:
            self._operands.leaf_of(_NONEMPTY)
        self.grow(0, most)
        saving = [r for r in self._script.live if r in self._script.saving]
        return self._one_of(saving) or self.nonlinear(self.required())

    def successor(self, value: Ref) -> Ref:
        """Applies one drawn op to `value`, and returns its result."""
        script = self._script
        for _ in range(2):
            made = self.draw(on=value)[0]
            if value in operands(script.reference.steps[made.at]) and script.requires(made):
                return made
        named = tuple(n for n in ("negative", "sin", "tanh") if n in script.alphabet.ops)
        return script.apply(self._choices.pick(named), (value,))[0] if named else self.nonlinear(value)

    def rebuild(self, value: Ref) -> Ref:
        """Applies the ops that computed `value` again to the same leaves, and returns the new value."""
        new: dict[Ref, Ref] = {}
        for at in sorted(self._ancestors(value)):
            step = self._script.reference.steps[at]
            assert isinstance(step, Apply)
            made = self._script.apply(step.op, [new.get(r, r) for r in step.args], step.attrs)
            new.update({Ref(at, k): ref for k, ref in enumerate(made)})
        return new.get(value, value)

    def _ancestors(self, value: Ref) -> set[int]:
        """Returns the indices of the ops that a value was computed by."""
        step = self._script.reference.steps[value.at]
        if not isinstance(step, Apply):
            return set()
        return {value.at}.union(*(self._ancestors(r) for r in step.args))

    # -- sums ---------------------------------------------------------------------------------------------------------

    def total(self, root: Ref) -> Ref:
        """Returns the sum of a root's elements, computed once; the root itself if it needs no cotangent."""
        if self._script.alphabet.traits.implies(self._script.shape(root)):
            return root
        if root not in self._totals:
            self._totals[root] = self.summed(root)
        return self._totals[root]

    def forget_totals(self) -> None:
        """Makes `total` compute all sums again, because values were written to or deleted."""
        self._totals.clear()

    def summed(self, value: Ref) -> Ref:
        """Adds the sum of all elements of `value`, in several sums if the framework has none over all dimensions, and
        returns it. Raises `UnsupportedShape` if the framework has no `sum` that works so; roots of other shapes need
        none.
        """
        alphabet, made = self._script.alphabet, value
        if "sum" in alphabet.ops:
            for _ in range(1 + len(self._script.shape(value))):
                made = self._script.apply("sum", (made,), alphabet.attributes("sum", self._script.shape(made))[0])[0]
                if size(self._script.shape(made)) <= 1:
                    return made
        raise UnsupportedShape("needs explicit cotangents, or a working sum, for roots of several elements")
