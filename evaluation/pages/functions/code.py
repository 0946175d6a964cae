"""The functions that an adapter's ops call, found in the syntax trees of the code that its templates make."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from autograd_conformance.ops.limits import Limits, limited
from autograd_conformance.ops.rows.row import arity
from autograd_conformance.ops.tables import OPS
from autograd_conformance.printing.dialect import Dialect, fill
from evaluation.pages.ops import drawn_attributes

OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.Pow: "power",
    ast.MatMult: "matmul", ast.USub: "negative",
}  # fmt: skip
"""The functions that Python's operators call, by NumPy's names."""


def lines(dialect: Dialect, limits: Limits) -> Iterator[tuple[str, str]]:
    """Each op of a dialect with its code, once for all attributes that make the same code; and the code of `detach`."""
    for op, template in dialect.ops.items():
        row = limited(OPS[op], limits[op]) if op in limits else OPS[op]
        names = [f"x{k}" for k in range(arity(row))]
        for code in dict.fromkeys(fill(template, names, attrs) for attrs in drawn_attributes(row)):
            yield op, code
    yield "detach", dialect.detach.format(source="x0")


def callees(code: str, scope: Mapping[str, Any]) -> Iterator[Any]:
    """The objects of modules that the code calls or names; for operators and methods of arrays, the names."""
    for node in ast.walk(ast.parse(code, mode="eval")):
        match node:
            case ast.BinOp(left=left, op=operator, right=right) if is_array(left) or is_array(right):
                yield OPERATORS.get(type(operator))
            case ast.UnaryOp(op=operator, operand=operand) if is_array(operand):
                yield OPERATORS.get(type(operator))
            case ast.Attribute() if (found := value(node, scope)) is not None:
                yield found
            case ast.Call(func=ast.Attribute(value=ast.Name() as of, attr=name)) if is_array(of):
                yield name


def is_array(node: ast.expr) -> bool:
    """Whether an expression is an array: an operand, a part of one, or computed from one; no size or shape."""
    match node:
        case ast.Name(id=name):
            return name[0] == "x" and name[1:].isdigit()
        case ast.Attribute(attr="shape" | "ndim" | "size" | "dtype"):
            return False
        case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.UnaryOp(operand=inner):
            return is_array(inner)
        case ast.BinOp(left=left, right=right):
            return is_array(left) or is_array(right)
        case ast.Call(func=ast.Attribute() | ast.Lambda()):
            return True
    return False


def value(node: ast.expr, scope: Mapping[str, Any]) -> Any:
    """The value of a name with dots, such as `jnp.linalg.det`; None if it is no part of a module in the scope."""
    match node:
        case ast.Name(id=name):
            return scope.get(name)
        case ast.Attribute(value=inner, attr=name):
            return getattr(value(inner, scope), name, None)
    return None
