"""Mutations of Python source text with the operators of Cosmic Ray, which is imported only when it is used."""

from __future__ import annotations

import ast
import difflib
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Mutation:
    """One change to one file."""

    file: str
    """The file, relative to the package."""
    line: int
    """The line that changes, from 1."""
    column: int
    """The column of the changed token."""
    operator: str
    """Cosmic Ray's name of the operator."""
    occurrence: int
    """The number of earlier places in the file to which this operator applies."""

    @property
    def place(self) -> tuple[str, int, int, str]:
        """The changed token, with the kind of change. An arithmetic operator has eleven replacements in one place."""
        return self.file, self.line, self.column, self.operator.partition("_")[0]

    def applied(self, text: str) -> str:
        """Returns the text of the file after the change."""
        from cosmic_ray.mutating import mutate_code

        mutated = mutate_code(text, _operators()[self.operator](), self.occurrence)
        assert mutated is not None, f"{self.operator} does not apply {self.occurrence + 1} times"
        return mutated


def mutations(file: str, text: str) -> list[Mutation]:
    """Returns all mutations of a file with this text."""
    from cosmic_ray.ast import ast_nodes, get_ast

    made = {name: operator() for name, operator in _operators().items()}
    count = Counter[str]()
    found = []
    for node in ast_nodes(get_ast(text)):
        for name, operator in made.items():
            for (line, column), _ in operator.mutation_positions(node):
                found.append(Mutation(file, line, column, name, count[name]))
                count[name] += 1
    return found


def places(file: str, text: str) -> int:
    """Returns at how many places a file with this text can be changed."""
    return len({mutation.place for mutation in mutations(file, text)})


def sample(texts: Mapping[str, str], size: int, seed: int) -> Iterator[Mutation]:
    """Yields mutations at random places in files, given by their texts: one for each place, so that an operator with
    many replacements counts once. A mutation that changes no running code is left out.
    """
    at = defaultdict[tuple[str, int, int, str], list[Mutation]](list)
    for file, text in texts.items():
        for mutation in mutations(file, text):
            at[mutation.place].append(mutation)
    chance = random.Random(seed)
    order = sorted(at)
    chance.shuffle(order)
    left = size
    for place in order:
        mutation = chance.choice(at[place])
        if left and changes_code(texts[mutation.file], mutation.applied(texts[mutation.file])):
            left -= 1
            yield mutation


def changes_code(before: str, after: str) -> bool:
    """Returns whether a changed text is Python and differs in more than its annotations."""
    try:
        compile(after, "<mutant>", "exec")
    except (SyntaxError, ValueError):
        return False
    return _without_annotations(before) != _without_annotations(after)


def difference(before: str, after: str) -> str:
    """Returns the changed lines, the old ones after "-" and the new ones after "+"."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


class _Bare(ast.NodeTransformer):
    """Removes annotations."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def _without_annotations(text: str) -> str:
    return ast.dump(_Bare().visit(ast.parse(text)))


def _operators() -> dict[str, type]:
    """Cosmic Ray's operators that need no arguments, by name."""
    from cosmic_ray.operators.provider import OperatorProvider

    provider = OperatorProvider()
    return {name: provider[name] for name in provider if not provider[name].arguments()}
