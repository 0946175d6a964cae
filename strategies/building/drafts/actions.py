"""Adds actions (instructions other than ops, such as backward) to a program: backward calls, and changes of gradients,
hooks, flags or parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Attrs,
    Backward,
    BackwardCall,
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
    Step,
    ZeroGrad,
)
from autograd_conformance.strategies.building.drafts.operands import Operands
from autograd_conformance.strategies.building.drafts.ops import Ops
from autograd_conformance.strategies.building.drafts.script import Script
from autograd_conformance.strategies.building.randomness.choices import Choices
from autograd_conformance.tape.graph import Traversal
from autograd_conformance.tape.versions import version_mismatch


class Actions:
    """Adds actions (instructions other than ops, such as backward) to a program. A call that needs more than the
    framework's capabilities is changed or left out.
    """

    explicit = False
    """Whether every backward call gets a cotangent with a nonzero element, if the framework has cotangents, because a
    zero cotangent hides every error.
    """

    varies = False
    """Whether backward calls now and then get an option that the situation does not need. Pairs of programs that have
    to agree, and training loops, need their calls as they are.
    """

    def __init__(self, script: Script, choices: Choices, operands: Operands, ops: Ops) -> None:
        self._script, self._choices, self._operands, self._ops = script, choices, operands, ops

        self._can = script.alphabet.can

        self._limited = script.alphabet.traits.distinct_roots or not self._can(
            Capability.RETAIN, Capability.COTANGENTS, Capability.MULTIPLE_ROOTS
        )
        """Whether some backward calls have to be changed to what the framework's capabilities allow."""

    # -- calls --------------------------------------------------------------------------------------------------------

    def backward(
        self,
        *roots: Ref,
        retain: bool | None = None,
        create: bool = False,
        inputs: Sequence[Ref] | None = None,
        cotangents: Sequence[Literal | None] | None = None,
    ) -> None:
        """Adds a backward call with any of its options. Cotangents are drawn if none are given. Now and then the call
        gets an option that the situation does not need: create_graph, or inputs.
        """
        roots, retain, cotangents = self._supported(roots, retain, cotangents)
        create = create or (self._may_create and self._choices.rarely("created"))
        if inputs is None and self._may_restrict and self._choices.rarely("restricted"):
            leaves = [leaf for leaf in self._script.leaves if self._script.requires(leaf)]
            inputs = [leaf for leaf in leaves if self._choices.coin()] or leaves
        call = self.backward_call(roots, cotangents, retain, create)
        self._script.add(call if inputs is None else replace(call, inputs=tuple(inputs)))

    @property
    def _may_create(self) -> bool:
        """Whether a call may create a graph of its gradients that the situation does not need: each op so far has a
        second derivative.
        """
        needs = Capability.IMPERATIVE, Capability.CREATE_GRAPH, Capability.CREATES_IN_LEAVES
        if not self.varies or not self._can(*needs):
            return False
        ops = {step.op for step in self._script.reference.steps if isinstance(step, (Apply, InPlace))}
        return ops.isdisjoint(self._script.alphabet.first_order_only)

    @property
    def _may_restrict(self) -> bool:
        """Whether a call may be restricted to some leaves although the situation does not need it."""
        return self.varies and self._can(Capability.IMPERATIVE, Capability.INPUTS)

    def backward_call(
        self, roots: Sequence[Ref], cotangents: Sequence[Literal | None], retain: bool | None, create: bool = False
    ) -> BackwardCall:
        """Makes a backward call whose gradients reach leaves, without adding it. If the framework has no imperative
        form, or `create` is set and only the functional form can create a graph, it is a functional call for all or
        some leaves. Where no leaf requires grad, such a call is imperative, and creates no graph.
        """
        imperative = self._can(Capability.IMPERATIVE)
        if imperative and (self._can(Capability.CREATES_IN_LEAVES) or not create):
            return Backward(tuple(roots), tuple(cotangents), retain, create)
        leaves = [leaf for leaf in self._script.leaves if self._script.requires(leaf)]
        if imperative and not leaves:
            return Backward(tuple(roots), tuple(cotangents), retain)
        inputs = [leaf for leaf in leaves if self._choices.pick(self._operands.requiring)] or leaves
        zeros = self._can(Capability.MATERIALIZES)
        unused = None if zeros else True
        return Grad(tuple(roots), tuple(inputs), tuple(cotangents), retain, create, unused, materialize_grads=zeros)

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
        """Adds a functional call. Returns those of its results that are not None."""
        roots, retain, cotangents = self._supported(tuple(roots), retain, cotangents)
        if not self._can(Capability.UNUSED):
            unused, materialize = None, True
        elif not self._can(Capability.MATERIALIZES):
            materialize = False
        leaves = self._script.leaves
        if not self._can(Capability.ANY_INPUTS):
            inputs = list(dict.fromkeys(r for r in inputs if r in leaves)) or leaves
        at = self._script.add(Grad(roots, tuple(inputs), tuple(cotangents), retain, create, unused, materialize))
        return [r for r in self._script.live if r.at == at]

    def _supported(
        self, roots: tuple[Ref, ...], retain: bool | None, cotangents: Sequence[Literal | None] | None
    ) -> tuple[tuple[Ref, ...], bool | None, Sequence[Literal | None]]:
        """Returns the roots, `retain` and cotangents of the most similar call that the framework supports: one root,
        its sum, distinct roots, or no `retain_graph`. Cotangents are drawn if none are given.
        """
        if self._limited:
            if not self._can(Capability.MULTIPLE_ROOTS):
                roots, cotangents = roots[-1:], cotangents and cotangents[-1:]
            if self._script.alphabet.traits.distinct_roots:
                kept = [k for k, root in enumerate(roots) if root not in roots[:k]]
                roots, cotangents = tuple(roots[k] for k in kept), cotangents and [cotangents[k] for k in kept]
            if not self._can(Capability.COTANGENTS) and cotangents is None:
                roots = tuple(self._ops.total(root) for root in roots)
            retain = retain if self._can(Capability.RETAIN) else None
        return roots, retain, [self.cotangent(r) for r in roots] if cotangents is None else cotangents

    def cotangent(self, root: Ref) -> Literal | None:
        """Draws a legal cotangent for a root; None may be drawn if the root has one element."""
        shape, dtype = self._script.shape(root), self._script.dtypes[root]
        may, must = self._script.alphabet.traits.implies(shape), not self._can(Capability.COTANGENTS)
        if self.explicit:
            drawn = None if must else self._operands.tensor(shape, dtype)
            while drawn is not None and drawn.data and not any(drawn.data):
                drawn = self._operands.tensor(shape, dtype)
            return drawn
        if may and (must or (self._can(Capability.IMPERATIVE) and self._choices.coin())):
            return None
        return self._operands.tensor(shape, dtype)

    def refused_cotangents(self, root: Ref) -> list[Literal | None]:
        """Draws cotangents most of which are illegal for a root: None, which is legal for one element, and one of two
        elements, which is legal for that shape. Each is left out if the framework neither supports it nor claims to
        reject it, because its behaviour is then unspecified.
        """
        shape, dtype = self._script.shape(root), self._script.dtypes[root]
        implicit = self._can(Capability.NON_SCALAR_CHECK) or self._script.alphabet.traits.implies(shape)
        checked = self._can(Capability.COTANGENTS) and (shape == (2,) or self._can(Capability.COTANGENT_CHECK))
        return [*([None] if implicit else []), *([self._operands.tensor((2,), dtype)] if checked else [])]

    # -- gradients and flags ------------------------------------------------------------------------------------------

    def zero_grad(self, *leaves: Ref, to_none: bool = True) -> None:
        """Adds an instruction that clears gradients to None or to zeros, whichever the framework supports."""
        none, zeros = self._can(Capability.ZERO_TO_NONE), self._can(Capability.ZERO_TO_ZEROS)
        if none or zeros:
            self._script.add(ZeroGrad(leaves, none if to_none else not zeros))

    def read_grad(self, leaf: Ref) -> Ref:
        """Adds a read of a leaf's `.grad`, and returns the gradient as a value."""
        return Ref(self._script.add(ReadGrad(leaf)))

    def assign_grad(self, leaf: Ref, value: Ref | None) -> None:
        """Adds an assignment of a leaf's `.grad`. For a framework without `.grad` of None, clears to zeros instead of
        assigning None.
        """
        if value is None and not self._can(Capability.ZERO_TO_NONE):
            self.zero_grad(leaf)
        else:
            self._script.add(AssignGrad(leaf, value))

    def detach_in_place(self, target: Ref) -> None:
        """Adds an instruction that detaches a value in place."""
        self._script.add(DetachInPlace(target))

    def set_requires_grad(self, target: Ref, on: bool) -> None:
        """Adds an instruction that sets a value's `requires_grad`."""
        script = self._script
        script.add(SetRequiresGrad(target, on))
        if on and target not in script.leaves and not script.fails and script.reference.tape.is_leaf(target):
            script.leaves.append(target)

    def retain_grad(self, target: Ref) -> None:
        """Adds a `retain_grad` of a value that is no leaf."""
        self._script.add(RetainGrad(target))

    def hook(self, target: Ref, effect: str = "observe", factor: float = 1.0, accumulated: bool = False) -> Ref:
        """Adds a hook on a value, with an effect such as "observe" or "scale"; with `accumulated`, one that runs after
        accumulation in a leaf. Returns the handle that removes the hook.
        """
        return Ref(self._script.add(Hook(target, effect, factor, accumulated)))

    def remove_hook(self, handle: Ref) -> None:
        """Adds the removal of the hook that a handle belongs to."""
        self._script.add(RemoveHook(handle))

    def make_optimizer(self, leaves: Sequence[Ref], optimizer: str, settings: Attrs = (), groups: Groups = ()) -> None:
        """Adds the creation of an optimizer before its first step, if the framework supports that."""
        if self._can(Capability.MAKES_OPTIMIZERS):
            self._script.add(Optimizer(tuple(leaves), optimizer, settings, groups))

    def step(self, leaves: Sequence[Ref], optimizer: str, settings: Attrs = (), groups: Groups = ()) -> None:
        """Adds one step of an optimizer on leaves."""
        self._script.add(Step(tuple(leaves), optimizer, settings, groups))

    def clip(self, leaves: Sequence[Ref], kind: str, bound: float) -> None:
        """Adds an instruction that clips the gradients of leaves; `kind` is "norm" or "value"."""
        self._script.add(Clip(tuple(leaves), kind, bound))

    def delete(self, *values: Ref) -> None:
        """Adds an instruction that deletes the last references to values."""
        self._script.add(Delete(values))

    def holds_grad(self, leaf: Ref) -> bool:
        """Whether a leaf's `.grad` will be a tensor after the instructions so far."""
        assert self._script.tape is not None
        return self._script.tape.grads.get(leaf) is not None

    def traverse(self, root: Ref) -> Traversal:
        """Returns the nodes that a backward call on a value traverses."""
        assert self._script.tape is not None
        return self._script.tape.traverse(Backward((root,), (None,)))

    def traversable(self, root: Ref) -> bool:
        """Whether a backward call on a value certainly meets no freed node and no saved tensor that was written to."""
        assert self._script.tape is not None
        if not self._script.requires(root):
            return False
        traversal = self.traverse(root)
        nodes = (*traversal.nodes, *traversal.maybe_nodes)
        return not any(node.freed or version_mismatch(self._script.tape, node) for node in nodes)
