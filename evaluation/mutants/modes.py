"""Mutants whose fault is in grad modes or in changes of requires_grad."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import Cotangents, Mutant, Recording, Roots


class NoGradIgnored(Mutant):
    """Ops under no_grad are recorded."""

    killed_by = ("modes/no-grad-result",)

    def mode(self, name: str) -> AbstractContextManager[Any]:
        return nullcontext() if name == "no_grad" else super().mode(name)


class NoGradIgnoredBySome(Mutant):
    """The ops negative, sin and reshape are recorded under no_grad."""

    killed_by = ("modes/no-grad-result", "modes/constant")

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        with torch.set_grad_enabled(torch.is_grad_enabled() or op in ("reshape", "sin", "negative")):
            return super().apply(op, operands, attrs)


class Leaking(Mutant):
    """A mutant that stops recording once `leaked` is true."""

    def reset(self) -> None:
        """Start a new program, with recording on."""
        super().reset()
        self.leaked = False

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        """Apply an op, recorded unless `leaked`."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.leaked):
            return super().apply(op, operands, attrs)

    def mode(self, name: str) -> AbstractContextManager[Any]:
        """A grad mode that calls `leave` at its end."""
        return self._ended(super().mode(name), name)

    @contextmanager
    def _ended(self, mode: AbstractContextManager[Any], name: str) -> Iterator[None]:
        try:
            with mode:
                yield
        except BaseException as error:
            self.leave(name, error)
            raise
        self.leave(name, None)

    def leave(self, name: str, error: BaseException | None) -> None:
        """Called when a grad mode's block ends, with its exception if there was one."""


class NoGradLeaks(Leaking):
    """After a no_grad block ends normally, ops are still not recorded."""

    killed_by = ("modes/restored", "gradients/requires-grad")

    def leave(self, name: str, error: BaseException | None) -> None:
        self.leaked |= name == "no_grad" and error is None


class NoGradLeaksAfterErrors(Leaking):
    """After an error ends a no_grad block, ops are still not recorded."""

    killed_by = ("modes/restored", "errors/recovers", "gradients/requires-grad")

    def leave(self, name: str, error: BaseException | None) -> None:
        self.leaked |= name == "no_grad" and error is not None


class EnableGradIgnored(Mutant):
    """enable_grad inside no_grad has no effect."""

    killed_by = ("modes/recorded",)

    def mode(self, name: str) -> AbstractContextManager[Any]:
        return nullcontext() if name == "enable_grad" else super().mode(name)


class EnableGradEndsNoGrad(Leaking):
    """Ops after an enable_grad block inside a no_grad block are recorded."""

    killed_by = ("modes/no-grad-result",)

    def leave(self, name: str, error: BaseException | None) -> None:
        if name == "enable_grad":
            torch.set_grad_enabled(True)  # until the outer block is left


class UnrecordedCallDoesNothing(Mutant):
    """A backward call under no_grad does nothing."""

    killed_by = ("modes/backward-anywhere", "accumulation/first")

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if torch.is_grad_enabled() or not all(root.requires_grad for root in roots):
            super().backward(roots, cotangents, retain_graph, **options)


class UnrecordedCallRaises(Mutant):
    """A backward call under no_grad raises."""

    killed_by = ("modes/backward-anywhere",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if not torch.is_grad_enabled():
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        super().backward(roots, cotangents, retain_graph, **options)


class UnrecordedWritesRecorded(Mutant):
    """A write under no_grad to a value with a history is recorded."""

    killed_by = ("modes/unrecorded-write", "writes/error-or-recorded")

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        with torch.set_grad_enabled(torch.is_grad_enabled() or (target.grad_fn is not None and not target._is_view())):
            super().write(op, target, operands, attrs)


class UnrecordedWritesCut(Mutant):
    """A write under no_grad removes the history of its target."""

    killed_by = ("modes/unrecorded-write", "writes/requires-grad")

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        super().write(op, target, operands, attrs)
        if not torch.is_grad_enabled() and target.grad_fn is not None and not target._is_view():
            target.detach_()


class UnrecordedWritesIgnored(Mutant):
    """A write under no_grad to a leaf that requires grad does nothing."""

    killed_by = ("modes/unrecorded-write", "writes/value")

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        if torch.is_grad_enabled() or not (target.is_leaf and target.requires_grad):
            super().write(op, target, operands, attrs)


class ConstantsLeak(Recording):
    """A value computed under no_grad propagates gradients if it is combined with a value that requires grad."""

    killed_by = ("modes/constant",)

    def reset(self) -> None:
        super().reset()
        self.twins: dict[int, torch.Tensor] = {}

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        if not torch.is_grad_enabled() and any(x.requires_grad for x in operands):
            made = super().apply(op, operands, attrs)
            with torch.enable_grad():
                twins = super().apply(op, operands, attrs)
            self.twins.update({id(y): twin for y, twin in zip(made, twins, strict=True)})
            return made
        if torch.is_grad_enabled() and any(x.requires_grad for x in operands):
            operands = [self.twins.get(id(x), x) for x in operands]
        return super().apply(op, operands, attrs)


class ConstantRootsAreSilent(Recording):
    """A backward call on a value computed under no_grad does nothing instead of raising."""

    killed_by = ("modes/constant-root",)

    def reset(self) -> None:
        super().reset()
        self.unrecorded: set[int] = set()

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        made = super().apply(op, operands, attrs)
        if not torch.is_grad_enabled():
            self.unrecorded.update(map(id, made))
        return made

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if not all(id(root) in self.unrecorded for root in roots):
            super().backward(roots, cotangents, retain_graph, **options)


class FrozenReceive(Mutant):
    """A leaf whose requires_grad was switched off still gets gradients from earlier graphs."""

    killed_by = ("modes/frozen-leaf",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        frozen = [leaf for leaf in self.leaves if not leaf.requires_grad]
        legal = all(root.requires_grad for root in roots)
        for leaf in frozen:
            leaf.requires_grad_(legal)
        try:
            super().backward(roots, cotangents, retain_graph, **options)
        finally:
            for leaf in frozen:
                leaf.requires_grad_(False)


class FrozenCleared(Mutant):
    """Switching off a leaf's requires_grad clears its `.grad`."""

    killed_by = ("modes/frozen-leaf",)

    def set_requires_grad(self, value: torch.Tensor, on: bool) -> None:
        super().set_requires_grad(value, on)
        if not on:
            value.grad = None


class SwitchesAnything(Mutant):
    """Switching off requires_grad of a non-leaf value does nothing instead of raising."""

    killed_by = ("modes/toggle-refused",)

    def set_requires_grad(self, value: torch.Tensor, on: bool) -> None:
        if on or value.is_leaf:
            super().set_requires_grad(value, on)


class SwitchesNothingOn(Mutant):
    """Switching on requires_grad does nothing."""

    killed_by = ("accumulation/first", "gradients/requires-grad", "errors/legal-returns", "hooks/refused")

    def set_requires_grad(self, value: torch.Tensor, on: bool) -> None:
        if not on:
            super().set_requires_grad(value, on)
