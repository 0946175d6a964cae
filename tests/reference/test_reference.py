"""The reference compared with JAX itself, with finite differences, and with functions loaded from the store on disk."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from itertools import count
from pathlib import Path

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from autograd_conformance.checking.audit.programs import sample
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Apply, Backward, Detach, Leaf, Program, Ref
from autograd_conformance.reference import whole_program as whole
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.staging import cache as store_module
from autograd_conformance.reference.staging import numpy_source
from autograd_conformance.reference.staging.cache import Store
from autograd_conformance.reference.staging.derivatives import array, definition, forward_of, vjp_of
from autograd_conformance.reference.staging.numpy_source import stage
from autograd_conformance.reference.staging.source import Source
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.random_programs import programs
from autograd_conformance.strategies.situations import detach, gradients
from tests.reference.by_jax import by_jax

SAMPLES = 1
ROOT = Path(__file__).parents[2]

few = settings(
    max_examples=20, deadline=None, database=None, phases=[Phase.generate], derandomize=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


def near(got: np.ndarray, want: np.ndarray, rtol: float) -> bool:
    """Whether two arrays have the same shape and differ by at most `rtol` times the largest element, or times one: sums
    cancel.
    """
    scale = max(np.abs(want).max(), 1.0) if np.size(want) else 0.0
    return np.shape(got) == np.shape(want) and bool((np.abs(got - want) <= rtol * scale).all())


def legal_calls(program: Program) -> Iterator[Backward]:
    """The backward calls of a program whose arguments are valid."""
    reference = Reference(program)
    for step in program:
        if isinstance(step, Backward) and all(
            reference.requires_grad[r] and np.shape(reference.values[r]) == (() if c is None else c.shape)
            for r, c in zip(step.roots, step.cotangents, strict=True)
        ):
            yield step


# -- what is staged computes what JAX computes ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(SAMPLES))
@pytest.mark.parametrize("name", OPS)
def test_staged_ops_equal_jax(name: str, seed: int):
    program = sample(name, seed, "float64")
    step, call = program[-2], program[-1]
    assert isinstance(step, Apply)
    assert isinstance(call, Backward)
    reference = Reference(program)
    operands = [reference.values[r] for r in step.args]
    cotangents = [array(c) for c in call.cotangents if c is not None]
    made, gradients = by_jax(definition(step.op, step.attrs), operands, cotangents)
    shapes = tuple(x.shape for x in operands)
    staged = forward_of(step.op, step.attrs, shapes)(*operands)
    pulled = vjp_of(step.op, step.attrs, shapes)(*operands, *cotangents)
    assert len(staged) == len(made) == step.results
    assert len(pulled) == len(gradients) == len(operands)
    for got, want in [*zip(staged, made, strict=True), *zip(pulled, gradients, strict=True)]:
        assert near(got, np.asarray(want), 1e-10), f"{step}: {got} is not {want}"


def test_staging_keeps_unused_and_repeated_arguments_apart():
    def function(x, y, z):
        return y * 2.0, y, x, 1.0

    staged = stage(function, (2,), (2,), (2,)).loaded().function
    x, y, z = np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([np.nan, np.nan])
    assert [np.asarray(r).tolist() for r in staged(x, y, z)] == [[6.0, 8.0], [3.0, 4.0], [1.0, 2.0], 1.0]


# -- composed gradients equal JAX's over the whole program ------------------------------------------------------------


@few
@given(drawn=programs(10))
def test_composed_gradients_equal_jax(drawn: Drawn):
    for call in [*legal_calls(drawn.program)][:2]:
        agree(drawn.program, call)


@pytest.mark.parametrize(
    "strategy",
    [gradients.fan_outs, gradients.several_results, gradients.several_roots, detach.detached_operands],
    ids=lambda strategy: strategy.__name__,
)
def test_composed_gradients_equal_jax_in(strategy):
    @settings(few, max_examples=6)
    @given(drawn=strategy())
    def check(drawn: Drawn):
        for call in legal_calls(drawn.program):
            agree(drawn.program, call)

    check()


def agree(program: Program, call: Backward) -> None:
    """The composed gradient and the whole-program gradient of every leaf are equal."""
    contributed = Reference(program).pullbacks.of(call)
    for leaf, want in whole.gradients(program, call).items():
        assert near(contributed.get(leaf, np.zeros_like(want)), want, 1e-9), f"{leaf} of {program}"


HALVES = "p, q = split a sizes=(1, 1) dim=0"
BY_HAND = [
    ("a = leaf 3; b = multiply a a; backward b", {0: 6.0}),
    ("a = leaf 3; d = detach a; b = multiply a d; backward b", {0: 3.0}),
    ("a = leaf 3; b = exp a; d = detach b; e = multiply d d; c = add e a; backward c", {0: 1.0}),
    ("a = leaf 3; c = leaf 2 const; b = multiply a c; backward b", {0: 2.0}),
    ("a = leaf 2; b = multiply a a; c = multiply b b; d = add b c; backward d", {0: 36.0}),
    (f"a = leaf [2, 5]; {HALVES}; backward q with [1]", {0: [0.0, 1.0]}),
    (f"a = leaf [2, 5]; {HALVES}; b = multiply p q; c = add b p; backward c", {0: [6.0, 2.0]}),
    ("a = leaf 2; b = leaf 2; c = multiply a a; backward c, b, c", {0: 8.0, 1: 1.0}),
    ("a = leaf [1, 2]; b = multiply a a; backward b, a with [1, -1], [0, 10]", {0: [2.0, 6.0]}),
    ("a = leaf 2; b = leaf 3; c = multiply a a; d = multiply b b; backward c", {0: 4.0}),
]


@pytest.mark.parametrize(("text", "gradients"), BY_HAND)
def test_gradients_known_by_hand(text: str, gradients: dict[int, object]):
    program = parse(text, VOCABULARY)
    call = program[-1]
    assert isinstance(call, Backward)
    contributed = Reference(program).pullbacks.of(call)
    assert {r.at: g.tolist() for r, g in contributed.items() if isinstance(program[r.at], Leaf)} == gradients
    agree(program, call)


# -- what is drawn is smooth ------------------------------------------------------------------------------------------


@settings(few, max_examples=60)
@given(drawn=programs())
def test_drawn_programs_are_smooth(drawn: Drawn):
    for call in [*legal_calls(drawn.program)][:1]:
        assert smooth(drawn.program, call)


def test_a_kink_is_not_smooth():
    for text, is_smooth in (("a = leaf [0, 1]", False), ("a = leaf [0.5, 1]", True), ("a = leaf [1e-8, 1]", False)):
        program = parse(f"{text}; b = relu a; backward b with [1, 1]")
        assert smooth(program, program[-1]) == is_smooth  # type: ignore[arg-type]


def smooth(program: Program, call: Backward) -> bool:
    """Whether one-sided differences of the reference's own forward pass agree with its gradients."""
    contributed = Reference(program).pullbacks.of(call)
    for leaf in program.leaves:
        if leaf in contributed and contributed[leaf].size:
            sides = slopes(program, call, leaf)
            scale = max(1.0, np.abs(contributed[leaf]).max(), np.abs(sides).max())
            if not (np.abs(sides - contributed[leaf].ravel()) <= 1e-3 * scale).all():
                return False
    return True


