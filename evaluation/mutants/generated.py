"""Generated mutants: a faulty framework for each kind of fault in each op of the catalogue.

A mutant is named after its op and its kind, and is an ordinary framework under test: `pytest
--framework=evaluation.mutants.generated:sin_sign`. Its class is made on first use. A fault without effect (a flipped
sign where the gradient is zero) makes an equivalent mutant. `evaluation.mutants.equivalence` finds such pairs and
writes them to `evaluation/mutants/equivalent.py`; they are left out here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar

import torch

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.known_differences import known
from autograd_conformance.ops.rows.row import choices_of, rest_of, takes
from autograd_conformance.ops.tables import OPS, Op
from autograd_conformance.programs.language import Attrs
from evaluation.mutants.equivalent import OPS_OF
from evaluation.mutants.mutant import UNSOUND, Mutant, gated, is_at_an_edge

Tensor = torch.Tensor

EQUIVALENT = frozenset(f"{op}_{kind}" for kind, ops in OPS_OF.items() for op in ops.split())
"""Names of the equivalent mutants, which change no gradient."""

LARGE = 3.0
"""Magnitude above which an operand counts as large."""

IN_GRAPHS = ("gradients/op", "gradients/graph")
"""The rules that may report a fault that needs other ops in the program."""

TILE = 16
"""Number of elements in a tile of a dimension."""


@dataclass(frozen=True, slots=True)
class Use:
    """One operand or result of an application of an op: its value without history, its position, and the shapes of all
    operands and results.
    """

    value: Tensor
    place: int
    count: int
    operands: tuple[torch.Size, ...]
    results: tuple[torch.Size, ...]
    remembered: bool = False
    """Whether the program applied the op before to operands of these shapes with other attributes."""


Change = Callable[[Use, Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault: the sentence that states it, the change of an operand's gradient contribution, and a predicate
    for the ops that can have it.
    """

    fault: str
    change: Change
    can: Callable[[Op], bool] = lambda op: True
    killed_by: tuple[str, ...] = ("gradients/op",)
    spreads: bool = False
    """Whether a broadcast operand is expanded first, so that the fault applies to its copies."""
    on_results: bool = False
    """Whether the fault changes the cotangents of the op's results, before the op's derivative uses them."""


# -- changes of a contribution -----------------------------------------------------------------------------------------


def _where(is_so: Callable[[Use], Tensor], change: Callable[[Tensor], Tensor]) -> Change:
    return lambda use, g: torch.where(is_so(use), change(g), g)


def _if(is_so: Callable[[Use], bool], change: Callable[[Tensor], Tensor]) -> Change:
    return lambda use, g: change(g) if is_so(use) else g


def _less_last(g: Tensor) -> Tensor:
    """The contribution with zero for the last element."""
    kept = torch.ones(g.numel(), dtype=g.dtype)
    kept[-1:] = 0
    return g * kept.reshape(g.shape)


def _transposed(use: Use, g: Tensor) -> Tensor:
    return g.mT if g.dim() >= 2 and g.shape[-1] == g.shape[-2] else g


def _averaged(use: Use, g: Tensor) -> Tensor:
    made = use.results[0].numel()
    return g * (use.value.numel() / made) if made and use.value.numel() else g


def _is_empty_beside(use: Use) -> bool:
    return not all(shape.numel() for shape in (*use.operands, *use.results))


def _is_strided(x: Tensor) -> bool:
    return not (x.is_contiguous() or _is_expanded(x))


def _is_expanded(x: Tensor) -> bool:
    return any(stride == 0 and n > 1 for stride, n in zip(x.stride(), x.shape, strict=True))


def _first_tile(g: Tensor) -> Tensor:
    """The contribution with zeros outside the first tile of each dimension."""
    kept = torch.zeros_like(g)
    within = tuple(slice(TILE) for _ in g.shape)
    kept[within] = g[within]
    return kept


# -- kinds of ops ------------------------------------------------------------------------------------------------------


def _several(op: Op) -> bool:
    return any(rest != () for shape in op.fresh if takes(op, shape) for rest in rest_of(op, shape))


def _broadcasts(op: Op) -> bool:
    return op.family == "binary" and _several(op)


