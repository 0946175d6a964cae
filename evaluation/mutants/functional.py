"""Mutants whose fault concerns the functional form, and about backward calls that are restricted to inputs."""

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
        """Change the options; here not at all."""

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        """What it returns; here the truth."""
        return found

    def grad(
        self, roots: Roots, inputs: Roots, cotangents: Cotangents, retain_graph: bool | None, create_graph: bool,
        allow_unused: bool | None, materialize_grads: bool,
    ) -> Grads:  # fmt: skip
        """The functional form, as asked for."""
        options: dict[str, Any] = {
            "inputs": inputs, "cotangents": cotangents, "retain_graph": retain_graph, "create_graph": create_graph,
            "allow_unused": allow_unused, "materialize_grads": materialize_grads,
        }  # fmt: skip
        changed = dict(options)
        self.change_options(changed)
        return self.change_results(super().grad(roots, **changed), roots, inputs, options)


class FunctionalIgnoresCotangents(Functional):
    """The functional form takes every cotangent for ones."""

    killed_by = ("functional/value", "gradients/cotangent")

    def change_options(self, options: dict[str, Any]) -> None:
        options["cotangents"] = [None if c is None else np.ones_like(c) for c in options["cotangents"]]


class FunctionalFirstRoot(Functional):
    """The functional form walks only the last of several outputs."""

    killed_by = ("functional/value",)

    def grad(self, roots: Roots, inputs: Roots, cotangents: Cotangents, *options: Any) -> Grads:  # type: ignore[override]
        return super().grad(roots[-1:], inputs, cotangents[-1:], *options)


class FunctionalSwaps(Functional):
    """The gradients come in the order in which the inputs were made, whatever order they are asked for in."""

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
    """The functional form adds its results to what its inputs hold."""

    killed_by = ("functional/no-accumulation",)

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        for leaf, gradient in zip(inputs, found, strict=True):
            if leaf.is_leaf and gradient is not None:
                held = gradient.detach().clone()
                leaf.grad = held if leaf.grad is None else leaf.grad.detach() + held
        return found


class FunctionalClears(Functional):
    """The functional form clears what its inputs hold."""

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
    """The functional form frees the graph though it is asked to retain it."""

    killed_by = ("functional/value", "functional/frees", "functional/no-accumulation", "lifetime/retained-works")

    def change_options(self, options: dict[str, Any]) -> None:
        options["retain_graph"] = None


class InnerInputHalved(Functional):
    """An input that is no leaf gets half of its gradient."""

    killed_by = ("functional/inner-input", "functional/value")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        pairs = zip(inputs, found, strict=True)
        return [g if g is None or x.is_leaf else g / 2 for x, g in pairs]


class InnerInputBlocks(Functional):
    """No gradient flows through an input that is no leaf to the inputs behind it."""

    killed_by = ("functional/inner-input", "functional/value")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        inner = any(x.grad_fn for x in inputs)
        return [torch.zeros_like(g) if g is not None and inner and x.is_leaf else g for x, g in zip(inputs, found)]


class InnerInputGetsNone(Functional):
    """An input that is no leaf gets no gradient."""

    killed_by = ("functional/inner-input", "functional/value")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        return [g if x.is_leaf else None for x, g in zip(inputs, found, strict=True)]


class DuplicatesShare(Functional):
    """An input that is listed twice gets half of its gradient in each place."""

    killed_by = ("functional/duplicates", "functional/value")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        times = [sum(x is y for y in inputs) for x in inputs]
        return [g if g is None or n == 1 else g / n for g, n in zip(found, times, strict=True)]


class DuplicatesOnce(Functional):
    """An input that is listed twice gets zeros in the second place."""

    killed_by = ("functional/duplicates", "functional/value")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        again = [any(x is y for y in inputs[:k]) for k, x in enumerate(inputs)]
        return [torch.zeros_like(g) if g is not None and a else g for g, a in zip(found, again, strict=True)]


class UnusedIsAllowed(Functional):
    """An input that the outputs do not depend on gets none, allowed or not."""

    killed_by = ("functional/unused-raises",)

    def change_options(self, options: dict[str, Any]) -> None:
        if options["allow_unused"] is None and not options["materialize_grads"]:
            options["allow_unused"] = True


class UnusedAlwaysRaises(Functional):
    """An input that the outputs do not depend on raises, though that is allowed."""

    killed_by = ("functional/unused-none", "functional/value")

    def change_options(self, options: dict[str, Any]) -> None:
        if not options["materialize_grads"]:
            options["allow_unused"] = False


class UnusedGetsOnes(Functional):
    """An allowed input that the outputs do not depend on gets ones."""

    killed_by = ("functional/unused-none",)

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        return [torch.ones_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]


class NothingMaterialized(Functional):
    """Unused inputs get none where gradients are to be materialised."""

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
    """Asking for materialised gradients overrules that unused inputs are forbidden."""

    killed_by = ("functional/options",)

    def change_options(self, options: dict[str, Any]) -> None:
        if options["materialize_grads"]:
            options["allow_unused"] = None


class ConstantInputGetsNone(Functional):
    """An input that does not require grad gets none."""

    killed_by = ("functional/input-no-grad",)

    def change_options(self, options: dict[str, Any]) -> None:
        options["inputs"] = [x for x in options["inputs"] if x.requires_grad] or options["inputs"]

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        rest = iter(found)
        return [next(rest) if x.requires_grad else None for x in inputs]


class ConstantInputIgnored(Mutant):
    """A backward call leaves out those of its inputs that do not require grad."""

    killed_by = ("functional/input-no-grad",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if options.get("inputs"):
            kept = [x for x in options["inputs"] if x.requires_grad]
            options["inputs"] = kept or [torch.zeros(1, requires_grad=True)]
        super().backward(roots, cotangents, retain_graph, **options)


class InputsForgotten(Mutant):
    """A backward call with inputs accumulates into all leaves."""

    killed_by = ("functional/inputs-only", "accumulation/unreached")

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if options.get("inputs") and all(x.is_leaf and x.requires_grad for x in options["inputs"]):
            del options["inputs"]
        super().backward(roots, cotangents, retain_graph, **options)


class InputsFirstOnly(Mutant):
    """A backward call with inputs accumulates into the first of them alone."""

    killed_by = ("functional/inputs-only",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if options.get("inputs") and all(x.requires_grad for x in options["inputs"]):
            options["inputs"] = options["inputs"][:1]
        super().backward(roots, cotangents, retain_graph, **options)


class InputsReplace(Recording):
    """A backward call with inputs replaces what they hold."""

    killed_by = ("functional/inputs-only", "accumulation/adds", "accumulation/unreached")

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        for leaf in options.get("inputs") or ():
            if leaf.is_leaf:
                leaf.grad = None
        super().backward(roots, cotangents, retain_graph, **options)


class EmptyInputs(Mutant):
    """A backward call with an empty list of inputs walks the graph and accumulates nothing."""

    killed_by = ("functional/no-inputs",)

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if options.get("inputs") == []:
            options["inputs"] = [torch.zeros(1, requires_grad=True)]
        super().backward(roots, cotangents, retain_graph, **options)
