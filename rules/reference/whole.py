"""The authority: a backward call as `jax.vjp` over the whole program as a pure function of its leaves.

This is what a verdict rests on when the fast composition of `rules.reference.values` and the framework disagree: JAX
traces, differentiates and runs everything itself, un-jitted, in float64; detach is `stop_gradient`.
"""

from __future__ import annotations

import jax
import numpy as np

from rules.language import Apply, Backward, Detach, Leaf, Program, Ref
from rules.reference.functions import array, definition
from rules.reference.namespace import J


def gradients(program: Program, call: Backward) -> dict[Ref, np.ndarray]:
    """The contribution of a backward call to every leaf that requires grad; zeros where a leaf is not reached.

    Programs that use gradients as values, or step along them, have no such function; for them the answer is empty.
    """
    if program.stateful:  # what was held and written is not a function of the leaves alone
        return {}
    leaves = [ref for ref in program.leaves if program[ref.at].requires_grad]  # type: ignore[union-attr]
    last = max(r.at for r in call.roots)

    def roots(*given: jax.Array) -> tuple[jax.Array, ...]:
        values = dict(zip(leaves, given, strict=True))
        for at, step in enumerate(program.instructions[: last + 1]):
            match step:
                case Leaf(value):
                    values.setdefault(Ref(at), J.np.asarray(array(value)))
                case Detach(source):
                    values[Ref(at)] = J.lax.stop_gradient(values[source])
                case Apply(op, args, attrs):
                    for k, made in enumerate(definition(op, attrs)(*(values[r] for r in args))):
                        values[Ref(at, k)] = made
        return tuple(values[r] for r in call.roots)

    primals = [J.np.asarray(array(program[ref.at].value)) for ref in leaves]  # type: ignore[union-attr,arg-type]
    out, pull = jax.vjp(roots, *primals)
    cts = tuple(
        J.np.ones_like(y) if c is None else J.np.asarray(array(c)) for y, c in zip(out, call.cotangents, strict=True)
    )
    return {ref: np.asarray(g) for ref, g in zip(leaves, pull(cts), strict=True)}