def _has_rank(rank: int) -> Callable[[Op], bool]:
    return lambda op: any(len(shape) >= rank and takes(op, shape) for shape in op.fresh)


def _has_choices(op: Op) -> bool:
    return any(
        len(choices_of(op, (shape, *rest))) > 1 for shape in op.fresh if takes(op, shape) for rest in rest_of(op, shape)
    )


KINDS: dict[str, Kind] = {
    "sign": Kind("The gradient of {op} has the wrong sign.", lambda use, g: -g),
    "slight": Kind("The gradient of {op} is off by one part in a million.", lambda use, g: g * (1 + 1e-6)),
    "first_lost": Kind(
        "The first operand of {op} gets a gradient of zeros.",
        _if(lambda use: use.place == 0, torch.zeros_like),
        _several,
    ),
    "last_lost": Kind(
        "The last operand of {op} gets a gradient of zeros.",
        _if(lambda use: use.place == use.count - 1, torch.zeros_like),
        _several,
    ),
    "element": Kind("The gradient of {op} is zero for the last element of the operand.", lambda use, g: _less_last(g)),
    "transposed": Kind(
        "The gradient of {op} is transposed if the operand is a square matrix.", _transposed, _has_rank(2)
    ),
    "averaged": Kind("A broadcast operand of {op} gets the mean of its copies' gradients.", _averaged, _broadcasts),
    "first_copy": Kind(
        "A broadcast operand of {op} gets the gradient of its first copy alone.", lambda use, g: g, _broadcasts,
        spreads=True,
    ),
    "at_zero": Kind(
        "The gradient of {op} is zero where its operand is exactly zero.",
        _where(lambda use: use.value == 0, torch.zeros_like),
    ),
    "at_large": Kind(
        "The gradient of {op} is zero where the magnitude of its operand exceeds three.",
        _where(lambda use: use.value.abs() > LARGE, torch.zeros_like),
    ),
    "size_one": Kind(
        "The gradient of {op} is doubled if the operand has a dimension of size one.",
        _if(lambda use: 1 in use.value.shape, lambda g: 2 * g),
    ),
    "size_zero": Kind(
        "The gradient of {op} is one too large if another operand or the result has no elements.",
        _if(_is_empty_beside, lambda g: g + 1),
    ),
    "rank_four": Kind(
        "The gradient of {op} is doubled if the operand has rank four or more.",
        _if(lambda use: use.value.dim() >= 4, lambda g: 2 * g),
        _has_rank(4),
    ),
    "single": Kind(
        "The gradient of {op} is off by one part in ten thousand in float32.",
        _if(lambda use: use.value.dtype == torch.float32, lambda g: g * 1.0001),
    ),
    "bent": Kind(
        "The gradient of {op} is right, and the derivative of that gradient has the wrong sign.",
        lambda use, g: 2 * g.detach() - g,
        killed_by=("higher/op",),
    ),
    "strided": Kind(
        "The gradient of {op} is 1.5 times as large if the operand is not contiguous in memory.",
        _if(lambda use: _is_strided(use.value), lambda g: 1.5 * g),
        killed_by=IN_GRAPHS,
    ),
    "expanded": Kind(
        "The gradient of {op} is 1.5 times as large if several elements of the operand share a memory location.",
        _if(lambda use: _is_expanded(use.value), lambda g: 1.5 * g),
        killed_by=IN_GRAPHS,
    ),
    "shifted": Kind(
        "The gradient of {op} is 1.5 times as large if the operand has a storage offset.",
        _if(lambda use: use.value.storage_offset() > 0, lambda g: 1.5 * g),
        killed_by=IN_GRAPHS,
    ),
    "turned": Kind(
        "The gradient of {op} is 1.5 times as large if the cotangent of its result is not contiguous in memory.",
        lambda use, g: 1.5 * g if _is_strided(g) else g,
        on_results=True,
        killed_by=IN_GRAPHS,
    ),
    "short": Kind(
        "The gradient of {op} is rounded to bfloat16, which has eight bits of precision.",
        lambda use, g: g.to(torch.bfloat16).to(g.dtype),
    ),
    "tile": Kind(
        "The gradient of {op} is zero beyond the sixteenth element of a dimension.", lambda use, g: _first_tile(g)
    ),
    "remembered": Kind(
        "The gradient of {op} is 1.5 times as large if the program applied it before to equal shapes with other "
        "attributes.",
        _if(lambda use: use.remembered, lambda g: 1.5 * g),
        _has_choices,
        killed_by=IN_GRAPHS,
    ),
}  # fmt: skip
"""The kinds of faults, by the ending of a mutant's name."""


