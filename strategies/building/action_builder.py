"""`ActionBuilder` draws writes, changes of `requires_grad`, hooks, backward calls and optimizer steps into a draft.

The draft follows the tape model, so later instructions build on the state of a framework that follows the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.rows.row import Certainty, choices_of, rest_of, takes
from autograd_conformance.ops.tables import OPS, Op
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import (
    AssignGrad,
    Attrs,
    Backward,
    Clip,
    Delete,
    DetachInPlace,
    Grad,
    Groups,
    Hook,
    InPlace,
    Literal,
    Optimizer,
    ReadGrad,
    Ref,
    RemoveHook,
    RetainGrad,
    SetRequiresGrad,
    Shape,
    Step,
    is_recorded,
)
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.strategies.building.choices import Draw
from autograd_conformance.strategies.building.draft import Unsupported
from autograd_conformance.strategies.building.op_builder import LIMIT, OpBuilder
from autograd_conformance.tape.graph import Traversal
from autograd_conformance.tape.versions import version_mismatch

USUAL = (
    "mul_", "add_", "zero_", "copy_", "mul_scalar_", "set_slice_", "set_index_", "exp_", "fill_", "sin_", "tanh_",
    "sub_", "add_scalar_", "set_columns_", "masked_fill_", "sigmoid_", "neg_", "div_",
)  # fmt: skip
"""The writes drawn most often, simplest first."""


@lru_cache(maxsize=8)
def writes_of(ops: tuple[str, ...], writes: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The writes whose out-of-place op is in `ops`, and writes that have none: the usual ones, then all."""
    absent = {row.reference for name, row in OPS.items() if name not in ops}
    known = tuple(name for name in writes if WRITES[name].reference not in absent)
    return tuple(name for name in USUAL if name in known), known


