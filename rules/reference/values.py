"""Every value and every gradient of a program, composed from the vector-Jacobian products of its ops.

`Reference` grows with the program, an instruction at a time, so that a strategy can draw with it and the judge can
reuse what was computed. All arithmetic is in float64, whatever the program's dtypes: the reference is the exact
answer as far as a float32 framework is concerned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import jax
import numpy as np

from rules.language import Apply, Attrs, Backward, Detach, Instruction, Leaf, Literal, Program, Ref, Shape
from rules.ops import OPS
from rules.reference.namespace import J
from rules.reference.staged import Source, Staged, stage
from rules.reference.store import store

Array = np.ndarray

np.seterr(all="ignore")  # a drawn program may overflow; the judge compares infinities, NumPy need not warn of them


def definition(op: str, attrs: Attrs) -> Callable[..., tuple[jax.Array, ...]]:
    """An op of the catalogue as a JAX function that returns a tuple."""
    reference, keywords = OPS[op].reference, dict(attrs)

    def defined(*operands: jax.Array) -> tuple[jax.Array, ...]:
        out = reference(J, *operands, **keywords)
        return tuple(out) if isinstance(out, (tuple, list)) else (out,)

    return defined


@lru_cache(maxsize=None)
def forward_of(op: str, attrs: Attrs, shapes: tuple[Shape, ...]) -> Staged:
    """The results of an op as a NumPy function of its operands."""
    return store().staged(("forward", op, attrs, shapes), lambda: stage(definition(op, attrs), *shapes))


@lru_cache(maxsize=None)
def vjp_of(op: str, attrs: Attrs, shapes: tuple[Shape, ...]) -> Staged:
    """The vector-Jacobian product of an op as a NumPy function of its operands and its results' cotangents."""
    function = definition(op, attrs)

    def pull(*inputs: jax.Array) -> tuple[jax.Array, ...]:
        return jax.vjp(function, *inputs[: len(shapes)])[1](tuple(inputs[len(shapes) :]))

    def make() -> Source:
        outs = jax.eval_shape(function, *(jax.ShapeDtypeStruct(s, np.float64) for s in shapes))
        return stage(pull, *shapes, *(o.shape for o in outs))

    return store().staged(("vjp", op, attrs, shapes), make)


def array(value: Literal) -> Array:
    """A literal as a float64 array."""
    return np.array(value.data, dtype=np.float64).reshape(value.shape)


class Reference:
    """The exact values of a program so far; `add` takes its next instruction."""

    def __init__(self, program: Program | None = None) -> None:
        self.steps: list[Instruction] = []
        self.values: dict[Ref, Array] = {}
        self.requires_grad: dict[Ref, bool] = {}
        self._pullbacks: dict[object, dict[Ref, Array]] = {}
        for step in program or ():
            self.add(step)

    def add(self, step: Instruction) -> tuple[Array, ...]:
        """Compute the values that an instruction makes."""
        at = len(self.steps)
        self.steps.append(step)
        match step:
            case Leaf(literal, requires_grad):
                made: tuple[Array, ...] = (array(literal),)
            case Detach(source):
                made, requires_grad = (self.values[source],), False
            case Apply(op, args, attrs):
                made = self.apply(op, args, attrs)
                requires_grad = any(self.requires_grad[r] for r in args)
            case _:
                return ()
        for k, value in enumerate(made):
            self.values[Ref(at, k)] = value
            self.requires_grad[Ref(at, k)] = requires_grad
        return made

    def apply(self, op: str, args: tuple[Ref, ...], attrs: Attrs) -> tuple[Array, ...]:
        """The results that an op would have here, without adding an instruction."""
        operands = [self.values[r] for r in args]
        return forward_of(op, attrs, tuple([x.shape for x in operands]))(*operands)

    def pullback(self, call: Backward) -> Mapping[Ref, Array]:
        """What a backward call contributes to every value that its roots depend on (leaves and others)."""
        key = (call.roots, call.cotangents)
        if key not in self._pullbacks:
            self._pullbacks[key] = pull(self.steps, self.values, self.requires_grad, call)
        return self._pullbacks[key]


Vjp = Callable[[int, Apply, list[Array], list[Array]], tuple[Array, ...]]


def exact_vjp(at: int, step: Apply, operands: list[Array], cotangents: list[Array]) -> tuple[Array, ...]:
    """One op's vector-Jacobian product in float64."""
    return vjp_of(step.op, step.attrs, tuple([x.shape for x in operands]))(*operands, *cotangents)


def pull(
    steps: Sequence[Instruction],
    values: Mapping[Ref, Array],
    requires_grad: Mapping[Ref, bool],
    call: Backward,
    vjp: Vjp = exact_vjp,
    combine: Callable[[Array, Array], Array] = np.add,
    joined: bool = True,
) -> dict[Ref, Array]:
    """Reverse accumulation over the recorded instructions, newest first.

    `combine` joins the contributions to a value; where it is not a sum, `joined` says whether what one op contributes
    to a value that it takes in several places counts as one contribution.
    """
    cotangents: dict[Ref, Array] = {}

    def add(ref: Ref, ct: Array) -> None:
        if requires_grad[ref]:
            cotangents[ref] = combine(cotangents[ref], ct) if ref in cotangents else ct

    for root, given in zip(call.roots, call.cotangents, strict=True):
        add(root, np.ones_like(values[root]) if given is None else array(given))
    for at in range(max((r.at for r in call.roots), default=-1), -1, -1):
        step = steps[at]
        if not isinstance(step, Apply):
            continue
        made = [Ref(at, k) for k in range(step.results)]
        if not any(r in cotangents for r in made):
            continue
        cts = [cotangents[r] if r in cotangents else np.zeros_like(values[r]) for r in made]
        contributions = vjp(at, step, [values[r] for r in step.args], cts)
        if combine is np.add or not joined:
            for ref, ct in zip(step.args, contributions, strict=True):
                add(ref, ct)
        else:
            for ref in dict.fromkeys(step.args):
                add(ref, np.add.reduce([ct for r, ct in zip(step.args, contributions, strict=True) if r == ref]))
    return cotangents


_latest: tuple[Program, Reference] | None = None


def remember(program: Program, reference: Reference) -> Program:
    """Keep the reference that a program was drawn with for whoever judges it next."""
    global _latest
    _latest = (program, reference)
    return program


def reference_of(program: Program) -> Reference:
    """The reference of a program: the one that it was drawn with if that was the latest, else a new one."""
    if _latest is not None and _latest[0] is program:
        return _latest[1]
    return Reference(program)
