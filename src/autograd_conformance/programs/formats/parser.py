"""The parser of the text form of programs, which `programs.formats.text` writes and documents."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from typing import Any

from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.formats.plain_fields import Known, read_fields
from autograd_conformance.programs.language import (
    INSTRUCTIONS,
    Apply,
    AssignGrad,
    Attr,
    Attrs,
    Backward,
    Grad,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Literal,
    Modes,
    Notation,
    Optimizer,
    Program,
    Ref,
    Shape,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.validation import MalformedProgram, Vocabulary, validate

UNWRITTEN = "float64"
"""The dtype of numbers for which a text has none."""
LONG = {dtype.short: name for name, dtype in DTYPES.items()}
"""The dtypes, by their short names in a text."""
_NAMED = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_MARKED = {f"#{name}": value for name, value in _NAMED.items()}
_FLAGS = {"None": None, "True": True, "False": False}

_NOTATION: dict[str, Notation] = {row.notation: row.notation for row in INSTRUCTIONS.values() if row.notation}
_KINDS: dict[str, type[Instruction]] = {row.notation: kind for kind, row in INSTRUCTIONS.items() if row.notation}


def parse(text: str, vocabulary: Vocabulary | None = None, dtype: str = UNWRITTEN) -> Program:
    """Returns the program that a text describes, with a `dtype` for the numbers that have none; raises
    `MalformedProgram`, which names the statement.
    """
    steps: list[Instruction] = []
    under: list[Modes] = []
    known: dict[str, Ref] = {}
    for number, raw in enumerate((line for part in text.splitlines() for line in _statements(part)), 1):
        modes, statement = _modes(raw)
        try:
            step, made = _statement(statement, known, dtype)
        except (ValueError, KeyError, SyntaxError, TypeError, OverflowError) as error:
            detail = f"unknown value {error}" if isinstance(error, KeyError) else str(error)
            raise MalformedProgram(f"statement {number}, {raw!r}: {detail}") from None
        known.update({name: Ref(len(steps), k) for k, name in enumerate(made)})
        steps.append(step)
        under.append(modes)
    return validate(Program(tuple(steps), tuple(under)), vocabulary)


def _statements(line: str) -> Iterator[str]:
    for statement in line.split("#")[0].split(";"):
        if statement.strip():
            yield statement.strip()


def _modes(text: str) -> tuple[Modes, str]:
    modes: list[str] = []
    while found := re.match(r"(\w+):\s*", text):
        modes.append(found[1])
        text = text[found.end() :]
    return tuple(modes), text


def _statement(text: str, known: Known, dtype: str) -> tuple[Instruction, list[str]]:
    head, equals, tail = text.partition(" = ")
    made = [n.strip() for n in head.split(",")] if equals else []
    word, _, rest = (tail if equals else text).strip().partition(" ")
    return _instruction(word, rest.strip(), len(made), known, dtype), made


def _instruction(word: str, rest: str, made: int, known: Known, dtype: str) -> Instruction:
    match _NOTATION.get(word):
        case None:
            args, attrs = _read_operands(rest, known)
            return Apply(word, args, attrs, max(1, made))
        case "leaf":
            return Leaf(_read_literal(rest.removesuffix(" const").strip(), dtype), not rest.endswith(" const"))
        case "write":
            return _read_write(rest, known)
        case "backward":
            return _read_backward(rest, known, dtype)
        case "grad":
            return _read_grad(rest, known, dtype)
        case "hook":
            return _read_hook(rest, known)
        case "assign":
            leaf, _, given = rest.partition(" ")
            return AssignGrad(known[leaf], None if given.strip() == "none" else known[given.strip()])
        case "step":
            return _read_optimizer(rest, known, Step)
        case "optimizer":
            return _read_optimizer(rest, known, Optimizer)
        case "zero":
            rest, to_zeros, _ = rest.partition(" to zeros")
            return ZeroGrad(_listed(rest, known), not to_zeros)
        case plain:
            return read_fields(_KINDS[plain], rest, known)


def _listed(text: str, known: Known) -> tuple[Ref, ...]:
    return tuple(known[n.strip()] for n in text.split(","))


def _flag(text: str) -> bool | None:
    if text.strip() not in _FLAGS:
        raise ValueError(f"{text.strip()!r} is none of {', '.join(_FLAGS)}")
    return _FLAGS[text.strip()]


def _read_operands(text: str, known: Known) -> tuple[tuple[Ref, ...], Attrs]:
    words = [w for w in _split(text, " ") if w]
    args = tuple(known[w] for w in words if "=" not in w)
    pairs = (w.partition("=") for w in words if "=" in w)
    return args, tuple((k, _numbered(_evaluate(v, "#"))) for k, _, v in pairs)


def _evaluate(text: str, mark: str = "") -> Any:
    """Returns a Python literal that may contain inf and nan, which become strings that begin with `mark`."""
    return ast.literal_eval(re.sub(r"(?<![\w'])(-?inf|nan)\b", rf"'{mark}\1'", text))


def _numbered(value: Any) -> Attr:
    """Returns an attribute's value with marked strings replaced by infinities and NaN."""
    return tuple(map(_numbered, value)) if isinstance(value, tuple) else _MARKED.get(value, value)


