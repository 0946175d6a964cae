"""Gradients by `jax.vjp` over a whole program as one pure function of its leaves.

If the composed gradients of `reference.reference` and the framework disagree, this decides the verdict: JAX traces,
differentiates and runs the whole program itself, un-jitted, in float64. A detach becomes `stop_gradient`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograd_conformance.programs.language import Apply, Backward, BackwardCall, Detach, Leaf, Program, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.reverse import MOVE, GradientEdge, TapeEntry
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.staging.derivatives import array, definition
from autograd_conformance.reference.staging.namespace import J

if TYPE_CHECKING:
    import jax
else:
    from autograd_conformance.reference.staging.lazy_modules import jax


def gradients(program: Program, call: Backward) -> dict[Ref, np.ndarray]:
    """Computes the gradient of every leaf that requires grad from one backward call; zeros for a leaf that the call
    does not reach.

    A program whose results depend on more than its leaves, such as one with in-place writes, hooks or grad modes, is
    not such a function; for such a program the result is empty.
    """
    if program.stateful:  # gradients as values, and writes, are no function of the leaves alone
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


def recorded(reference: Reference, call: BackwardCall, edge: GradientEdge) -> np.ndarray | None:
    """Computes the contribution of a call to an edge, by `jax.vjp` over the whole tape as one function of that edge.

    A value that was written to without recording is used as it was at that time; only its derivative follows its
    history. The result is None if hooks change gradients, because the contribution is then not the derivative of a
    function.
    """
    if any(hook.effect != "observe" for on in reference.hooks.on.values() for _, hook in on):
        return None
    roots = reference.tape.roots(call)

    def values(given: jax.Array) -> tuple[jax.Array, ...]:
        known: dict[GradientEdge, jax.Array] = {edge: given}
        for entry in reference.tape.entries:
            if any(entry.needs_input_grad) and any(s in known for s in entry.args):
                known.update(zip(entry.outs, _recomputed(entry, known), strict=True))
                known[edge] = given
        return tuple(known.get(root, J.np.asarray(reference.values[root])) for root, _ in roots)

    _, pull = jax.vjp(values, J.np.asarray(reference.values[edge]))
    return np.asarray(pull(tuple(J.np.asarray(ct) for _, ct in roots))[0])


def _recomputed(entry: TapeEntry, known: dict[GradientEdge, jax.Array]) -> tuple[jax.Array, ...]:
    """Computes the results of a tape entry again, as functions of the edges in `known`."""
    operands = []
    for s, value, needs_input_grad in zip(entry.args, entry.operands, entry.needs_input_grad, strict=True):
        moving = known[s] - jax.lax.stop_gradient(known[s]) if needs_input_grad and s in known else 0.0
        operands.append(J.np.asarray(value) + moving)
    if entry.op != MOVE:
        return definition(entry.op, entry.attrs)(*operands)
    out = J.np.zeros(int(np.prod(entry.attrs.shape)))
    for x, (source, target) in zip(operands, entry.attrs.ways, strict=True):
        out = out.at[target].add(x.ravel()[source])
    return (out.reshape(entry.attrs.shape),)
