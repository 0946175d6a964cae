"""The text form of programs: one instruction a line (or between semicolons), short enough to write tests in.

    a = leaf [1, 2, 3]                     a float64 leaf that requires grad; its shape is that of the list
    c = leaf f32 (2, 0) [] const           a float32 leaf of shape (2, 0) that requires none
    b = multiply a a
    s = sum b dim=(0,) keepdim=False       attributes are Python literals
    p, q = split b sections=(1, 2) dim=0   several results
    d = detach b
    backward s retain=True
    backward b with [1, 0, 1]              a cotangent; `none` stands for the implicit one
    backward s, b with none, [1, 1, 1]
    backward s create=True                 create_graph
    zero a                                 to None;  `zero a to zeros` to zeros
    g = held a                             the gradient that a holds, as a value
    assign a g                             replaces it, by a value or by `none`
    step a, c sgd lr=0.1                   one step of an optimizer over leaves

`parse(render(program)) == program` for every program.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from typing import Any

from rules.language import (
    Apply,
    AssignGrad,
    Attr,
    Attrs,
    Backward,
    Detach,
    Held,
    Instruction,
    Leaf,
    Literal,
    Program,
    Ref,
    Shape,
    Step,
    ZeroGrad,
    results,
)
from rules.validation import MalformedProgram, validate

_SHORT = {"float32": "f32", "float64": "f64"}
_LONG = {short: long for long, short in _SHORT.items()}
_NAMED = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_MARKED = {f"#{name}": value for name, value in _NAMED.items()}


def names(program: Program) -> dict[Ref, str]:
    """A short name for every value: a, b, …, z, a1, b1, …, in the order in which they are made."""
    refs = (Ref(at, k) for at, step in enumerate(program) for k in range(results(step)))
    return {ref: _letters(n) for n, ref in enumerate(refs)}


def _letters(n: int) -> str:
    rounds, letter = divmod(n, 26)
    return chr(ord("a") + letter) + (str(rounds) if rounds else "")


def render(program: Program) -> str:
    """The text form of a program."""
    return "\n".join(lines(program))


def lines(program: Program) -> Iterator[str]:
    """The text form, a line per instruction."""
    name = names(program)
    for at, step in enumerate(program):
        made = ", ".join(name[Ref(at, k)] for k in range(results(step)))
        yield f"{made} = {_text(step, name)}" if made else _text(step, name)


def _text(step: Instruction, name: dict[Ref, str]) -> str:
    match step:
        case Leaf(value, requires_grad):
            return f"leaf {_literal(value)}" + ("" if requires_grad else " const")
        case Apply(op, args, attrs):
            return " ".join([op, *(name[r] for r in args), *(f"{k}={_attr(v)}" for k, v in attrs)])
        case Detach(source):
            return f"detach {name[source]}"
        case Held(leaf):
            return f"held {name[leaf]}"
        case AssignGrad(leaf, given):
            return f"assign {name[leaf]} {'none' if given is None else name[given]}"
        case Step(leaves, optimizer, settings):
            return " ".join(
                [f"step {', '.join(name[r] for r in leaves)}", optimizer, *(f"{k}={_attr(v)}" for k, v in settings)]
            )
        case Backward(roots, cotangents, retain, create):
            text = "backward " + ", ".join(name[r] for r in roots)
            if any(c is not None for c in cotangents):
                text += " with " + ", ".join("none" if c is None else _literal(c) for c in cotangents)
            text += "" if retain is None else f" retain={retain}"
            return f"{text} create=True" if create else text
        case ZeroGrad(leaves, set_to_none):
            return "zero " + ", ".join(name[r] for r in leaves) + ("" if set_to_none else " to zeros")


def _attr(value: object) -> str:
    return repr(value).replace(" ", "")


def _number(x: float) -> str:
    return (
        repr(int(x))
        if x.is_integer() and abs(x) < 1e15 and math.copysign(1, x) * x >= 0 and str(x) != "-0.0"
        else repr(x)
    )


def _literal(value: Literal) -> str:
    head = "" if value.dtype == "float64" else f"{_SHORT[value.dtype]} "
    if 0 in value.shape:
        return f"{head}{_attr(value.shape)} []"
    flat = iter(value.data)

    def nest(shape: Shape) -> str:
        return "[" + ", ".join(nest(shape[1:]) for _ in range(shape[0])) + "]" if shape else _number(next(flat))

    return head + nest(value.shape)


def parse(text: str, known_ops: frozenset[str] | None = None) -> Program:
    """The program that a text form describes; `MalformedProgram` names the line."""
    steps: list[Instruction] = []
    known: dict[str, Ref] = {}
    for number, raw in enumerate((line for part in text.splitlines() for line in _statements(part)), 1):
        try:
            step, made = _statement(raw, known)
        except (ValueError, KeyError, SyntaxError, TypeError, OverflowError) as error:
            detail = f"unknown value {error}" if isinstance(error, KeyError) else str(error)
            raise MalformedProgram(f"statement {number}, {raw!r}: {detail}") from None
        known.update({name: Ref(len(steps), k) for k, name in enumerate(made)})
        steps.append(step)
    return validate(Program(tuple(steps)), known_ops)


def _statements(line: str) -> Iterator[str]:
    for statement in line.split("#")[0].split(";"):
        if statement.strip():
            yield statement.strip()


def _statement(text: str, known: dict[str, Ref]) -> tuple[Instruction, list[str]]:
    head, equals, tail = text.partition(" = ")
    made = [n.strip() for n in head.split(",")] if equals else []
    word, _, rest = (tail if equals else text).strip().partition(" ")
    match word:
        case "leaf":
            requires_grad = not rest.endswith(" const")
            return Leaf(_read_literal(rest.removesuffix(" const").strip()), requires_grad), made
        case "detach":
            return Detach(known[rest.strip()]), made
        case "backward":
            return _read_backward(rest, known), made
        case "held":
            return Held(known[rest.strip()]), made
        case "assign":
            leaf, _, given = rest.strip().partition(" ")
            return AssignGrad(known[leaf], None if given.strip() == "none" else known[given.strip()]), made
        case "step":
            return _read_step(rest, known), made
        case "zero":
            rest, to_zeros, _ = rest.partition(" to zeros")
            return ZeroGrad(tuple(known[n.strip()] for n in rest.split(",")), not to_zeros), made
        case op:
            args, attrs = _read_operands(rest, known)
            return Apply(op, args, attrs, max(1, len(made))), made


def _read_operands(text: str, known: dict[str, Ref]) -> tuple[tuple[Ref, ...], Attrs]:
    words = [w for w in _split(text, " ") if w]
    args = tuple(known[w] for w in words if "=" not in w)
    pairs = (w.partition("=") for w in words if "=" in w)
    return args, tuple((k, _numbered(_evaluate(v, "#"))) for k, _, v in pairs)


def _evaluate(text: str, mark: str = "") -> Any:
    """A Python literal in which inf and nan may stand; they come out as strings, after `mark`."""
    return ast.literal_eval(re.sub(r"(?<![\w'])(-?inf|nan)\b", rf"'{mark}\1'", text))


def _numbered(value: Any) -> Attr:
    """An attribute's value with its infinities and NaN put in."""
    return tuple(map(_numbered, value)) if isinstance(value, tuple) else _MARKED.get(value, value)


