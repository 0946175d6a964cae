"""The authority: a backward call as `jax.vjp` over the whole program as a pure function of its leaves.

This is what a verdict rests on when the fast composition of `reference.reference` and the framework disagree: JAX
traces, differentiates and runs everything itself, un-jitted, in float64; detach is `stop_gradient`.
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


def recorded(reference: Reference, call: BackwardCall, edge: GradientEdge) -> np.ndarray | None:
    """What a call contributes to an edge, by `jax.vjp` over the whole tape, as one function of that edge.

    A value that was written to without being recorded is taken as it was when it was used; only its derivative comes
    from its history. None where hooks change gradients on the way: that is no function's derivative.
    """
    if any(hook.effect != "observe" for on in reference.hooks.values() for _, hook in on):
        return None
    roots = reference.roots(call)

    def values(given: jax.Array) -> tuple[jax.Array, ...]:
        known: dict[GradientEdge, jax.Array] = {edge: given}
        for entry in reference.entries:
            if any(entry.needs_input_grad) and any(s in known for s in entry.args):
                known.update(zip(entry.outs, _again(entry, known), strict=True))
                known[edge] = given
        return tuple(known.get(root, J.np.asarray(reference.values[root])) for root, _ in roots)

    _, pull = jax.vjp(values, J.np.asarray(reference.values[edge]))
    return np.asarray(pull(tuple(J.np.asarray(ct) for _, ct in roots))[0])


def _again(entry: TapeEntry, known: dict[GradientEdge, jax.Array]) -> tuple[jax.Array, ...]:
    """An entry's results again, as functions of the edges that are known."""
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
