"""Mutants whose fault is in the functional form (`torch.autograd.grad`) or in backward calls with `inputs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch

from evaluation.mutants.mutant import Cotangents, Mutant, Recording, Roots

Grads: TypeAlias = Sequence[torch.Tensor | None]


class Functional(Mutant):
    """A mutant whose fault is in the options of the functional form (`change_options`) or in its results
    (`change_results`).
    """

    def change_options(self, options: dict[str, Any]) -> None:
        """Change the options of a call; here not at all."""

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        """The gradients that a call returns; here the right ones."""
        return found

    def grad(
        self, roots: Roots, inputs: Roots, cotangents: Cotangents, retain_graph: bool | None, create_graph: bool,
        allow_unused: bool | None, materialize_grads: bool,
    ) -> Grads:  # fmt: skip
        """The functional form, with changed options and results."""
        options: dict[str, Any] = {
            "inputs": inputs, "cotangents": cotangents, "retain_graph": retain_graph, "create_graph": create_graph,
            "allow_unused": allow_unused, "materialize_grads": materialize_grads,
        }  # fmt: skip
        changed = dict(options)
        self.change_options(changed)
        return self.change_results(super().grad(roots, **changed), roots, inputs, options)


class FunctionalIgnoresCotangents(Functional):
    """The functional form replaces every cotangent by ones."""

    killed_by = ("functional/value", "gradients/cotangent")

    def change_options(self, options: dict[str, Any]) -> None:
        options["cotangents"] = [None if c is None else np.ones_like(c) for c in options["cotangents"]]


class FunctionalFirstRoot(Functional):
    """The functional form walks only the last of several outputs."""

    killed_by = ("functional/value",)

    def grad(self, roots: Roots, inputs: Roots, cotangents: Cotangents, *options: Any) -> Grads:  # type: ignore[override]
        return super().grad(roots[-1:], inputs, cotangents[-1:], *options)


class FunctionalSwaps(Functional):
    """The functional form returns gradients in the order in which the leaves were made instead of that of
    its inputs.
    """

    killed_by = ("functional/value",)
    longest = 9

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        leaves = [k for k, x in enumerate(inputs) if any(x is leaf for leaf in self.leaves)]
        place = {id(leaf): n for n, leaf in enumerate(self.leaves)}
        made = list(found)
        for k, source in zip(leaves, sorted(leaves, key=lambda k: place[id(inputs[k])]), strict=True):
            made[k] = found[source]
        return made


class FunctionalAccumulates(Functional):
    """The functional form adds its results to the `.grad` of its inputs."""

    killed_by = ("functional/no-accumulation",)

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        for leaf, gradient in zip(inputs, found, strict=True):
            if leaf.is_leaf and gradient is not None:
                held = gradient.detach().clone()
                leaf.grad = held if leaf.grad is None else leaf.grad.detach() + held
        return found


class FunctionalClears(Functional):
    """The functional form clears the `.grad` of its inputs."""

    killed_by = ("functional/no-accumulation",)

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        self.zero_grad([leaf for leaf in inputs if leaf.is_leaf], True)
        return found


class FunctionalKeeps(Functional):
    """The functional form never frees the graph."""

    killed_by = ("functional/frees",)

    def change_options(self, options: dict[str, Any]) -> None:
        options["retain_graph"] = True


class FunctionalForgetsRetain(Functional):
    """The functional form ignores retain_graph: it frees the graph unless create_graph is true."""

    killed_by = ("functional/value", "functional/frees", "functional/no-accumulation", "lifetime/retained-works")

    def change_options(self, options: dict[str, Any]) -> None:
        options["retain_graph"] = None


class InnerInputHalved(Functional):
    """A non-leaf input gets half of its gradient."""

    killed_by = ("functional/inner-input", "functional/value")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        pairs = zip(inputs, found, strict=True)
        return [g if g is None or x.is_leaf else g / 2 for x, g in pairs]


class InnerInputBlocks(Functional):
    """If an input of the functional form is not a leaf, the gradients of the leaf inputs are zero."""

    killed_by = ("functional/inner-input", "functional/value")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        inner = any(x.grad_fn for x in inputs)
        return [torch.zeros_like(g) if g is not None and inner and x.is_leaf else g for x, g in zip(inputs, found)]


class InnerInputGetsNone(Functional):
    """A non-leaf input gets None instead of its gradient."""

    killed_by = ("functional/inner-input", "functional/value")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        return [g if x.is_leaf else None for x, g in zip(inputs, found, strict=True)]


class DuplicatesShare(Functional):
    """An input that is listed twice gets half of its gradient at each position."""

    killed_by = ("functional/duplicates", "functional/value")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        times = [sum(x is y for y in inputs) for x in inputs]
        return [g if g is None or n == 1 else g / n for g, n in zip(found, times, strict=True)]


class DuplicatesOnce(Functional):
    """An input that is listed twice gets zeros at the second position."""

    killed_by = ("functional/duplicates", "functional/value")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        again = [any(x is y for y in inputs[:k]) for k, x in enumerate(inputs)]
        return [torch.zeros_like(g) if g is not None and a else g for g, a in zip(found, again, strict=True)]


class UnusedIsAllowed(Functional):
    """An unused input gets None instead of an error, even if unused inputs are not allowed."""

    killed_by = ("functional/unused-raises",)

    def change_options(self, options: dict[str, Any]) -> None:
        if options["allow_unused"] is None and not options["materialize_grads"]:
            options["allow_unused"] = True


class UnusedAlwaysRaises(Functional):
    """An unused input raises even if unused inputs are allowed."""

    killed_by = ("functional/unused-none", "functional/value")

    def change_options(self, options: dict[str, Any]) -> None:
        if not options["materialize_grads"]:
            options["allow_unused"] = False


class UnusedGetsOnes(Functional):
    """An unused input gets ones instead of None if unused inputs are allowed."""

    killed_by = ("functional/unused-none",)

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        return [torch.ones_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]


class NothingMaterialized(Functional):
    """Unused inputs get None instead of zeros with materialize_grads."""

    killed_by = ("functional/materialized",)

    def change_options(self, options: dict[str, Any]) -> None:
        if options["materialize_grads"] and options["allow_unused"] is not False:
            options.update(materialize_grads=False, allow_unused=True)


class MaterializedAsOnes(Functional):
    """Materialised gradients of unused inputs are ones."""

    killed_by = ("functional/materialized", "functional/value")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        unused = options["materialize_grads"]
        return [g + 1 if unused and g is not None and g.grad_fn is None and not g.any() else g for g in found]


class OptionsOverruled(Functional):
    """materialize_grads overrides allow_unused=False instead of being refused with it."""

    killed_by = ("functional/options",)

    def change_options(self, options: dict[str, Any]) -> None:
        if options["materialize_grads"]:
            options["allow_unused"] = None


class ConstantInputGetsNone(Functional):
    """An input that requires no grad gets None instead of an error."""

    killed_by = ("functional/input-no-grad",)

    def change_options(self, options: dict[str, Any]) -> None:
        options["inputs"] = [x for x in options["inputs"] if x.requires_grad] or options["inputs"]

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        rest = iter(found)
        return [next(rest) if x.requires_grad else None for x in inputs]


class ConstantInputIgnored(Mutant):
    """A backward call ignores those of its `inputs` that require no grad instead of raising."""

    killed_by = ("functional/input-no-grad",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if options.get("inputs"):
            kept = [x for x in options["inputs"] if x.requires_grad]
            options["inputs"] = kept or [torch.zeros(1, requires_grad=True)]
        super().backward(roots, cotangents, retain_graph, **options)


class InputsForgotten(Mutant):
    """A backward call with `inputs` accumulates into all leaves."""

    killed_by = ("functional/inputs-only", "accumulation/unreached")

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if options.get("inputs") and all(x.is_leaf and x.requires_grad for x in options["inputs"]):
            del options["inputs"]
        super().backward(roots, cotangents, retain_graph, **options)


class InputsFirstOnly(Mutant):
    """A backward call with `inputs` accumulates into the first input only."""

    killed_by = ("functional/inputs-only",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if options.get("inputs") and all(x.requires_grad for x in options["inputs"]):
            options["inputs"] = options["inputs"][:1]
        super().backward(roots, cotangents, retain_graph, **options)


class InputsReplace(Recording):
    """A backward call with `inputs` replaces their `.grad` instead of adding to it."""

    killed_by = ("functional/inputs-only", "accumulation/adds", "accumulation/unreached")

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        for leaf in options.get("inputs") or ():
            if leaf.is_leaf:
                leaf.grad = None
        super().backward(roots, cotangents, retain_graph, **options)


class EmptyInputs(Mutant):
    """A backward call with an empty list of `inputs` accumulates nothing instead of raising."""

    killed_by = ("functional/no-inputs",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if options.get("inputs") == []:
            options["inputs"] = [torch.zeros(1, requires_grad=True)]
        super().backward(roots, cotangents, retain_graph, **options)
