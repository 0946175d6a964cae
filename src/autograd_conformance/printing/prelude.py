"""The part of a script's prelude that the script uses, so that a failure is printed with no more than it needs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """A statement of a prelude."""

    text: str
    """Its code, with the empty lines and comments above it."""
    defines: frozenset[str]
    """The names that it defines or completes: the script needs it if the script needs one of them. Empty for a
    statement that every script needs."""
    mentions: frozenset[str]
    """All names in it."""


def needed(prelude: str, code: str) -> str:
    """Returns the prelude without the imports, functions and classes that neither the code nor another needed statement
    mentions.

    A statement that acts on a definition belongs to it: ``f.defvjp(...)`` and ``defvjp(f, ...)`` are needed with `f`.
    A prelude in the syntax of another version of Python stays as it is.
    """
    try:
        statements = list(_statements(prelude))
    except SyntaxError:
        return prelude
    names = set(re.findall(r"[^\W\d]\w*", code))
    kept: set[int] = set()
    while more := {
        k for k, each in enumerate(statements) if k not in kept and (not each.defines or each.defines & names)
    }:
        kept |= more
        names.update(*(statements[k].mentions for k in more))
    return "".join(statements[k].text for k in sorted(kept)).strip("\n")


def _statements(prelude: str) -> Iterator[Statement]:
    lines, above = prelude.splitlines(keepends=True), 0
    there: set[str] = set()
    for node in ast.parse(prelude).body:
        end = node.end_lineno or len(lines)
        text = "".join(lines[above:end])
        defines = {*_defined(node), *(root for each in _completed(node) if (root := _root(each)) in there)}
        match node:
            case ast.Assign([ast.Name(name)], ast.Call(args=[first, *_])) if _root(first) in there:
                defines.add(name)
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            there |= defines
        above = end
        yield Statement(
            text, frozenset(defines), frozenset(each.id for each in ast.walk(node) if isinstance(each, ast.Name))
        )


def _defined(node: ast.stmt) -> Iterator[str]:
    """The names that a statement defines if it does nothing else; none for ``import a.b``, which may have effects."""
    match node:
        case ast.FunctionDef(name) | ast.ClassDef(name):
            yield name
        case ast.Import([ast.alias(asname=str(name))]):
            yield name
        case ast.ImportFrom(names=names):
            yield from (each.asname or each.name for each in names)


def _completed(node: ast.stmt) -> Iterator[ast.expr]:
    """The expressions in a statement that may be definitions which it completes: the owner of a method that it calls,
    the first argument of a function, and decorators.
    """
    match node:
        case ast.Expr(ast.Call(ast.Name(), [first, *_])):
            yield first
        case ast.Expr(ast.Call(ast.Attribute(owner))):
            yield owner
        case ast.FunctionDef(decorator_list=decorators):
            yield from (each.value for each in decorators if isinstance(each, ast.Attribute))


def _root(node: ast.expr) -> str | None:
    """The name that a dotted name begins with: ``f`` of ``f.defvjp``; None for another expression."""
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute(value):
            return _root(value)
    return None