def slopes(program: Program, call: Backward, leaf: Ref, h: float = 1e-6) -> np.ndarray:
    """The one-sided differences of the weighted roots in both directions, for each element of a leaf."""
    here = weighted(program, call, leaf, 0, 0.0)
    size = np.size(Reference(program).values[leaf])
    sides = [
        [(weighted(program, call, leaf, k, h * sign) - here) / (h * sign) for k in range(size)] for sign in (-1, 1)
    ]
    return np.array(sides)


def weighted(program: Program, call: Backward, leaf: Ref, element: int, by: float) -> float:
    """The sum of the roots' elements, weighted with the cotangents, after one element of a leaf was moved; detached
    values stay.
    """
    reference, still = Reference(), Reference(program).values
    for at, step in enumerate(program.instructions[: max(r.at for r in call.roots) + 1]):
        reference.add(step)
        if at == leaf.at:
            reference.values[leaf].flat[element] += by
        if isinstance(step, Detach):
            reference.values[Ref(at)] = still[Ref(at)]
    pairs = zip(call.roots, call.cotangents, strict=True)
    return sum(float((reference.values[r] * (1.0 if c is None else array(c))).sum()) for r, c in pairs)


# -- the store --------------------------------------------------------------------------------------------------------

KEY = ("forward", "double", (("k", 2),), ((2,),))


