"""Modules that own their parameters: made once, and called by a name.

A call of a module is one instruction, written as a functional call that is given what its parameters hold. Where the
parameters are leaves of this module alone, a person makes the module, gives it its parameters and calls it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograd_conformance.printing.dialect import Dialect, fill
from autograd_conformance.printing.loop_nodes import Line, Rolled, every
from autograd_conformance.programs.language import Apply, Attrs, Delete, Leaf, Literal, Ref

FUNCTIONAL, PARAMETER = "torch.func.functional_call", "torch.nn.Parameter"
STATES = "(lambda y, s: (y, *s))(*"
"""How the code of a call begins that makes one sequence of several states' pair."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A module: what it is called after, the code that makes it, and its parameters by their names in it."""

    ref: Ref
    op: str
    attrs: Attrs
    made: str
    parameters: Mapping[Ref, str]


@dataclass(frozen=True, slots=True)
class _Call:
    """A functional call in code, in which operand 3 is called `v3`."""

    made: ast.expr
    parameters: tuple[tuple[str, int], ...]
    arguments: tuple[ast.expr, ...]
    keywords: tuple[tuple[str, ast.expr], ...]
    whole: ast.expr


def owners(rolled: Rolled, dialect: Dialect) -> tuple[Owner, ...]:
    """The modules of a program whose parameters are leaves of theirs alone, made before every loop."""
    lines = [node for node in every(rolled.nodes) if isinstance(node, Line)]
    values = {line.made[0]: line.step.value for line in lines if isinstance(line.step, Leaf)}
    free = {node.made[0] for node in rolled.nodes if isinstance(node, Line) and isinstance(node.step, Leaf)
            and node.step.requires_grad}  # fmt: skip
    free -= {ref for line in lines if isinstance(line.step, Delete) for ref in line.reads}
    held: dict[Ref, set[tuple[object, ...]]] = {}
    found: dict[tuple[object, ...], Owner] = {}
    for line in lines:
        call = _call(line, dialect)
        if call is None or not isinstance(line.step, Apply):
            continue
        given = {line.reads[k]: name for name, k in call.parameters}
        its = (line.step.op, repr(line.step.attrs), *given.items())
        for ref in given:
            held.setdefault(ref, set()).add(its)
        made = _made(call, line.reads, values)
        whole = 0 < len(given) == len(call.parameters) and free >= given.keys()
        if its not in found and made is not None and whole and all(map(_settable, given.values())):
            found[its] = Owner(Ref(-(1 << 30) - len(found)), line.step.op, line.step.attrs, made, given)
    return tuple(owner for owner in found.values() if all(len(held[ref]) == 1 for ref in owner.parameters))


def called(line: Line, owner: Owner, name: Mapping[Ref, str], dialect: Dialect) -> str:
    """A call of an owner's module, as a statement."""
    call = _call(line, dialect)
    assert call is not None
    operands = {f"v{k}": name[ref] for k, ref in enumerate(line.reads)}

    def code(tree: ast.expr) -> str:
        return ast.unparse(_Renamed(operands).visit(tree))

    arguments = [*map(code, call.arguments), *(f"{key}={code(value)}" for key, value in call.keywords)]
    applied = f"{name[owner.ref]}({', '.join(arguments)})"
    made = [name[ref] for ref in line.made]
    whole = ast.unparse(call.whole)
    if whole.startswith(STATES + FUNCTIONAL):
        return f"{made[0]}, ({', '.join(made[1:])}) = {applied}"
    around = ast.unparse(_Renamed(operands, applied).visit(call.whole))
    return f"{', '.join(made)} = {around}"


def _settable(name: str) -> bool:
    """Whether a parameter can be set as an attribute: it is no buffer, and none in a sequence."""
    return (
        name.replace(".", "").isidentifier()
        and all(part.isidentifier() for part in name.split("."))
        and ("running" not in name)
    )


def _call(line: Line, dialect: Dialect) -> _Call | None:
    step = line.step
    if not isinstance(step, Apply) or FUNCTIONAL not in (code := _code(step, dialect)):
        return None
    whole = ast.parse(code, mode="eval").body
    for node in ast.walk(whole):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == FUNCTIONAL:
            made, held, inputs, *further = node.args
            arguments = tuple(inputs.elts) if isinstance(inputs, ast.Tuple) else (inputs,)
            parameters = _pairs(held)
            keywords = _pairs(further[0]) if further else ()
            if all(isinstance(value, ast.Name) for _, value in parameters):
                numbered = tuple((key, int(ast.unparse(value)[1:])) for key, value in parameters)
                return _Call(made, numbered, arguments, keywords, whole)
    return None


def _code(step: Apply, dialect: Dialect) -> str:
    return fill(dialect.ops[step.op], [f"v{k}" for k in range(len(step.args))], step.attrs)


def _pairs(held: ast.expr) -> tuple[tuple[str, ast.expr], ...]:
    assert isinstance(held, ast.Dict)
    return tuple((ast.literal_eval(key), value) for key, value in zip(held.keys, held.values, strict=True) if key)


def _made(call: _Call, reads: Sequence[Ref], values: Mapping[Ref, Literal]) -> str | None:
    """The code that makes the module, sizes and dtypes being told as they are; None where they are not known."""
    known = {f"v{k}": values[ref] for k, ref in enumerate(reads) if ref in values}
    known |= {"dtype": values[reads[call.parameters[0][1]]]} if call.parameters else {}
    made = ast.unparse(_Told(known).visit(ast.parse(ast.unparse(call.made), mode="eval").body))
    names = {node.id for node in ast.walk(ast.parse(made)) if isinstance(node, ast.Name)}
    return made if names <= {"torch"} else None


@dataclass(slots=True)
class _Told(ast.NodeTransformer):
    """`v0.shape[1]` and `v0.dtype`, as what they are."""

    known: Mapping[str, Literal]

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        name, _, shape = ast.unparse(node.value).partition(".")
        if shape == "shape" and name in self.known:
            return ast.Constant(self.known[name].shape[ast.literal_eval(node.slice)])
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr == "dtype" and isinstance(node.value, ast.Name):
            value = self.known.get(node.value.id, self.known.get("dtype"))
            if value is not None:
                return ast.parse(f"torch.{value.dtype}", mode="eval").body
        return self.generic_visit(node)


@dataclass(slots=True)
class _Renamed(ast.NodeTransformer):
    """Operands by their names, and a functional call as another one."""

    names: Mapping[str, str]
    applied: str = ""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.parse(self.names[node.id], mode="eval").body if node.id in self.names else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if self.applied and ast.unparse(node.func) == FUNCTIONAL:
            return ast.parse(self.applied, mode="eval").body
        return self.generic_visit(node)
