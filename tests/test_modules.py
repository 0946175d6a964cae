"""PyTorch's modules as ops: what is staged, JAX and PyTorch agree; unequal lengths; what is saved; programs; code."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
import torch

from frameworks.runner import run
from frameworks.torch_eager import TorchEager
from rules import codec
from rules.dialect import code
from rules.judge import judge
from rules.language import Apply, Attrs, Backward, Leaf, Literal, Program, Ref, Shape, Step, Write
from rules.modules import MODULES, TABLE, inputs, parameters, results
from rules.observations import Kind, Raised, Returned
from rules.ops import OPS, Op
from rules.ops.writes import APPLIED, WRITES
from rules.reference.functions import definition, forward_of, reaching, vjp_of, vjp_source
from rules.reference.needs import needs
from rules.reference.staged import stage
from rules.reference.values import Reference
from rules.text import parse, render

TORCH = TorchEager()
Arrays = list[np.ndarray]


class Case(NamedTuple):
    """A module with its settings, the sizes of its parameters and the shape of its input."""

    op: str
    attrs: Attrs
    sizes: dict[str, int]
    first: Shape

    def __str__(self) -> str:
        return f"{self.op}{self.first} " + " ".join(f"{k}={v}" for k, v in self.attrs if v not in (None, False))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the operands."""
        return tuple(name for name, _ in self._named)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes of the operands."""
        return tuple(shape for _, shape in self._named)

    @property
    def _named(self) -> tuple[tuple[str, Shape], ...]:
        before = inputs(self.op, self.attrs, self.sizes, self.first)
        return (*before, *parameters(self.op, self.attrs, self.sizes))

    def operands(self) -> Arrays:
        """Values for the operands, multiples of 1/64; what is a variance is positive."""
        rng = np.random.default_rng(zlib.crc32(str(self).encode()))
        values = [np.round(64 * rng.normal(size=shape)) / 64 for shape in self.shapes]
        return [np.abs(v) + 0.25 if n == "running_var" else v for n, v in zip(self.names, values, strict=True)]

    def requires(self) -> tuple[bool, ...]:
        """Every operand that may require grad."""
        return tuple(not name.startswith("running") for name in self.names)

    def apply(self, *args: Ref) -> Apply:
        """The call."""
        return Apply(self.op, args, self.attrs, results(self.op, self.attrs))


def case(op: str, first: Shape, sizes: dict[str, int], defaults: dict[str, Any], **settings: Any) -> Case:
    assert not settings.keys() - defaults.keys()
    return Case(op, tuple({**defaults, **settings}.items()), sizes, first)


def recurrent(op: str, first: Shape, **settings: Any) -> Case:
    defaults = {"layers": 1, "directions": 1, "batch_first": False, "bias": True, "state": False, "lengths": None}
    return case(op, first, {"inputs": 3, "hidden": 2}, defaults, **settings)


def attention(first: Shape, **settings: Any) -> Case:
    names = ("mask", "padding")
    defaults = {"heads": 1, "bias": True, "batch_first": False, "memory": False, **dict.fromkeys(names)}
    return case("nn_attention", first, {"width": 4, "keys": 3}, {**defaults, "need_weights": False}, **settings)


def encoder(first: Shape, **settings: Any) -> Case:
    defaults = {"heads": 1, "batch_first": False, "norm_first": False, "mask": None, "padding": None}
    return case("nn_transformer", first, {"width": 4, "feedforward": 3}, defaults, **settings)


def plain(op: str, first: Shape, sizes: dict[str, int], **settings: Any) -> Case:
    return Case(op, tuple(settings.items()), sizes, first)


ENDS = ((False, True, True), (False, False, False))
CASES = (
    *(
        built
        for op in ("nn_rnn", "nn_gru", "nn_lstm")
        for built in (
            recurrent(op, (4, 2, 3)),
            recurrent(op, (3, 2, 3), layers=2, directions=2, state=True),
            recurrent(op, (2, 4, 3), layers=3, bias=False, state=True, batch_first=True),
            recurrent(op, (4, 3), directions=2, bias=False, state=True),
            recurrent(op, (4, 3, 3), layers=2, directions=2, state=True, lengths=(2, 4, 1)),
            recurrent(op, (3, 5, 3), batch_first=True, lengths=(2, 4, 1)),
            recurrent(op, (1, 1, 3), state=True),
            recurrent(op, (12, 1, 3)),
        )
    ),
    *(plain("nn_linear", s, {"inputs": 3, "outputs": 2}, bias=b) for b in (True, False) for s in ((3,), (2, 1, 3))),
    *(
        plain(f"nn_conv{rank}d", first, {"inputs": 2, "outputs": 3, "kernel": k}, stride=s, padding=p, bias=b)
        for rank, first in ((1, (2, 2, 6)), (2, (2, 2, 5, 4)), (1, (2, 6)), (2, (2, 5, 5)))
        for k, s, p, b in ((2, 1, 0, True), (3, 2, 1, False), (1, 2, 0, True))
    ),
    *(
        plain(op, first, {"features": 3}, dimensions=dimensions, affine=affine)
        for op in ("nn_batch_norm", "nn_batch_norm_eval")
        for dimensions, first in ((1, (4, 3)), (1, (2, 3, 4)), (2, (2, 3, 2, 2)))
        for affine in (True, False)
    ),
    *(
        plain("nn_layer_norm", (2, 3, 4), {}, normalized_shape=shape, affine=affine)
        for shape in ((4,), (3, 4))
        for affine in (True, False)
    ),
    attention((3, 2, 4)),
    attention((3, 2, 4), heads=2, need_weights=True),
    attention((2, 3, 4), heads=2, bias=False, batch_first=True, mask="causal"),
    attention((2, 2, 4), heads=2, memory=True, need_weights=True, padding=ENDS),
    attention((2, 2, 4), memory=True, batch_first=True, mask="causal", bias=False),
    attention((3, 2, 4), need_weights=True, batch_first=True, mask=((False, True), (False, False))),
    attention((3, 2, 4), mask="causal", padding=ENDS),
    encoder((3, 2, 4)),
    encoder((2, 3, 4), heads=2, norm_first=True, batch_first=True, mask="causal"),
    encoder((3, 2, 4), heads=4, padding=ENDS),
    encoder((3, 1, 4), norm_first=True, mask=((False, True, False),) * 3),
)
FEW = tuple({c.op: c for c in CASES if dict(c.attrs).get("layers", 1) == 1}.values())
"""One case of each module."""

each = pytest.mark.parametrize("case", CASES, ids=str)
one_of_each = pytest.mark.parametrize("case", FEW, ids=str)


def near(got: np.ndarray, want: np.ndarray, bound: float = 1e-11) -> bool:
    return np.shape(got) == np.shape(want) and bool(
        np.abs(got - want).max(initial=0.0) <= bound * max(1.0, np.abs(want).max(initial=0.0))
    )


def all_near(got: Any, want: Any, bound: float = 1e-11) -> bool:
    return all(near(np.asarray(g), np.asarray(w), bound) for g, w in zip(got, want, strict=True))


def cotangents(made: Any, seed: int = 0) -> Arrays:
    rng = np.random.default_rng(seed)
    return [np.round(8 * rng.normal(size=np.shape(m))) / 8 for m in made]


def tensors(case: Case, requires: tuple[bool, ...]) -> list[torch.Tensor]:
    return [torch.tensor(v, requires_grad=r) for v, r in zip(case.operands(), requires, strict=True)]


def test_the_table():
    assert MODULES.keys() == {c.op for c in CASES}
    assert not MODULES.keys() & (OPS.keys() | WRITES.keys())
    assert APPLIED == OPS.keys() | MODULES.keys() == TORCH.ops
    assert all(row.family == "modules" and row.name == name for name, row in MODULES.items())


@each
def test_what_is_staged_and_jax_and_torch_agree(case: Case):
    values, function = case.operands(), definition(case.op, case.attrs)
    made = forward_of(case.op, case.attrs, case.shapes)(*values)
    given = cotangents(made)
    pulled = vjp_of(case.op, case.attrs, case.shapes)(*values, *given)

    @jax.jit
    def both(operands: Arrays, given: Arrays) -> Any:
        made, pull = jax.vjp(function, *operands)
        return made, pull(tuple(given))

    again, by_jax = both(values, given)
    assert len(made) == results(case.op, case.attrs)
    assert all_near(made, again)
    assert all_near(pulled, by_jax)
    leaves = tensors(case, case.requires())
    seen = TORCH.apply(case.op, leaves, case.attrs)
    asked = [leaf for leaf in leaves if leaf.requires_grad]
    gradients = torch.autograd.grad(seen, asked, [torch.tensor(g) for g in given])
    assert all_near([s.detach() for s in seen], made, 1e-10)
    assert all_near(gradients, [p for p, r in zip(pulled, case.requires(), strict=True) if r], 1e-10)


@each
def test_nothing_calls_back_into_jax(case: Case):
    assert vjp_source(case.op, case.attrs, case.shapes).portable


@each
def test_the_names_and_shapes_are_those_of_the_module(case: Case, monkeypatch: pytest.MonkeyPatch):
    seen = []
    call = torch.func.functional_call

    def spy(module: torch.nn.Module, given: dict[str, torch.Tensor], *rest: Any) -> Any:
        kept = {name: tuple(held.shape) for name, held in module.state_dict().items() if "num_batches" not in name}
        seen.append((kept, {name: tuple(held.shape) for name, held in given.items()}))
        return call(module, given, *rest)

    monkeypatch.setattr(torch.func, "functional_call", spy)
    TORCH.apply(case.op, tensors(case, case.requires()), case.attrs)
    ((kept, given),) = seen
    assert kept == given == dict(parameters(case.op, case.attrs, case.sizes))


SECOND = tuple(c for c in CASES if c.op in ("nn_rnn", "nn_gru", "nn_lstm") and c.first[0] < 12) + FEW[3:]


@pytest.mark.parametrize("case", SECOND, ids=str)
def test_second_derivatives(case: Case):
    values, requires = case.operands(), case.requires()
    given = cotangents(forward_of(case.op, case.attrs, case.shapes)(*values))
    op, operands = f"vjp {len(values)} {case.op}", [*values, *given]
    shapes = tuple(x.shape for x in operands)
    first = forward_of(op, case.attrs, shapes)(*operands)
    weights = cotangents(first, seed=1)
    weights = [w * r for w, r in zip(weights, requires, strict=True)]
    second = vjp_of(op, case.attrs, shapes)(*operands, *weights)
    leaves = tensors(case, requires)
    made = TORCH.apply(case.op, leaves, case.attrs)
    asked = [leaf for leaf in leaves if leaf.requires_grad]
    try:
        gradients = torch.autograd.grad(made, asked, [torch.tensor(g) for g in given], create_graph=True)
        used = [torch.tensor(w) for w, r in zip(weights, requires, strict=True) if r]
        bent = [(g, w) for g, w in zip(gradients, used, strict=True) if g.requires_grad]
        found = torch.autograd.grad([g for g, _ in bent], asked, [w for _, w in bent], materialize_grads=True)
    except RuntimeError as error:
        assert TORCH.classify(error) is Kind.NOT_IMPLEMENTED
        assert case.op in ("nn_attention", "nn_transformer")
        return
    assert all_near(found, [s for s, r in zip(second, requires, strict=False) if r], 1e-9)


# -- loops ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["nn_rnn", "nn_gru", "nn_lstm"])
def test_code_does_not_grow_with_the_sequence(op: str):
    short, long = (recurrent(op, (t, 2, 3), directions=2) for t in (3, 12))
    lines = [len(vjp_source(c.op, c.attrs, c.shapes).code.splitlines()) for c in (short, long)]
    assert lines[0] == lines[1]


def test_what_the_results_of_a_loop_depend_on():
    def function(a, b, c, xs):
        def step(carry, x):
            first, second, third = carry
            return (second, third * c, third), (x, first)

        return jax.lax.scan(step, (a, b, b + 1), xs)

    source = stage(function, (), (), (), (3,))
    assert source.reads == tuple(map(frozenset, ({0, 1, 2}, {1, 2}, {1}, {3}, {0, 1, 2})))
    got = source.function()(2.0, 3.0, 5.0, np.arange(3.0))
    (*carry, xs, firsts) = jax.tree.leaves(function(2.0, 3.0, 5.0, np.arange(3.0)))
    assert all_near(got, [*carry, xs, firsts])


@pytest.mark.parametrize("op", ["nn_rnn", "nn_gru", "nn_lstm"])
def test_packed_sequences_are_those_of_each_by_itself(op: str):
    lengths = (2, 4, 1)
    packed = recurrent(op, (4, 3, 3), layers=2, directions=2, state=True, lengths=lengths)
    values, states = packed.operands(), TABLE[op].results(dict(packed.attrs)) - 1
    whole, *ends = forward_of(op, packed.attrs, packed.shapes)(*values)
    for k, length in enumerate(lengths):
        own = [values[0][:length, k : k + 1], *(s[:, k : k + 1] for s in values[1 : 1 + states])]
        single = recurrent(op, (length, 1, 3), layers=2, directions=2, state=True)
        out, *last = forward_of(op, single.attrs, single.shapes)(*own, *values[1 + states :])
        assert near(whole[:length, k : k + 1], out)
        assert not whole[length:, k].any()
        assert all_near([e[:, k : k + 1] for e in ends], last)


# -- programs ---------------------------------------------------------------------------------------------------------


def literal(x: np.ndarray, dtype: str = "float64") -> Literal:
    return Literal(tuple(x.ravel().tolist()), x.shape, dtype)


def program(case: Case, *between: Any, requires: tuple[bool, ...] | None = None, dtype: str = "float64") -> Program:
    """The module on leaves, some instructions, and a walk back from all its results."""
    wanted = case.requires() if requires is None else requires
    leaves = [Leaf(literal(v, dtype), r) for v, r in zip(case.operands(), wanted, strict=True)]
    at = len(leaves)
    made = forward_of(case.op, case.attrs, case.shapes)(*case.operands())
    roots = [Ref(at, k) for k in range(len(made))]
    reads = reaching(case.op, case.attrs, case.shapes)
    roots = [r for r, on in zip(roots, reads, strict=True) if any(wanted[k] for k in on)]
    given = tuple(literal(c, dtype) for c, _ in zip(cotangents(made), roots, strict=False))
    steps = (*leaves, case.apply(*(Ref(k) for k in range(at))), *between, Backward(tuple(roots), given))
    modes = tuple(("no_grad",) if isinstance(step, Write) else () for step in steps)
    return Program(steps, modes)


def verdict(program: Program, framework: TorchEager = TORCH) -> tuple[Any, Any]:
    """The violation, if any, and the last outcome."""
    seen = run(program, framework)
    return judge(program, seen, Reference(program), framework.claims).violation, seen[-1].outcome


@each
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_programs_with_modules_are_judged(case: Case, dtype: str):
    violation, outcome = verdict(program(case, dtype=dtype))
    assert violation is None
    assert isinstance(outcome, Returned)


@each
def test_texts_and_forms_are_read_back(case: Case):
    written = program(case)
    assert parse(render(written), APPLIED) == written
    assert codec.loads(codec.dumps(written), APPLIED) == written


@each
def test_printed_code_gives_what_the_adapter_gives(case: Case):
    written = program(case)
    seen = run(written, TORCH)[-1]
    scope: dict[str, Any] = {}
    exec("\n".join([TORCH.dialect.prelude, *code(written, TORCH.dialect)]), scope)
    held = [v.grad for v in scope.values() if isinstance(v, torch.Tensor) and v.is_leaf and v.requires_grad]
    expected = [g.value for g in seen.gradients.values() if g is not None]
    assert len(held) == len(expected) > 0
    assert all(np.array_equal(h.numpy(), e) for h, e in zip(held, expected, strict=True))


def subsets(case: Case) -> list[tuple[bool, ...]]:
    """Each operand that may require grad alone, and all together."""
    able = case.requires()
    return [*(tuple(i == k for i in range(len(able))) for k, may in enumerate(able) if may), able]


@one_of_each
def test_writes_to_operands_and_results_are_judged(case: Case):
    count = len(case.names)
    for requires in subsets(case):
        for target in (*map(Ref, range(count)), *(Ref(count, k) for k in range(results(case.op, case.attrs)))):
            write = Write("mul_scalar_", target, (), (("scalar", 0.5),))
            violation, _ = verdict(program(case, write, requires=requires))
            assert violation is None, f"{requires}, {target} written to: {violation}"


@one_of_each
def test_steps_of_parameters_before_the_walk_are_judged(case: Case):
    for k, able in enumerate(case.requires()):
        if able:
            first = Ref(len(case.names))
            retaining = Backward((first,), (literal(np.ones(made_shape(case))),), True)
            step = Step((Ref(k),), "sgd", (("lr", 0.5),))
            violation, outcome = verdict(program(case, retaining, step))
            assert violation is None
            assert isinstance(outcome, Returned) or outcome.kind in (Kind.MODIFIED, Kind.VIEW_WRITTEN)


def made_shape(case: Case) -> Shape:
    return np.shape(forward_of(case.op, case.attrs, case.shapes)(*case.operands())[0])


class Unnoticed(TorchEager):
    """Writes behind the version counter's back."""

    def write(self, op: str, target: torch.Tensor, operands: Any, attrs: Attrs) -> None:
        super().write(op, target.data, operands, attrs)