def double() -> Source:
    """Staged code with one constant."""
    return stage(lambda x: (x * np.array([2.0, 3.0]),), (2,))


def never() -> Source:
    """A function that must not be called, because the store has the code."""
    raise AssertionError("made again")


def works(store: Store, make=double) -> bool:
    """Whether a store returns the correct function."""
    return store.staged(KEY, make).function(np.ones(2))[0].tolist() == [2.0, 3.0]


def test_a_second_store_reads_what_the_first_wrote(tmp_path: Path):
    first = Store(tmp_path / "new" / "staged.sqlite")
    assert works(first)
    first.flush()
    assert works(Store(first.path), never)


def test_a_second_process_reads_what_the_first_wrote(tmp_path: Path):
    path = tmp_path / "staged.sqlite"
    code = (
        "import sys, pathlib, tests.reference.test_reference as t\n"
        "t.store_module._digest = lambda: 'the same, whatever is edited meanwhile'\n"
        "assert t.works(t.Store(pathlib.Path(sys.argv[1])), getattr(t, sys.argv[2]))"
    )
    for make in ("double", "never"):
        command = [sys.executable, "-c", code, str(path), make]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr


def test_a_full_batch_is_written_automatically(tmp_path: Path):
    first = Store(tmp_path / "staged.sqlite")
    for n in range(store_module.BATCH):
        first.staged((n,), double)
    assert first.fresh == {}
    second = Store(first.path)
    for n in range(store_module.BATCH):
        second.staged((n,), never)


def test_an_edited_catalogue_never_meets_old_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = Store(tmp_path / "staged.sqlite")
    assert works(first)
    first.flush()
    monkeypatch.setattr(store_module, "_digest", lambda: "another")
    with pytest.raises(AssertionError, match="made again"):
        works(Store(first.path), never)