def _read_write(text: str, known: Known) -> InPlace:
    words = text.split(maxsplit=2)
    if len(words) < 2:
        raise ValueError("a write needs a target and an op")
    args, attrs = _read_operands("".join(words[2:]), known)
    return InPlace(words[1], known[words[0]], args, attrs)


def _read_optimizer(text: str, known: Known, kind: type[Step] | type[Optimizer]) -> Step | Optimizer:
    leaves, optimizer, rest = _read_leaves(text, known)
    settings = dict(_read_operands(rest, known)[1])
    given: Any = settings.pop("groups", ())
    groups = tuple((int(count), tuple((str(key), value) for key, value in own)) for count, own in given)
    return kind(leaves, optimizer, tuple(settings.items()), groups)


def _read_leaves(text: str, known: Known) -> tuple[tuple[Ref, ...], str, str]:
    """Reads leaves separated by commas, and returns the leaves, the word after them, and the rest of the text."""
    *leaves, rest = _split(text)
    last, _, rest = rest.partition(" ")
    word, _, rest = rest.strip().partition(" ")
    return tuple(known[n] for n in (*leaves, last)), word, rest


def _read_backward(text: str, known: Known, dtype: str) -> Backward:
    text, flags = _read_flags(text, ("retain", "create"))
    head, _, given = text.partition(" with ")
    head, restricted, listed = head.partition(" inputs ")
    roots = _listed(head, known)
    inputs = None if not restricted else () if listed.strip() == "none" else _listed(listed, known)
    cotangents = _cotangents(given, len(roots), dtype)
    return Backward(roots, cotangents, flags.get("retain"), bool(flags.get("create")), inputs)


def _read_grad(text: str, known: Known, dtype: str) -> Grad:
    text, flags = _read_flags(text, ("retain", "create", "unused", "materialize"))
    head, _, given = text.partition(" with ")
    head, _, inputs = head.partition(" wrt ")
    roots = _listed(head, known)
    return Grad(
        roots,
        _listed(inputs, known),
        _cotangents(given, len(roots), dtype),
        flags.get("retain"),
        bool(flags.get("create")),
        flags.get("unused"),
        bool(flags.get("materialize")),
    )


def _read_flags(text: str, words: tuple[str, ...]) -> tuple[str, dict[str, bool | None]]:
    """Returns the text before the flags, and the value of each flag."""
    text, *given = re.split(r"\s(?=\w+=)", text)
    flags = {}
    for word, _, value in (g.partition("=") for g in given):
        if word not in words:
            raise ValueError(f"there is no {word}=; there are {', '.join(words)}")
        flags[word] = _flag(value)
    return text, flags


def _cotangents(text: str, roots: int, dtype: str) -> tuple[Literal | None, ...]:
    return tuple(None if p == "none" else _read_literal(p, dtype) for p in _split(text)) if text else (None,) * roots


def _read_hook(text: str, known: Known) -> Hook:
    target, effect, *words = [*text.split(), ""] if " " not in text else text.split()
    accumulated = words[-1:] == ["accumulated"]
    numbers = [float(w) for w in (words[:-1] if accumulated else words)]
    if len(numbers) > 1:
        raise ValueError("a hook has one factor")
    return Hook(known[target], effect, numbers[0] if numbers else 1.0, accumulated)


def _split(text: str, at: str = ",") -> list[str]:
    """Returns the pieces between separators outside all brackets; the default separator is a comma."""
    pieces, depth = [""], 0
    for char in text:
        depth += (char in "([") - (char in ")]")
        if char == at and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += char
    return [p.strip() for p in pieces]


def _read_literal(text: str, dtype: str) -> Literal:
    found = re.fullmatch(rf"((?:{'|'.join(LONG)}) )?\s*(\([\d, ]*\) )?\s*(.*)", text.strip())
    assert found
    dtype = LONG[found[1].strip()] if found[1] else dtype
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
