"""The text form of programs: one instruction a line (or between semicolons), short enough to write tests in.

    a = leaf [1, 2, 3]                     a float64 leaf that requires grad; its shape is that of the list
    c = leaf f32 (2, 0) [] const           a float32 leaf of shape (2, 0) that requires none
    b = multiply a a
    s = sum b dim=(0,) keepdim=False       attributes are Python literals
    p, q = split b sections=(1, 2) dim=0   several results
    d = detach b
    write b add_ a alpha=2.0               in place; the target comes first
    detach_ b
    requires c True                        or False
    backward s retain=True
    backward b with [1, 0, 1]              a cotangent; `none` is the implicit one
    backward s, b with none, [1, 1, 1]
    backward s create=True                 create_graph
    backward s inputs a, b                 accumulates into these only; `inputs none`: into none
    g, h = grad s, b wrt a, c with none, [1, 1, 1] retain=True create=True unused=True materialize=True
    retain b                               b retains its gradient
    k = hook b scale 2.0                   a hook; also `replace 2.0`, `observe`, `raise`, `misshape`
    l = hook a observe accumulated         called after the accumulation
    unhook k
    zero a                                 to None;  `zero a to zeros` to zeros
    g = held a                             the .grad of a, as a value
    assign a g                             sets the .grad of a to a value or to `none`
    optimizer a, c sgd lr=0.1              makes an optimizer of leaves
    step a, c sgd lr=0.1                   one step of it; parameter groups: groups=((1,()),(1,(('lr',0.2),)))
    clip_grad a, c norm 1.0                clips the gradients of leaves; also `value 1.0`
    drop p, q                              deletes the last references to them
    default_dtype float64                  of tensors without a given dtype, from here on
    no_grad: enable_grad: b = square a     under grad modes, the outermost first
    autocast: c = mm a a                   in a block that casts; also `autocast_uncached`, `autocast_off`

`parse(render(program)) == program` for every program. The parser is in `programs.formats.parser`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.formats.parser import parse as parse
from autograd_conformance.programs.formats.plain_fields import write_fields
from autograd_conformance.programs.language import (
    INSTRUCTIONS,
    Apply,
    AssignGrad,
    Attrs,
    Backward,
    Grad,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Literal,
    Optimizer,
    Program,
    Ref,
    Shape,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.operands import results


def names(program: Program) -> dict[Ref, str]:
    """Returns a short name for every value, in the order of creation: a, b, …, z, a1, b1, …"""
    refs = (Ref(at, k) for at, step in enumerate(program) for k in range(results(step)))
    return {ref: _letters(n) for n, ref in enumerate(refs)}


def _letters(n: int) -> str:
    rounds, letter = divmod(n, 26)
    return chr(ord("a") + letter) + (str(rounds) if rounds else "")


def render(program: Program) -> str:
    """Returns the text form of a program."""
    return "\n".join(lines(program))


def lines(program: Program) -> Iterator[str]:
    """Yields the text form of a program, one line per instruction."""
    name = names(program)
    for at, step in enumerate(program):
        modes = "".join(f"{mode}: " for mode in program.mode(at))
        made = ", ".join(name[Ref(at, k)] for k in range(results(step)))
        yield modes + (f"{made} = " if made else "") + _text(step, name)


def _text(step: Instruction, name: Mapping[Ref, str]) -> str:
    word = INSTRUCTIONS[type(step)].notation
    match step:
        case Apply(op, args, attrs):
            return _called([op, *(name[r] for r in args)], attrs)
        case Leaf(value, requires_grad):
            return f"{word} {_literal(value)}" + ("" if requires_grad else " const")
        case InPlace(op, target, args, attrs):
            return _called([f"{word} {name[target]}", op, *(name[r] for r in args)], attrs)
        case AssignGrad(leaf, given):
            return f"{word} {name[leaf]} {'none' if given is None else name[given]}"
        case Step(leaves, optimizer, settings, groups) | Optimizer(leaves, optimizer, settings, groups):
            grouped = (("groups", groups),) if groups else ()
            return _called([f"{word} {_listed(leaves, name)}", optimizer], (*settings, *grouped))
        case Backward(roots, cotangents, _, _, inputs):
            restricted = "" if inputs is None else f" inputs {_listed(inputs, name) or 'none'}"
            return f"{word} {_listed(roots, name)}{restricted}{_with(cotangents)}{_flags(step)}"
        case Grad(roots, inputs, cotangents):
            return f"{word} {_listed(roots, name)} wrt {_listed(inputs, name)}{_with(cotangents)}{_flags(step)}"
        case Hook(target, effect, factor, accumulated):
            number = f" {factor!r}" if effect in ("scale", "replace") or factor != 1.0 else ""
            return f"{word} {name[target]} {effect}{number}" + (" accumulated" if accumulated else "")
        case ZeroGrad(leaves, set_to_none):
            return f"{word} {_listed(leaves, name)}" + ("" if set_to_none else " to zeros")
        case _:
            return f"{word} {write_fields(step, name)}"


def _listed(refs: Iterable[Ref], name: Mapping[Ref, str]) -> str:
    return ", ".join(name[r] for r in refs)


def _called(words: list[str], attrs: Attrs) -> str:
    return " ".join([*words, *(f"{k}={_attr(v)}" for k, v in attrs)])


def _with(cotangents: tuple[Literal | None, ...]) -> str:
    if all(c is None for c in cotangents):
        return ""
    return " with " + ", ".join("none" if c is None else _literal(c) for c in cotangents)


def _flags(call: Backward | Grad) -> str:
    text = "" if call.retain_graph is None else f" retain={call.retain_graph}"
    text += " create=True" if call.create_graph else ""
    if isinstance(call, Grad):
        text += "" if call.allow_unused is None else f" unused={call.allow_unused}"
        text += " materialize=True" if call.materialize_grads else ""
    return text


def _attr(value: object) -> str:
    return repr(value).replace(" ", "")


def _number(x: float) -> str:
    return (
        repr(int(x))
        if x.is_integer() and abs(x) < 1e15 and math.copysign(1, x) * x >= 0 and str(x) != "-0.0"
        else repr(x)
    )


def _literal(value: Literal) -> str:
    head = "" if value.dtype == "float64" else f"{DTYPES[value.dtype].short} "
    if 0 in value.shape:
        return f"{head}{_attr(value.shape)} []"
    flat = iter(value.data)

    def nest(shape: Shape) -> str:
        return "[" + ", ".join(nest(shape[1:]) for _ in range(shape[0])) + "]" if shape else _number(next(flat))

    return head + nest(value.shape)