@pytest.mark.parametrize("damage", [b"", b"garbage" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_an_empty_store(tmp_path: Path, damage: bytes):
    path = tmp_path / "staged.sqlite"
    path.write_bytes(damage)
    store = Store(path)
    assert works(store)
    store.flush()
    assert works(Store(path))


def test_a_place_that_cannot_be_written_is_an_empty_store(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    store = Store(tmp_path / "file" / "staged.sqlite")
    assert works(store)
    store.flush()
    assert works(Store(store.path))


def test_code_that_calls_jax_is_not_stored(tmp_path: Path):
    store = Store(tmp_path / "staged.sqlite")
    function = store.staged(KEY, lambda: stage(lambda x: (jax.lax.bessel_i0e(x),), (2,))).function
    assert function(np.zeros(2))[0].tolist() == [1.0, 1.0]
    assert store.fresh == {}


def imported(*modules: str) -> set[Path]:
    """The files of some modules, and of all modules of the suite that they import, at any depth."""
    found: dict[str, Path] = {}
    pending = list(modules)
    while pending:
        name = pending.pop()
        try:
            spec = None if name in found else importlib.util.find_spec(name)
        except ModuleNotFoundError:  # a name inside a module, not a module
            continue
        if spec is None or spec.origin is None:
            continue
        found[name] = Path(spec.origin)
        for node in ast.walk(ast.parse(found[name].read_bytes())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("autograd_conformance"):
                pending += [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    return set(found.values())


def test_staged_code_is_keyed_by_every_file_that_it_is_made_from():
    here = "autograd_conformance.reference"
    made_from = imported(f"{here}.staging.derivatives", f"{here}.optimizers")
    assert len(made_from) > 30
    assert made_from <= set(store_module.sources())


def test_jax_is_not_imported_before_something_is_traced():
    code = (
        "import sys, autograd_conformance.plugin.hooks, autograd_conformance.suites.test_training\n"
        "sys.exit(', '.join({'jax', 'optax', 'scipy'} & set(sys.modules)) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


def test_an_edited_op_never_meets_old_staged_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    copies = []
    for number, path in enumerate(store_module.sources()):
        copies.append(tmp_path / f"{number}_{path.name}")
        copies[-1].write_bytes(path.read_bytes())
    monkeypatch.setattr(store_module, "sources", lambda: tuple(copies))
    before = store_module._digest.__wrapped__()
    (op,) = (copy for copy in copies if copy.name.endswith("_binary.py"))
    op.write_text(op.read_text() + "\n# edited\n")
    assert store_module._digest.__wrapped__() != before


def test_jax_forgets_what_it_traced_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten: list[int] = []
    monkeypatch.setattr(numpy_source, "TRACES", 2)
    monkeypatch.setattr(numpy_source, "_TRACED", count(1))
    monkeypatch.setattr(numpy_source.jax, "clear_caches", lambda: forgotten.append(1), raising=False)
    for size in range(5):
        assert near(stage(jax.numpy.sin, (size,)).loaded().function(np.ones(size))[0], np.sin(np.ones(size)), 1e-12)
    assert len(forgotten) == 2


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("b = adaptive_avg_pool1d a output_size=2; write b sin_", True),
        ("b = expand_dims a dim=0; write a sin_", True),
        ("b = square a; write b sin_", False),
        ("b = expand_dims a dim=0", False),
    ],
    ids=["of what nobody sees", "of a value", "no view", "not written"],
)
def test_what_may_be_a_view_that_was_written(text: str, is_one: bool) -> None:
    program = parse(f"a = leaf [[[1, 2, 3, 4]]] const; {text}", VOCABULARY)
    assert Reference(program).views.may_be_written_view(Ref(1)) is is_one


def test_a_copy_has_a_tape_of_its_own_which_all_its_parts_share() -> None:
    text = "a = leaf [1, 2]; b = square a; c = expand_dims b dim=0; write c sin_; backward b with [1, 1]"
    program = parse(text, VOCABULARY)
    reference = Reference(Program(program.instructions[:-2]))
    copied = deepcopy(reference)
    for step in program.instructions[-2:]:
        copied.add(step)
    assert len(copied.tape.entries) > len(reference.tape.entries) == 2
    assert reference.values[Ref(1)].tolist() == [1, 4]
    assert copied.values[Ref(1)].tolist() == np.sin([1, 4]).tolist()
    assert copied.values is copied.tape.values is copied.storages.values is copied.writes.grads.tape.values


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = leaf 1; b = leaf [1, 2]; write a add_ b", r"add_ writes \(2,\) to a tensor of shape \(\)"),
        ("a = leaf [1, 2]; b = leaf [[1, 2]]; write a mul_ b", r"mul_ writes \(1, 2\) to a tensor of shape \(2,\)"),
        ("a = leaf [1]; write a masked_fill_ mask=(True, False) value=1.0", "masked_fill_ writes"),
    ],
)
def test_a_write_of_another_shape_is_refused(text: str, problem: str):
    with pytest.raises(ValueError, match=problem):
        Reference(parse(text, VOCABULARY))
