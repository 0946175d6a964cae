"""Functions that come with the package are those that JAX traces, and are not used once an op's definition has
changed.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest

from autograd_conformance.ops.catalogue import ROWS
from autograd_conformance.package.places import ROOT
from autograd_conformance.reference.staging import definitions, traced
from autograd_conformance.reference.staging.cache import Store
from autograd_conformance.reference.staging.definitions import UnknownValue, definition_digest
from autograd_conformance.reference.staging.source import Source
from autograd_conformance.reference.staging.traced import FUNCTIONS, LARGEST_CONSTANTS, Traced
from evaluation.traced.tracing import key_of, made
from tests.reference.test_reference import never

SHIPPED = traced.read(FUNCTIONS)
KEY = ("forward", "sin", (), ((2,),))


def results(source: Source, key: str) -> list[np.ndarray]:
    """The results of a function on positive numbers; a vector-Jacobian product takes cotangents of ones."""
    random = np.random.default_rng(1)
    *_, shapes = key_of(key)
    given = [random.uniform(0.5, 1.5, shape) for shape in shapes]
    function = source.loaded().function
    missing = function.__code__.co_argcount - len(given)
    if missing:
        _, op, attrs, shapes = key_of(key)
        outs = made([repr(("forward", op, attrs, shapes))]).popitem()[1].loaded().function(*given)
        given += [np.ones(np.shape(out)) for out in outs]
    return [np.asarray(each) for each in function(*given)]


@pytest.mark.parametrize("part", range(4))
def test_a_function_that_comes_with_the_package_is_what_jax_traces(part: int):
    random = Random(part)
    for name in random.sample(sorted(SHIPPED), 25):
        if not SHIPPED[name].is_current(name):
            continue
        key, source = random.choice(sorted(SHIPPED[name].functions.items(), key=lambda item: item[0]))
        again = made([key])[key]
        assert source.reads == again.reads, key
        if source.text != again.text:  # another version of JAX writes other code for the same numbers
            for have, want in zip(results(source, key), results(again, key), strict=True):
                np.testing.assert_allclose(have, want, rtol=1e-9, atol=1e-9, err_msg=key)
        for constant, want in again.constants.items():
            np.testing.assert_array_equal(source.constants[constant], want, err_msg=key)


def test_nearly_all_functions_of_the_package_are_of_the_ops_as_they_are():
    count = sum(len(each.functions) for each in SHIPPED.values())
    current = sum(len(each.functions) for name, each in SHIPPED.items() if each.is_current(name))
    assert current > 0.9 * count, "run the quick profile, and then python -m evaluation.traced"


def test_the_store_gives_what_comes_with_the_package_and_keeps_it(tmp_path: Path):
    first = Store(tmp_path / "staged.sqlite")
    assert first.staged(KEY, never).function(np.zeros(2))[0].tolist() == [0.0, 0.0]
    second = Store(first.path)
    second.traced = Traced(tmp_path / "missing.zip")
    assert second.staged(KEY, never).function(np.zeros(2))[0].tolist() == [0.0, 0.0]


def test_a_function_that_is_not_in_the_file_brings_no_others(tmp_path: Path):
    """Else each process would compile all functions of an op again for one that only it draws."""
    assert repr(KEY) in Traced().beside(KEY)
    assert Traced().beside(("forward", "sin", (), ((7, 7, 7),))) == {}
    store = Store(tmp_path / "staged.sqlite")
    with pytest.raises(AssertionError, match="made again"):
        store.staged(("forward", "sin", (), ((7, 7, 7),)), never)
    assert store.fresh == {}
    assert store.staged(KEY, never).function(np.zeros(2))[0].tolist() == [0.0, 0.0]


def test_a_changed_definition_is_traced_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(traced, "definition_digest", lambda op: "another")
    assert Traced().beside(KEY) == {}


def test_an_op_without_a_digest_is_traced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(traced, "definition_digest", lambda op: None)
    traced.write(tmp_path / "traced.zip", {"forward/sin.jsonl": SHIPPED["forward/sin.jsonl"].functions})
    assert Traced(tmp_path / "traced.zip").beside(KEY) == {}


@pytest.mark.parametrize("length", [0, 100, -100])
def test_a_damaged_file_is_an_empty_one(tmp_path: Path, length: int):
    damaged = tmp_path / "traced.zip"
    damaged.write_bytes(FUNCTIONS.read_bytes()[:length])
    assert Traced(damaged).beside(KEY) == {}


def test_a_member_that_was_written_over_is_an_empty_one(tmp_path: Path):
    damaged = tmp_path / "traced.zip"
    content = bytearray(FUNCTIONS.read_bytes())
    at = content.index(b"forward/sin.jsonl") + 60
    content[at : at + 40] = bytes(40)
    damaged.write_bytes(content)
    assert Traced(damaged).beside(KEY) == {}


def test_what_is_written_is_read(tmp_path: Path):
    source = Source(
        "def staged(x1):\n    return (x1 * c1 + c2, )\n",
        {"c1": np.array([1.5, np.inf, np.nan]), "c2": np.int32(3)},
        (frozenset({0}),),
    )
    traced.write(tmp_path / "one.zip", {"forward/sin.jsonl": {"a": source, "b": source}})
    found = traced.read(tmp_path / "one.zip")["forward/sin.jsonl"].functions["b"]
    assert (found.text, found.reads) == (source.text, source.reads)
    np.testing.assert_array_equal(found.constants["c1"], source.constants["c1"])
    assert found.constants["c2"] == 3 and found.constants["c2"].dtype == np.int32


def test_functions_with_large_constants_or_with_jax_in_them_are_left_out():
    reads = (frozenset[int](),)
    assert traced.is_kept(Source("", {"c1": np.zeros(LARGEST_CONSTANTS)}, reads))
    assert not traced.is_kept(Source("", {"c1": np.zeros(LARGEST_CONSTANTS), "c2": np.zeros(())}, reads))
    assert not traced.is_kept(Source("", {}, reads, portable=False))


def test_an_op_that_is_in_the_file_needs_no_jax(tmp_path: Path):
    code = (
        "import sys\n"
        "from autograd_conformance.reference.staging.derivatives import forward_of, vjp_of\n"
        "assert forward_of('sin', (), ((2,),)) and vjp_of('multiply', (), ((2,), (2,)))\n"
        "assert 'jax' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


# -- digests of definitions


def test_each_op_has_a_digest():
    assert all(map(definition_digest, ROWS))


def digest(reference: object) -> tuple[object, ...]:
    """The modules and constants of which the digest of a reference function is made."""
    parts = definitions._Parts()
    parts.visit(reference)
    return parts.modules, parts.constants


def power(exponent: float):
    """A reference function that uses a constant of the function around it."""
    return lambda j, x: x**exponent


def test_a_constant_of_a_reference_function_counts():
    assert digest(ROWS["sin"].reference) == digest(ROWS["sin"].reference)
    assert digest(partial(int, 2)) == digest(partial(int, 2)) != digest(partial(int, 3))
    assert digest([np.zeros(2)]) != digest([np.ones(2)]) != digest([np.ones(2, np.float32)])


def test_a_function_that_a_reference_function_calls_counts():
    assert "autograd_conformance.ops.rows.selection" in digest(ROWS["kthvalue"].reference)[0]


def test_an_object_of_another_type_has_no_digest():
    with pytest.raises(UnknownValue):
        digest(object())
    with pytest.raises(UnknownValue):
        digest(definitions)


def test_comments_and_docstrings_do_not_count(tmp_path: Path):
    (tmp_path / "a.py").write_text('"""One."""\ndef f():\n    """Two."""\n    return 1  # three\n')
    (tmp_path / "b.py").write_text("def f():\n\n    return  (1)\n")
    (tmp_path / "c.py").write_text("def f():\n    return 2\n")
    a, b, c = (definitions._normalised(tmp_path / f"{name}.py") for name in "abc")
    assert a == b != c