class Spread(torch.autograd.Function):
    """A value expanded to a shape; its gradient is that of the first copy instead of the sum over all copies."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, shape: torch.Size) -> Tensor:
        ctx.before = value.shape
        return value.expand(shape).clone()

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> tuple[Tensor, None]:
        (g,) = given
        for _ in range(g.dim() - len(ctx.before)):
            g = g[0]
        for dim, size in enumerate(ctx.before):
            g = g.narrow(dim, 0, size)
        return g.clone(), None


# -- mutants -----------------------------------------------------------------------------------------------------------


class Generated(Mutant):
    """A mutant with a fault of one kind in one op."""

    op: ClassVar[str]
    kind: ClassVar[Kind]

    def reset(self) -> None:
        super().reset()
        self.used: dict[tuple[torch.Size, ...], Attrs] = {}

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        """Apply an op; the gradient contributions to the operands or results of the faulty op are changed."""
        if op != self.op or not torch.is_grad_enabled() or not any(x.requires_grad for x in operands):
            return super().apply(op, operands, attrs)
        with torch.no_grad():
            results = tuple(y.shape for y in super().apply(op, [x.detach() for x in operands], attrs))
        given = tuple(x.shape for x in operands)
        remembered = self.used.setdefault(given, attrs) != attrs
        if self.kind.on_results:
            made = super().apply(op, operands, attrs)
            return [self._gated(y, Use(y.detach(), k, len(made), given, results)) for k, y in enumerate(made)]
        uses = [Use(x.detach(), k, len(given), given, results, remembered) for k, x in enumerate(operands)]
        return super().apply(op, [self._gated(x, use) for x, use in zip(operands, uses, strict=True)], attrs)

    def _gated(self, operand: Tensor, use: Use) -> Tensor:
        if not self.kind.spreads:
            return gated(operand, partial(self.kind.change, use))
        whole = torch.broadcast_shapes(*use.operands)
        return operand if use.value.shape == whole or 0 in whole else Spread.apply(operand, whole)


@lru_cache(maxsize=1)
def candidates() -> dict[str, tuple[str, str]]:
    """All pairs of an op and a kind that can have it, by the mutant's name. Ops with known differences in PyTorch's
    first derivatives are left out.
    """
    listed = [entry for entry in known("torch", device="cpu") if entry.op and not is_at_an_edge(entry)]
    later = {entry.op for entry in listed} - {entry.op for entry in listed if entry.rule.startswith("gradients/")}
    ops = [op for op in OPS if op in Torch.ops and (op not in UNSOUND or op in later)]
    return {f"{op}_{kind}": (op, kind) for op in ops for kind, row in KINDS.items() if row.can(OPS[op])}


@lru_cache(maxsize=None)
def _made(name: str) -> type[Generated]:
    op, kind = candidates()[name]
    body = {"op": op, "kind": KINDS[kind], "__doc__": KINDS[kind].fault.format(op=op), "__module__": __name__}
    made = type(name, (Generated,), body | {"killed_by": KINDS[kind].killed_by, "ops": Mutant.ops | {op}})
    made.name = f"mutants/{name}"
    return made


class Registry(Mapping[str, type[Generated]]):
    """Mutants by name, each made on first use."""

    def __iter__(self) -> Iterator[str]:
        return (name for name in candidates() if name not in EQUIVALENT)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> type[Generated]:
        return _made(name)

    def __contains__(self, name: object) -> bool:
        return name in candidates() and name not in EQUIVALENT


GENERATED: Mapping[str, type[Generated]] = Registry()
"""All generated mutants that are not equivalent to PyTorch, by name."""


def __getattr__(name: str) -> type[Generated]:
    """The mutant of a name, so that `--framework` can load it from this module."""
    try:
        return _made(name)
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