def _read_step(text: str, known: dict[str, Ref]) -> Step:
    leaves, _, rest = text.strip().rpartition(", ")
    last, _, rest = rest.partition(" ")
    optimizer, _, settings = rest.strip().partition(" ")
    named = [*(leaves.split(",") if leaves else []), last]
    return Step(tuple(known[n.strip()] for n in named), optimizer, _read_operands(settings, known)[1])


def _read_backward(text: str, known: dict[str, Ref]) -> Backward:
    text, _, create = text.partition(" create=")
    text, _, retain = text.partition(" retain=")
    head, _, tail = text.partition(" with ")
    roots = tuple(known[n.strip()] for n in head.split(","))
    given = [None if p == "none" else _read_literal(p) for p in _split(tail)] if tail else [None] * len(roots)
    flag = {"": None, "None": None, "True": True, "False": False}[retain.strip()]
    return Backward(roots, tuple(given), flag, {"": False, "True": True, "False": False}[create.strip()])


def _split(text: str, at: str = ",") -> list[str]:
    """Pieces between the commas, or other separators, that stand outside all brackets."""
    pieces, depth = [""], 0
    for char in text:
        depth += (char in "([") - (char in ")]")
        if char == at and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += char
    return [p.strip() for p in pieces]


def _read_literal(text: str) -> Literal:
    found = re.fullmatch(r"(f32 |f64 )?\s*(\([\d, ]*\) )?\s*(.*)", text.strip())
    assert found
    dtype = _LONG[(found[1] or "f64").strip()]
    nested = _evaluate(found[3])
    flat: list[float] = []
    shape = _flatten(nested, flat)
    return Literal(tuple(flat), tuple(ast.literal_eval(found[2].strip())) if found[2] else shape, dtype)


def _flatten(nested: object, into: list[float]) -> Shape:
    if isinstance(nested, list):
        shapes = {_flatten(n, into) for n in nested}
        if len(shapes) > 1:
            raise ValueError("rows of unequal lengths")
        return (len(nested), *(shapes.pop() if shapes else ()))
    into.append(_NAMED[nested] if isinstance(nested, str) else float(nested))  # type: ignore[arg-type]
    return ()