class ActionBuilder(OpBuilder):
    """A draft that follows the tape model and can contain every instruction of the language.

    With `portable` set, it avoids operations on which frameworks differ.
    """

    def __init__(self, draw: Draw, dtype: str | None = None) -> None:
        super().__init__(draw, dtype, tracked=True)
        self.portable = True

    def require(self, *needs: Capability) -> None:
        """Raise `Unsupported` unless the framework has these capabilities."""
        missing = [need.value for need in needs if need not in self.alphabet.capabilities]
        if missing:
            raise Unsupported(f"needs {', '.join(missing)}, not claimed")

    def require_regions(self) -> None:
        """Raise `Unsupported` unless the framework compiles or recomputes regions."""
        if not self.alphabet.regions:
            raise Unsupported("needs a framework that compiles or recomputes regions")

    def checked(self, op: Op, args: tuple[Ref, ...], attrs: Attrs) -> list[Ref]:
        """Add an op as `OpBuilder` does, but with `portable` set, no view under `no_grad` of a value that requires
        grad: frameworks differ in whether such a view requires grad.
        """
        if (
            self.portable
            and not is_recorded(self.modes)
            and op.aliases is not Certainty.NEVER
            and self.requires(args[0])
        ):
            if "negative" not in self.alphabet.ops:
                return [args[0]]
            op, args, attrs = OPS["negative"], args[:1], ()
        return super().checked(op, args, attrs)

    # -- writes -------------------------------------------------------------------------------------------------------

    @property
    def writes(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The writes that can be drawn: the usual ones, then all."""
        return writes_of(tuple(self.alphabet.ops), tuple(self.alphabet.writes))

    def write(self, target: Ref, name: str | None = None, source: Ref | None = None) -> bool:
        """Write to a value in place, by the named write or a drawn one. Return False if the write does not fit the
        value.

        `source` is the operand if the write takes one of its shape.
        """
        if name is not None and name not in self.alphabet.writes:
            return False
        row = self.alphabet.row(name) if name else self._fitting(target)
        if row is None or not self._can_write(row, target):
            return False
        shapes = self.pick(rest_of(row, self.shape(target)))
        args = [self._source(row, k, shape, target, source) for k, shape in enumerate(shapes, 1)]
        attrs = self.pick(choices_of(row, (self.shape(target), *shapes)))
        operands = [self.reference.values[r] for r in (target, *args)]
        (made,) = self.reference.apply(row.name, (target, *args), attrs)
        apart = row.apart is None or bool(row.apart(*operands))
        if not apart or (made.size and not np.abs(made).max() <= LIMIT):
            return name is None and self.write(target, "zero_")
        self.add(InPlace(row.name, target, tuple(args), attrs))
        self.totals.clear()
        return True

    def _fitting(self, target: Ref) -> Op | None:
        """A drawn write, or the next one in the table that fits the value; one time in three from the whole table."""
        usual, known = self.writes
        names = usual if self.below(3) else known
        at = self.below(len(names)) if names else 0
        rows = (self.alphabet.row(name) for name in (*names[at:], *names[:at]))
        return next((row for row in rows if self._can_write(row, target)), None)

    def _can_write(self, row: Op, target: Ref) -> bool:
        return takes(row, self.shape(target)) and row.domain(0).holds(self.reference.values[target])

    def _source(self, row: Op, place: int, shape: Shape, target: Ref, source: Ref | None) -> Ref:
        """An operand of a write: a value that fits and shares no memory with the target, or a fresh leaf."""
        other = self.other_dtype(row, target) if row.promotes and self.rarely("mixed") else None
        dtype, owner = other or self.dtypes[target], self.reference.storages.storage

        def fits(ref: Ref) -> bool:
            return self.shape(ref) == shape and self.dtypes[ref] == dtype and owner(ref) != owner(target)

        if source is not None and fits(source) and row.domain(place).holds(self.reference.values[source]):
            return source
        return self._operand(row, place, shape.__eq__, (shape,), False, dtype, fits)

    def detach_in_place(self, target: Ref) -> None:
        """Detach a value in place."""
        self.add(DetachInPlace(target))

    def set_requires_grad(self, target: Ref, on: bool) -> None:
        """Set a value's `requires_grad`."""
        self.add(SetRequiresGrad(target, on))
        if on and target not in self.leaves and not self.fails and self.reference.tape.is_leaf(target):
            self.leaves.append(target)

    # -- gradients ----------------------------------------------------------------------------------------------------

    def call(
        self,
        *roots: Ref,
        retain: bool | None = None,
        create: bool = False,
        inputs: Sequence[Ref] | None = None,
        cotangents: Sequence[Literal | None] | None = None,
    ) -> None:
        """Add a backward call with any of its options. Cotangents are drawn if none are given."""
        if self.limited:
            roots, retain, cotangents = self._within_capabilities(roots, retain, cotangents)
        given = tuple(self.cotangent(r) for r in roots) if cotangents is None else tuple(cotangents)
        call = self.backward_call(roots, given, retain, create)
        self.add(call if inputs is None else replace(call, inputs=tuple(inputs)))

    def grad(
        self,
        roots: Sequence[Ref],
        inputs: Sequence[Ref],
        retain: bool | None = None,
        create: bool = False,
        unused: bool | None = None,
        materialize: bool = False,
        cotangents: Sequence[Literal | None] | None = None,
    ) -> list[Ref]:
        """Add a call of the functional form. Return those of its results that are not None."""
        if self.limited:
            roots, retain, cotangents = self._within_capabilities(tuple(roots), retain, cotangents)
        given = tuple(self.cotangent(r) for r in roots) if cotangents is None else tuple(cotangents)
        if not self.can(Capability.UNUSED):
            unused, materialize = None, True
        elif not self.can(Capability.MATERIALIZES):
            materialize = False
        if not self.can(Capability.ANY_INPUTS):
            inputs = list(dict.fromkeys(r for r in inputs if r in self.leaves)) or self.leaves
        at = self.add(Grad(tuple(roots), tuple(inputs), given, retain, create, unused, materialize))
        return [r for r in self.live if r.at == at]

    def read_grad(self, leaf: Ref) -> Ref:
        """Read a leaf's `.grad` as a value."""
        return Ref(self.add(ReadGrad(leaf)))

    def assign_grad(self, leaf: Ref, value: Ref | None) -> None:
        """Assign a leaf's `.grad`. For a framework without `.grad` of None, clear it to zeros instead of assigning
        None.
        """
        if value is None and not self.can(Capability.ZERO_TO_NONE):
            self.zero_grad(leaf)
        else:
            self.add(AssignGrad(leaf, value))

    def retain_grad(self, target: Ref) -> None:
        """Call `retain_grad` on a value that is no leaf."""
        self.add(RetainGrad(target))

    def hook(self, target: Ref, effect: str = "observe", factor: float = 1.0, accumulated: bool = False) -> Ref:
        """Add a hook. Return the handle that removes it."""
        return Ref(self.add(Hook(target, effect, factor, accumulated)))

    def remove_hook(self, handle: Ref) -> None:
        """Remove a hook."""
        self.add(RemoveHook(handle))

    def make_optimizer(self, leaves: Sequence[Ref], optimizer: str, settings: Attrs = (), groups: Groups = ()) -> None:
        """Create an optimizer before its first step, if the framework supports that."""
        if self.can(Capability.MAKES_OPTIMIZERS):
            self.add(Optimizer(tuple(leaves), optimizer, settings, groups))

    def step(self, leaves: Sequence[Ref], optimizer: str, settings: Attrs = (), groups: Groups = ()) -> None:
        """Add one step of an optimizer."""
        self.add(Step(tuple(leaves), optimizer, settings, groups))

    def clip(self, leaves: Sequence[Ref], kind: str, bound: float) -> None:
        """Clip the gradients of leaves."""
        self.add(Clip(tuple(leaves), kind, bound))

    def delete(self, *values: Ref) -> None:
        """Delete the last references to values."""
        self.add(Delete(values))

    def holds_grad(self, leaf: Ref) -> bool:
        """Whether a leaf's `.grad` will be a tensor."""
        assert self.tape is not None
        return self.tape.grads.get(leaf) is not None

    def traverse(self, root: Ref) -> Traversal:
        """The nodes that a backward call on a value traverses."""
        assert self.tape is not None
        return self.tape.traverse(Backward((root,), (None,)))

    def traversable(self, root: Ref) -> bool:
        """Whether a backward call on a value certainly meets no freed node and no saved tensor that was written to."""
        assert self.tape is not None
        if not self.requires(root):
            return False
        traversal = self.traverse(root)
        nodes = (*traversal.nodes, *traversal.maybe_nodes)
        return not any(node.freed or version_mismatch(self.tape, node) for node in nodes)
