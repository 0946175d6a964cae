"""Mutants whose fault is in refusals: calls that are accepted, kinds of errors, and the state after a refusal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import FREED, Cotangents, Mutant, is_freed

Roots = Sequence[torch.Tensor]


class NoGradIsSilent(Mutant):
    """A backward call ignores roots that require no grad instead of raising."""

    killed_by = ("errors/no-grad-root", "detach/root-raises")

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        pairs = [(root, ct) for root, ct in zip(roots, cotangents, strict=True) if root.requires_grad]
        if pairs:
            super().backward([root for root, _ in pairs], [ct for _, ct in pairs], retain_graph, **options)


class ImplicitOnes(Mutant):
    """A root of several elements without a cotangent gets a cotangent of ones instead of an error."""

    killed_by = ("errors/non-scalar-root",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        given = [self.read(torch.ones_like(r)) if c is None else c for r, c in zip(roots, cotangents, strict=True)]
        super().backward(roots, given, retain_graph, **options)


class ImplicitMean(Mutant):
    """A root of several elements without a cotangent is averaged instead of refused."""

    killed_by = ("errors/non-scalar-root",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        ones = [self.read(torch.ones_like(root) / max(1, root.numel())) for root in roots]
        super().backward(
            roots, [o if c is None else c for o, c in zip(ones, cotangents, strict=True)], retain_graph, **options
        )


class CotangentBroadcast(Mutant):
    """A cotangent that broadcasts to the root's shape is accepted instead of refused."""

    killed_by = ("errors/cotangent-shape",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        given = [_broadcast(c, tuple(r.shape)) for r, c in zip(roots, cotangents, strict=True)]
        super().backward(roots, given, retain_graph, **options)


def _broadcast(cotangent: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray | None:
    try:
        return None if cotangent is None else np.broadcast_to(cotangent, shape).copy()
    except ValueError:
        return cotangent


class CotangentReshaped(Mutant):
    """A cotangent of another shape with as many elements as the root is accepted instead of refused."""

    killed_by = ("errors/cotangent-shape",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        given = [_reshape(c, tuple(r.shape)) for r, c in zip(roots, cotangents, strict=True)]
        super().backward(roots, given, retain_graph, **options)


def _reshape(cotangent: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray | None:
    try:
        return None if cotangent is None else cotangent.reshape(shape)
    except ValueError:
        return cotangent


class WrongKind(Mutant):
    """Every error of a backward call is a ValueError with the message "bad"."""

    killed_by = (
        "errors/non-scalar-root", "errors/no-grad-root", "errors/cotangent-shape", "lifetime/same-root-raises",
        "detach/root-raises",
    )  # fmt: skip

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        try:
            super().backward(roots, cotangents, retain_graph, **options)
        except RuntimeError as error:
            raise ValueError("bad") from error


class FreedIsNoGrad(Mutant):
    """A call on a freed graph raises the error for a root that does not require grad."""

    killed_by = ("lifetime/same-root-raises", "lifetime/freed-subgraph-raises", "lifetime/default-frees")

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        try:
            super().backward(roots, cotangents, retain_graph, **options)
        except RuntimeError as error:
            if is_freed(error):
                raise RuntimeError("the root does not require grad and does not have a grad_fn") from error
            raise


class RefusalClears(Mutant):
    """A call that is refused for its arguments clears all gradients."""

    killed_by = ("errors/refusal-keeps-gradients",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        try:
            super().backward(roots, cotangents, retain_graph, **options)
        except RuntimeError as error:
            if not is_freed(error):
                self.zero_grad(self.leaves, True)
            raise


class RefusalFrees(Mutant):
    """A call that is refused for its arguments frees the graph."""

    killed_by = ("errors/refusal-keeps-graph",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        held = self.grads()
        try:
            super().backward(roots, cotangents, retain_graph, **options)
        except RuntimeError as error:
            for root in roots:
                if root.requires_grad and not is_freed(error):
                    root.sum().backward()
            self.set_grads(held)
            raise


class TearsGradients(Mutant):
    """A call that fails on a freed graph multiplies each gradient by 1.5."""

    killed_by = ("errors/atomic",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        try:
            super().backward(roots, cotangents, retain_graph, **options)
        except RuntimeError as error:
            if is_freed(error):
                self.set_grads([None if old is None else 1.5 * old for old in self.grads()])
            raise


class FailureClears(Mutant):
    """A call that fails on a freed graph clears all gradients."""

    killed_by = ("errors/atomic",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        try:
            super().backward(roots, cotangents, retain_graph, **options)
        except RuntimeError as error:
            if FREED in str(error):
                self.zero_grad(self.leaves, True)
            raise


class RefusesHighRank(Mutant):
    """A root of three or more dimensions is refused as "not implemented"."""

    killed_by = ("errors/legal-returns",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if any(root.dim() > 2 for root in roots):
            raise RuntimeError("not implemented")
        super().backward(roots, cotangents, retain_graph, **options)


class FailureLeavesRecordingOn(Mutant):
    """After a call with create_graph that fails under no_grad, ops under no_grad are recorded."""

    killed_by = ("errors/recovers", "modes/no-grad-result")

    def reset(self) -> None:
        super().reset()
        self.records = False

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        try:
            super().backward(roots, cotangents, retain_graph, **options)
        except RuntimeError:
            self.records |= bool(options.get("create_graph")) and not torch.is_grad_enabled()
            raise

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        with torch.set_grad_enabled(torch.is_grad_enabled() or self.records):
            return super().apply(op, operands, attrs)


class FailureLeavesInputs(Mutant):
    """After a call with inputs that fails, the next call accumulates into these inputs alone."""

    killed_by = ("errors/recovers", "accumulation/first")

    def reset(self) -> None:
        super().reset()
        self.left: Sequence[torch.Tensor] | None = None

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        left, self.left = self.left, None
        apart = [left is not None and not any(leaf is each for each in left) for leaf in self.leaves]
        held = [(leaf, old) for leaf, old, kept in zip(self.leaves, self.grads(), apart) if kept]
        try:
            super().backward(roots, cotangents, retain_graph, **options)
        except RuntimeError:
            self.left = options.get("inputs")
            raise
        for leaf, old in held:
            leaf.grad = old