@pytest.mark.parametrize("op", ["nn_rnn", "nn_gru", "nn_lstm", "nn_linear", "nn_conv1d", "nn_attention"])
def test_a_gradient_through_parameters_that_changed_is_caught(op: str):
    case = next(c for c in FEW if c.op == op)
    weight = Ref(next(k for k, name in enumerate(case.names) if "weight" in name and "ih" not in name))
    violation, _ = verdict(program(case, Write("mul_scalar_", weight, (), (("scalar", 0.5),))), Unnoticed())
    assert violation is not None


@pytest.mark.parametrize("row", [row for row in MODULES.values() if row.also_saves], ids=lambda row: row.name)
def test_what_a_row_says_is_saved_besides_was_seen_to_be(row: Op):
    found = set()
    for case in (c for c in CASES if c.op == row.name):
        for requires in subsets(case):
            for k in set(row.also_saves) & set(range(len(case.names))) - needs(*case[:2], case.shapes, requires):
                write = Write("mul_scalar_", Ref(k), (), (("scalar", 0.5),))
                _, outcome = verdict(program(case, write, requires=requires))
                if isinstance(outcome, Raised):
                    found.add(k)
    assert found == set(row.also_saves)


def test_the_weights_of_attention_do_not_come_from_the_last_projection():
    case = next(c for c in CASES if c.op == "nn_attention" and results(c.op, c.attrs) == 2)
    requires = tuple(name.startswith("out_proj") for name in case.names)
    violation, outcome = verdict(program(case, requires=requires))
    assert violation is None
    assert isinstance(outcome, Returned)
    assert [bool(on & {3, 4}) for on in reaching(case.op, case.attrs, case.shapes)] == [True, False]
