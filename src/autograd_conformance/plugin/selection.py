"""The ops that the selected tests need, if each selected test is about one op."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from autograd_conformance.ops.tables import OPS, VIEWS
from autograd_conformance.package.places import SUITES
from autograd_conformance.plugin.pytest_internals import expression_holds
from autograd_conformance.strategies.higher_order import WEIGHT_OP

HELPERS = frozenset({WEIGHT_OP, "multiply", "add", "sum", "clone", "flip"}) | VIEWS
"""Ops that the programs of another op may have besides it: those that weight its results, copy its operands, or lay
them out in memory.
"""

NAMED = re.compile(r"([\w.]+)::(\w+)\[(\w+)\]$")
"""The end of the name of a test with one parameter: its file, its function and the parameter."""

WORD = re.compile(r"[^\s()]+")
"""A word of an expression of `-k`."""

LOGICAL = frozenset({"and", "or", "not"})
"""The words of such an expression that name no tests."""

MOST = 6
"""Largest number of other words in an expression that is read here; with a longer one, all ops run alone."""

SHARED = (SUITES.name, "rule", "parametrize", "hypothesis", "is_hypothesis_test")
"""Words that pytest may compare with a word besides the names of a test and its file."""

PLAIN = ("rule", "settings", "given")
"""Decorators of a test function that does not have several tests, other than one for each op."""


class Function(NamedTuple):
    """A test function of the suites, as its source says."""

    file: str
    name: str
    of_each_op: bool
    """Whether there is one test of it for each op."""
    of_others: bool
    """Whether there may be several tests of it, for something other than ops."""

    def names(self, op: str | None) -> Sequence[str]:
        """Returns the names, in lower case, with which pytest compares a word of `-k`."""
        return (self.file.lower(), self.name.lower() if op is None else f"{self.name}[{op}]".lower())

    def has(self, word: str, op: str | None) -> bool | None:
        """Returns whether a word of `-k` occurs in the names of a test; None if the source does not say."""
        if any(word in name for name in self.names(op)):
            return True
        if any(word in shared for shared in SHARED):
            return None
        before, bracket, _ = word.partition("[")
        may_name_another = self.name.lower().endswith(before) if bracket else not word.startswith("test_")
        return None if self.of_others and may_name_another else False


def is_named(arguments: Iterable[str]) -> bool:
    """Returns whether an argument of pytest names a test in a file."""
    return any("::" in argument for argument in arguments)


def needed_ops(arguments: Iterable[str], keywords: str = "") -> Collection[str]:
    """Returns the ops that have to run alone before the tests: those of the tests that the arguments or the expression
    of `-k` select, with those that their programs have besides. All ops, unless each selected test is about one op:
    drawn programs have any op, and one seed has to draw the same programs whichever tests are selected.
    """
    named = _named(arguments) or _selected(keywords)
    return {*named, *HELPERS} if named else OPS


def _named(arguments: Iterable[str]) -> set[str]:
    """Returns the ops that the tests named by the arguments are about; none if one is about no op."""
    of_ops = {(function.file, function.name) for function in functions() if function.of_each_op}
    found = set[str]()
    for word in arguments:
        match = NAMED.search(word)
        if match is None or match.group(1, 2) not in of_ops or match[3] not in OPS:
            return set()
        found.add(match[3])
    return found


def _selected(keywords: str) -> set[str]:
    """Returns the ops that the tests selected by an expression of `-k` are about; none if it may select a test that is
    about no op.
    """
    words = list(dict.fromkeys(word for word in WORD.findall(keywords.lower()) if word not in LOGICAL))
    if not 0 < len(words) <= MOST:
        return set()
    found = set[str]()
    for function in functions():
        for op in OPS if function.of_each_op else (None,):
            if _may_select(keywords, {word: function.has(word, op) for word in words}):
                if op is None:
                    return set()
                found.add(op)
    return found


def _may_select(keywords: str, occurs: dict[str, bool | None]) -> bool:
    """Returns whether an expression of `-k` selects a test, given which words occur in its names; True if that is
    unknown.
    """
    choices = product(*([True, False] if there is None else [there] for there in occurs.values()))
    return any(_holds(keywords, dict(zip(occurs, each, strict=True))) for each in choices)


def _holds(keywords: str, occurs: dict[str, bool]) -> bool:
    """Returns the value of an expression of `-k`; True if it is none, since pytest will say so."""
    try:
        return expression_holds(keywords, occurs)
    except SyntaxError:
        return True


@lru_cache(maxsize=1)
def functions() -> Sequence[Function]:
    """Returns the test functions of the suites, whatever is collected, also those that only some profiles have."""
    return [
        function
        for path in sorted(SUITES.glob("test_*.py"))
        for function in _functions(path.name, path.read_text(encoding="utf-8"))
    ]


def _functions(file: str, source: str) -> Iterator[Function]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            decorators = [
                ast.unparse(each.func if isinstance(each, ast.Call) else each)
                for each in node.decorator_list
                if not _names_ops(each)
            ]
            of_each_op = any(argument.arg == "op" for argument in node.args.args)
            yield Function(file, node.name, of_each_op, any(each not in PLAIN for each in decorators))


def _names_ops(decorator: ast.expr) -> bool:
    """Whether a decorator gives a test function one test for each of some ops."""
    return isinstance(decorator, ast.Call) and bool(decorator.args) and ast.unparse(decorator.args[0]) == "'op'"
