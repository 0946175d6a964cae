"""Every dialect writes every attribute value as a literal, or refuses to write the code."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

import pytest

from autograd_conformance.adapters.chainer.dialect import DIALECT as CHAINER
from autograd_conformance.adapters.dezero.dialect import DIALECT as DEZERO
from autograd_conformance.adapters.hips_autograd.dialect import DIALECT as HIPS_AUTOGRAD
from autograd_conformance.adapters.jax.dialect import dialect as jax
from autograd_conformance.adapters.mindspore.dialect import DIALECT as MINDSPORE
from autograd_conformance.adapters.mlx.dialect import DIALECT as MLX
from autograd_conformance.adapters.mxnet.dialect import DIALECT as MXNET
from autograd_conformance.adapters.mygrad.dialect import DIALECT as MYGRAD
from autograd_conformance.adapters.paddle.dialect import DIALECT as PADDLE
from autograd_conformance.adapters.pytensor.dialect import DIALECT as PYTENSOR
from autograd_conformance.adapters.tensorflow.dialect import dialect as tensorflow
from autograd_conformance.adapters.tinygrad.dialect import dialect as tinygrad
from autograd_conformance.frameworks.torchlike.dialect import dialect as pytorch
from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.modules import TABLE
from autograd_conformance.ops.rows.row import choices_of, rest_of
from autograd_conformance.printing.dialect import Dialect, Template, code, fill
from autograd_conformance.printing.literals import literal
from autograd_conformance.programs.language import Apply, Attr, Attrs, Leaf, Literal, Optimizer, Program, Ref, Step

CALL = "__import__('os').system('touch PWNED')"
LEAVES_A_TEXT = "'), __import__('os').system('touch PWNED'), ('"
FIELD = "{0.__class__.__init__.__globals__[__import__]}"
WRITES = "0]; __import__('os').system('touch PWNED'); x[0"

DIALECTS: dict[str, Dialect] = {
    "chainer": CHAINER,
    "dezero": DEZERO,
    "hips_autograd": HIPS_AUTOGRAD,
    "jax": jax(""),
    "mindspore": MINDSPORE,
    "mlx": MLX,
    "mxnet": MXNET,
    "mygrad": MYGRAD,
    "paddle": PADDLE,
    "pytensor": PYTENSOR,
    "pytorch": pytorch(),
    "tensorflow": tensorflow(""),
    "tinygrad": tinygrad("CPU"),
}


def usual(op: str) -> Attrs:
    """Valid attributes of an op."""
    row = row_of(op)
    if not row.fresh:
        return row.examples[0]
    first = row.fresh[0]
    return choices_of(row, (first, *rest_of(row, first)[0]))[0]


def hostile(attrs: Attrs, value: str) -> Iterator[Attrs]:
    """Valid attributes in which a text replaces one value, one element of a tuple, or everything."""
    for at, (name, was) in enumerate(attrs):
        others: tuple[Attr, ...] = (
            value,
            (value,),
            ((value,),),
            (0, value),
            *([(value,) * len(was)] if isinstance(was, tuple) else ()),
        )
        for other in others:
            yield (*attrs[:at], (name, other), *attrs[at + 1 :])
    yield tuple((name, value) for name, _ in attrs)


def written(op: str, template: Template, attrs: Attrs) -> str | None:
    """The code; None if the dialect refuses to write it."""
    count = sum(map(len, TABLE[op].operands(dict(usual(op))))) if op in TABLE else 12
    try:
        return fill(template, [f"x{k}" for k in range(count)], attrs)
    except Exception:
        return None


def is_harmless(text: str) -> bool:
    """Whether no name from the hostile text occurs outside string literals, in code that can be parsed."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:
        return False
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return not names & {"__import__", "PWNED"} and not any(
        isinstance(node, ast.Attribute) and node.attr in ("system", "__globals__") for node in nodes
    )


@pytest.mark.parametrize("value", [CALL, LEAVES_A_TEXT, FIELD, WRITES])
@pytest.mark.parametrize("name", DIALECTS)
def test_no_dialect_pastes_a_text(name: str, value: str) -> None:
    dialect, tried = DIALECTS[name], 0
    for op, template in (*dialect.ops.items(), *dialect.writes.items()):
        for attrs in hostile(usual(op), value):
            text = written(op, template, attrs)
            assert text is None or is_harmless(text), (op, attrs, text)
            tried += text is not None
    assert tried > 20


@pytest.mark.parametrize("name", DIALECTS)
def test_what_is_harmless_is_written(name: str) -> None:
    dialect = DIALECTS[name]
    for op, template in (*dialect.ops.items(), *dialect.writes.items()):
        assert written(op, template, usual(op)), op


def test_the_check_of_this_file_finds_what_is_pasted() -> None:
    assert not is_harmless(f"np.array({CALL})")
    assert not is_harmless(f"f('{LEAVES_A_TEXT}')")
    assert is_harmless(f"np.array({CALL!r})")


@pytest.mark.parametrize(
    "value", [CALL, "mean", ("a", ("b",)), 1, 1.5, True, None, (), math.inf, -math.inf, (math.nan, 2)]
)
def test_every_way_to_format_a_value_writes_what_reads_back_as_it(value: Attr) -> None:
    made = literal(value)
    ways = [f"{made}", f"{made!s}", f"{made!r}", str(made), f"{made}", "%s" % (made,)]  # noqa: UP031
    ways += ["" + made + "", f"{made:}"] if isinstance(made, str) else []
    assert all(repr(eval(text, {"float": float})) == repr(value) for text in ways)


def test_a_text_compares_as_it_did() -> None:
    assert {"mean": 1}[literal("mean")] == 1
    assert literal("mean") == "mean"


@pytest.mark.parametrize("value", [b"1", {1: 2}, {1}, [1], 1j, object(), range(3)])
def test_a_value_of_another_type_is_not_written(value: object) -> None:
    with pytest.raises(TypeError, match="is not a value that an attribute may have"):
        literal((1, value))


def test_settings_are_written_as_literals() -> None:
    leaf, settings = Leaf(Literal((1.0,), ())), (("lr", CALL), ("betas", (CALL, math.inf)))
    made = Optimizer((Ref(0),), "adam", settings, ((1, settings),))
    lines = code(
        Program((leaf, made, Step(*(getattr(made, f) for f in ("leaves", "optimizer", "settings", "groups"))))),
        DIALECTS["pytorch"],
    )
    assert len(lines) == 3
    assert all(map(is_harmless, lines[1:]))


def test_an_op_of_a_program_nobody_validated_is_written_as_a_literal() -> None:
    select = Apply("select", (Ref(0),), (("dim", 0), ("index", CALL)))
    for dialect in (DIALECTS["jax"], DIALECTS["tinygrad"], DIALECTS["pytorch"]):
        _, line = code(Program((Leaf(Literal((1.0,), (1,))), select)), dialect)
        assert is_harmless(line)
