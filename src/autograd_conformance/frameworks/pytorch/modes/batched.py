"""PyTorch's batches of derivatives: `torch.vmap` over `torch.func.vjp`, `torch.func.jacrev`, and `is_grads_batched`.

Sources: https://docs.pytorch.org/docs/stable/func.api.html,
https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.frameworks.pytorch.modes.forward import TorchJacfwd, source
from autograd_conformance.programs.capabilities import Capability

# The three functions below are printed in the scripts of failures. They need nothing but PyTorch.


def by_vmap(function, *inputs, shared=False):  # type: ignore[no-untyped-def]
    """Returns the function from cotangents to gradients, as `torch.func.vjp` does, as the second of a batch of two.

    With `shared`, both members of the batch have every other input in common.
    """

    def gradients(cotangents):  # type: ignore[no-untyped-def]
        def one(*given):  # type: ignore[no-untyped-def]
            values, scaled = given[: len(inputs)], given[len(inputs) :]
            return torch.func.vjp(function, *values)[1](scaled if isinstance(cotangents, tuple) else scaled[0])

        given = cotangents if isinstance(cotangents, tuple) else (cotangents,)
        dims = tuple(None if shared and k % 2 else 0 for k in range(len(inputs)))
        # Nothing depends on the first member, whose numbers may be outside of a domain: 0 times NaN is NaN.
        batch = [x if d is None else torch.stack([0.99609375 * x.detach(), x]) for x, d in zip(inputs, dims)]
        scaled = (torch.stack([2 * c.detach(), c]) for c in given)
        found = torch.vmap(one, in_dims=dims + (0,) * len(given))(*batch, *scaled)
        return tuple(x[1] for x in found)

    return gradients


def by_samples(function, *inputs):  # type: ignore[no-untyped-def]
    """Returns the function from cotangents to gradients, as `torch.func.vjp` does, as the second of two samples, which
    share every other input.
    """
    return by_vmap(function, *inputs, shared=True)


def by_batch(function, *inputs):  # type: ignore[no-untyped-def]
    """Returns the function from cotangents to gradients, as `torch.func.vjp` does, of a weighted sum of two of three
    calls at once, which share every other input.
    """

    def weighted(y):  # type: ignore[no-untyped-def]
        return 0.25 * y[1] + 0.75 * y[2]

    def several(*values):  # type: ignore[no-untyped-def]
        dims = tuple(None if k % 2 else 0 for k in range(len(values)))
        batch = [x if d is None else torch.stack([0.99609375 * x.detach(), x, x]) for x, d in zip(values, dims)]
        found = torch.vmap(function, in_dims=dims)(*batch)
        return tuple(map(weighted, found)) if isinstance(found, tuple) else weighted(found)

    return torch.func.vjp(several, *inputs)[1]


def by_jacrev(function, *inputs):  # type: ignore[no-untyped-def]
    """Returns the function from cotangents to gradients, as `torch.func.vjp` does, by the Jacobian of `jacrev`."""

    def gradient(k, cotangents):  # type: ignore[no-untyped-def]
        x = inputs[k]
        given = cotangents if isinstance(cotangents, tuple) else (cotangents,)
        jacobians = torch.func.jacrev(function, argnums=k)(*inputs)
        jacobians = jacobians if isinstance(jacobians, tuple) else (jacobians,)
        terms = [torch.tensordot(c.to(j.dtype), j, dims=c.ndim) for c, j in zip(given, jacobians)]
        return sum(terms, torch.zeros(x.shape, dtype=x.dtype, device=x.device)).to(x.dtype)

    return lambda cotangents: tuple(gradient(k, cotangents) for k in range(len(inputs)))


def batched_grad(roots, inputs, grad_outputs=None, **options):  # type: ignore[no-untyped-def]
    """Returns what `torch.autograd.grad` returns, as the second of a batch of two; without cotangents as usual."""
    several = isinstance(roots, (list, tuple))
    pairs = zip(roots, grad_outputs) if several and grad_outputs else [(roots, grad_outputs)]
    if any(c is None or c.shape != r.shape for r, c in pairs):
        return torch.autograd.grad(roots, inputs, grad_outputs, **options)
    batches = [torch.stack([2 * c, c]) for c in (grad_outputs if several else [grad_outputs])]
    found = torch.autograd.grad(roots, inputs, batches if several else batches[0], is_grads_batched=True, **options)
    with torch.set_grad_enabled(bool(options.get("create_graph"))):
        seconds = {id(x): torch.atleast_1d(x)[-1] for x in found if x is not None and x.shape[:1] != (0,)}
    return [seconds.get(id(x), x) for x in found]


class TorchVmap(TorchJacfwd):
    """PyTorch with gradients from `torch.func.vjp` under `torch.vmap`: each call is the second of a batch of two.

    The first has inputs that are smaller by 1/256, so that they stay in the domains of most ops, and twice the
    cotangents.
    """

    name = "torch-vmap"
    pulled = staticmethod(by_vmap)


class TorchPerSample(TorchJacfwd):
    """PyTorch with gradients for each sample: `torch.func.vjp` under `torch.vmap`, where two calls share every other
    input, as samples share weights.
    """

    name = "torch-per-sample"
    pulled = staticmethod(by_samples)
    helpers = (by_vmap,)


class TorchReverseOverVmap(TorchJacfwd):
    """PyTorch with gradients of a batch: `torch.func.vjp` of a function under `torch.vmap`, where three calls share
    every other input. The gradients of the second and third, which are alike, are added.
    """

    name = "torch-reverse-over-vmap"
    pulled = staticmethod(by_batch)


class TorchJacrev(TorchJacfwd):
    """PyTorch with gradients from the Jacobian of `torch.func.jacrev`."""

    name = "torch-jacrev"
    pulled = staticmethod(by_jacrev)


class TorchBatched(TorchEager):
    """Eager PyTorch whose `torch.autograd.grad` computes gradients of two cotangents at once, of which the second is
    the program's.
    """

    name = "torch-batched"
    capabilities = TorchEager.capabilities - {
        Capability.HOOKS, Capability.RETAINS_GRAD, Capability.CREATES_IN_LEAVES,
    }  # fmt: skip
    """Eager PyTorch's without hooks on gradients and retained gradients, which get the whole batch, and without
    `create_graph` in `backward`, so that derivatives of higher order go through `torch.autograd.grad`.
    """
    grad_function = staticmethod(batched_grad)

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.dialect = replace(
            self.dialect,
            prelude=f"{self.dialect.prelude}\n\n\n{source(batched_grad)}\n",
            grad="batched_grad({roots}, {inputs}{arguments})",
        )

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns PyTorch without batches."""
        return {"without the batch": partial(TorchEager, self.requested_device)}
