"""Adapters for JAX: https://docs.jax.dev.

The suite's reference, which computes the right gradients, uses JAX too, but in another way. The reference writes a
formula for each op, takes JAX's derivative of the formula as a jaxpr, and evaluates the jaxpr with NumPy in float64,
one op at a time; it runs no compiled code. This adapter calls JAX's own functions (`jax.nn.gelu`, not its formula) in
the program's dtype, and `jax.vjp` differentiates the whole function, compiled by XLA. Adapter and reference share JAX's
derivative rules of primitives. A fault in one of these rules changes both in the same way, and only finite differences
detect it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograd_conformance.adapters.jax.dialect import LIMITS, OPS, dialect
from autograd_conformance.frameworks.environment.caches import compiled
from autograd_conformance.frameworks.running.functional import Functional
from autograd_conformance.frameworks.running.templates import Templates
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import COARSE, usual
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind

PROGRAMS_PER_CACHE = 2_000
"""Number of programs after which JAX's compiled functions are cleared; they would fill the memory otherwise."""

CACHE_OPTIONS = {
    "jax_compilation_cache_dir": str(compiled("jax", jax.__version__)),
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
"""Options that make JAX keep compiled code on disk, however small: JAX compiles each primitive for each shape, which
takes most of a run. Documented at https://docs.jax.dev/en/latest/persistent_compilation_cache.html. If the environment
variable `JAX_COMPILATION_CACHE_DIR` names a folder, the adapter changes none of JAX's options.
"""


REFUSALS = (
    " does not accept dtype ",
    "input must be float32 or float64, got ",
    " is not supported",
    "Unsupported dtype ",
)
"""The most stable part of the messages with which JAX refuses a dtype; the name of the dtype is in the message, too."""


class Jax(Functional):
    """Runs programs on JAX without `jax.jit`: each function runs primitive by primitive."""

    name = "jax"
    version = jax.__version__
    variables = ("JAX_", "XLA_")
    capabilities = frozenset(
        {
            Capability.FUNCTIONAL, Capability.COTANGENTS, Capability.COTANGENT_CHECK, Capability.MULTIPLE_ROOTS,
            Capability.CREATE_GRAPH, Capability.MATERIALIZES, Capability.DETACH,
        }
    )  # fmt: skip
    """Sources: the documentation of `jax.vjp` (a cotangent has the structure and shapes of the function's results), of
    automatic differentiation (transformations compose), and of `jax.lax.stop_gradient`."""
    ops = frozenset(OPS)
    limits = LIMITS
    dtypes: tuple[str, ...] = ("float64", "float32", "bfloat16", "float16")
    dialect = dialect("jax.vjp({function}, {inputs})[1]({cotangent})")

    def __init__(self, device: str = "cpu") -> None:
        jax.config.update("jax_enable_x64", True)
        if jax.config.jax_compilation_cache_dir is None:
            for option, value in CACHE_OPTIONS.items():
                jax.config.update(option, value)
        self.device = jax.devices(device)[0]
        self.templates = Templates.of(self.dialect)
        self.programs = 0

    def reset(self) -> None:
        """Clears JAX's compiled functions after every `PROGRAMS_PER_CACHE` programs, because most of them run once."""
        self.programs += 1
        if self.programs % PROGRAMS_PER_CACHE == 0:
            jax.clear_caches()

    def leaf(self, data: np.ndarray, requires_grad: bool) -> jax.Array:
        """Returns a copy of the array on the device."""
        return jax.device_put(jnp.array(data), self.device)

    def apply(self, op: str, operands: Sequence[jax.Array], attrs: Attrs) -> Sequence[jax.Array]:
        """Returns all results of an op."""
        out = self.op(op, attrs, len(operands))(*operands)
        return tuple(out) if isinstance(out, (tuple, list)) else (out,)

    def op(self, op: str, attrs: Attrs, operands: int) -> Callable[..., Any]:
        """Returns an op as a function of its operands."""
        return self.templates.op(op, attrs, operands)

    def detach(self, value: jax.Array) -> jax.Array:
        """Calls `jax.lax.stop_gradient`."""
        return jax.lax.stop_gradient(value)

    def vjp(
        self,
        function: Callable[..., tuple[jax.Array, ...]],
        values: Sequence[jax.Array],
        cotangents: Sequence[np.ndarray],
    ) -> Sequence[jax.Array]:
        """Calls `jax.vjp`. Cotangents are copied, because JAX arrays are immutable."""
        return self.pullback(function, tuple(values), tuple(map(jnp.array, cotangents)))

    @staticmethod
    def pullback(
        function: Callable[..., tuple[jax.Array, ...]],
        values: tuple[jax.Array, ...],
        cotangents: tuple[jax.Array, ...],
    ) -> tuple[jax.Array, ...]:
        """Traces the function with `jax.vjp`, and returns the gradients that its pullback function computes from the
        cotangents.
        """
        _, pull = jax.vjp(function, *values)
        return pull(cotangents)

    def read(self, value: jax.Array) -> np.ndarray:
        """Returns a copy of the elements."""
        return np.array(value)

    def dtype(self, value: jax.Array) -> str:
        """Returns the name of the dtype."""
        return value.dtype.name

    def classify(self, error: BaseException) -> Kind:
        """Returns the kind of an error by its type and message."""
        text = str(error)
        if any(part in text for part in REFUSALS) and any(dtype in text for dtype in COARSE):
            return Kind.NO_KERNEL
        if isinstance(error, NotImplementedError):
            return Kind.NOT_IMPLEMENTED
        if isinstance(error, ValueError) and text.startswith("unexpected JAX type (e.g. shape/dtype) for argument"):
            return Kind.COTANGENT_SHAPE
        return Kind.UNKNOWN


class JaxJit(Jax):
    """Runs programs on JAX with `jax.jit`: every op is compiled, and so is each whole call of `jax.vjp` with its
    function.
    """

    name = "jax-jit"
    dtypes = usual(Jax.dtypes)
    """The usual ones: in few digits, XLA leaves out roundings between the ops that it fuses."""
    dialect = dialect(
        "jax.jit(lambda values, cotangents: jax.vjp({function}, *values)[1](cotangents))(({inputs},), {cotangent})"
    )

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.compiled: dict[tuple[str, Attrs, int], Callable[..., Any]] = {}

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns JAX without its compiler around ops and calls."""
        return {"without jax.jit": partial(Jax, self.device.platform)}

    def op(self, op: str, attrs: Attrs, operands: int) -> Callable[..., Any]:
        """Returns an op as a compiled function of its operands."""
        key = (op, attrs, operands)
        if key not in self.compiled:
            self.compiled[key] = jax.jit(super().op(op, attrs, operands))
        return self.compiled[key]

    def vjp(
        self,
        function: Callable[..., tuple[jax.Array, ...]],
        values: Sequence[jax.Array],
        cotangents: Sequence[np.ndarray],
    ) -> Sequence[jax.Array]:
        """Calls `jax.vjp` inside one compiled function of the values and cotangents."""

        def pullback(values: tuple[jax.Array, ...], cotangents: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
            return self.pullback(function, values, cotangents)

        return jax.jit(pullback)(tuple(values), tuple(map(jnp.array, cotangents)))
