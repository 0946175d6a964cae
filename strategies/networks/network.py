"""The base class of networks: parameter leaves, and two ways to compute results from them and an input.

`module` uses the framework's own module; `composed` computes the module's documented equations op by op. Both use the
same parameters, so their results must agree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autograd_conformance.ops.modules import parameters as parameters_of
from autograd_conformance.ops.modules import results
from autograd_conformance.ops.rows.domains import Domain
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs, Ref, Shape
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.unsupported import Unsupported

WEIGHT = Domain("within one", lambda x: x.size == 0 or bool(np.abs(x).max() <= 1), lambda x: np.clip(x, -4, 4) / 4)
"""Domain of parameters and inputs, from -1 to 1: small enough that no gate saturates."""

REUSED = 10
"""One in this many parameters is an earlier parameter of the same network, if one has the same shape."""

FROZEN = 8
"""One in this many parameters after the first requires no grad, in networks that may have frozen parameters."""


@dataclass(frozen=True)
class Network(ABC):
    """A network whose parameters are leaves of one program under construction."""

    operands: tuple[Ref, ...]
    """The parameters in the order of their names; one leaf may have two names."""

    names: tuple[str, ...]
    """The name of each operand in the framework's module, such as "weight"."""

    by_module: bool
    """Whether `call` uses the framework's module; otherwise it computes op by op."""

    @property
    def parameters(self) -> tuple[Ref, ...]:
        """The parameter leaves, each once."""
        return tuple(dict.fromkeys(self.operands))

    @abstractmethod
    def module(self, a: Draft, *inputs: Ref) -> list[Ref]:
        """Applies the framework's module to inputs, and returns its results."""

    @abstractmethod
    def composed(self, a: Draft, *inputs: Ref) -> list[Ref]:
        """Computes the results of the framework's module op by op."""

    @abstractmethod
    def inputs(self, a: Draft, requires_grad: bool = False) -> list[Ref]:
        """Adds fresh leaves to call the network on: an input, and for some networks the first state or a memory."""

    @property
    @abstractmethod
    def modules(self) -> tuple[str, ...]:
        """The names of the modules that the network consists of, such as "nn_linear"."""

    def call(self, a: Draft, *inputs: Ref) -> list[Ref]:
        """Applies the framework's module, or computes its results op by op, as drawn for this network."""
        return (self.module if self.by_module else self.composed)(a, *inputs)

    def needs_modules(self, a: Draft) -> None:
        """Raises `Unsupported` unless the framework has the network's modules."""
        a.require(Capability.MODULES)
        missing = [name for name in self.modules if name not in a.alphabet.modules]
        if missing:
            raise Unsupported(f"the framework has no module {' or '.join(missing)}")


class Parameters:
    """Draws the parameters of a network one after another. With `frozen`, some require no grad."""

    def __init__(self, a: Draft, frozen: bool = False) -> None:
        self.a, self.frozen = a, frozen
        self.named: list[tuple[str, Ref]] = []

    def leaf(self, name: str, shape: Shape, requires_grad: bool = True) -> Ref:
        """Draws one parameter: a fresh leaf, or sometimes an earlier one of the same shape."""
        a = self.a
        same = [ref for _, ref in self.named if a.shape(ref) == shape and a.requires(ref)]
        if same and requires_grad and a.below(REUSED) == REUSED - 1:
            ref = a.pick(same)
        else:
            freezes = self.frozen and bool(self.named) and a.below(FROZEN) == FROZEN - 1
            ref = a.leaf(shape, requires_grad and not freezes, WEIGHT)
        self.named.append((name, ref))
        return ref

    def for_module(self, module: str, attrs: Attrs, prefix: str = "", **sizes: int) -> tuple[Ref, ...]:
        """Draws all parameters of a module, such as "nn_linear", of the given sizes."""
        return tuple([self.leaf(prefix + name, shape) for name, shape in parameters_of(module, attrs, sizes)])

    @property
    def refs(self) -> tuple[Ref, ...]:
        """The parameter leaves, in order."""
        return tuple(ref for _, ref in self.named)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters, in order."""
        return tuple(name for name, _ in self.named)


def by_module(a: Draft, *modules: str) -> bool:
    """Draws whether a network is called by the framework's modules: never if the framework lacks one, else in two cases
    of three.
    """
    has = a.can(Capability.MODULES) and set(modules) <= set(a.alphabet.modules)
    return has and a.below(3) < 2


def apply_module(a: Draft, module: str, attrs: Attrs, operands: Iterable[Ref]) -> list[Ref]:
    """Applies a module to operands, and returns its results."""
    made = a.apply(module, operands, attrs)
    assert len(made) == results(module, attrs)
    return made


# -- parts that composed networks share -------------------------------------------------------------------------------


def op(a: Draft, name: str, *operands: Ref, **attrs: object) -> Ref:
    """Applies an op of one result, and returns the result. Raises `UnsupportedOp` if the framework does not have the
    op.
    """
    (name,) = a.available(name)
    return a.apply(name, operands, tuple(attrs.items()))[0]  # type: ignore[arg-type]


def affine(a: Draft, x: Ref, weight: Ref, bias: Ref | None = None) -> Ref:
    """Computes the result of a linear layer op by op."""
    if bias is not None and "linear_bias" in a.alphabet.ops:
        return op(a, "linear_bias", x, weight, bias)
    if "linear" in a.alphabet.ops:
        made = op(a, "linear", x, weight)
    else:
        made = op(a, "matmul", x, op(a, "matrix_transpose", weight))
    return made if bias is None else op(a, "add", made, bias)


def concatenated(a: Draft, parts: Sequence[Ref], dim: int) -> Ref:
    """Concatenates values along a dimension."""
    parts = list(parts)
    while len(parts) > 1:
        three = parts[:3] if len(parts) > 2 and "concat_three" in a.alphabet.ops else parts[:2]
        parts = [op(a, "concat" if len(three) == 2 else "concat_three", *three, dim=dim), *parts[len(three) :]]
    return parts[0]


def stacked(a: Draft, parts: Sequence[Ref], dim: int) -> Ref:
    """Stacks values along a new dimension."""
    return concatenated(a, [op(a, "expand_dims", part, dim=dim) for part in parts], dim)


def normalised(a: Draft, x: Ref, dims: tuple[int, ...]) -> Ref:
    """Computes values minus their mean over `dims`, divided by their standard deviation."""
    centred = op(a, "subtract", x, op(a, "mean", x, dim=dims, keepdim=True))
    variance = op(a, "mean", op(a, "square", centred), dim=dims, keepdim=True)
    return op(a, "divide", centred, op(a, "sqrt", op(a, "add_scalar", variance, scalar=1e-5)))


def scaled(a: Draft, x: Ref, weight: Ref, bias: Ref) -> Ref:
    """Computes values times a weight plus a bias."""
    return op(a, "add", op(a, "multiply", x, weight), bias)
