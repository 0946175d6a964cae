"""Finds templates of an adapter that are empty, or that make no Python code. No program runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from autograd_conformance.checking.soundness import templates
from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.probing.simplest_calls import simplest_calls
from autograd_conformance.frameworks.probing.smallest import SMALLEST
from autograd_conformance.ops.catalogue import APPLIED, VOCABULARY, WRITES, row_of
from autograd_conformance.ops.limits import outside
from autograd_conformance.printing.dialect import Dialect, Template, code, fill
from autograd_conformance.printing.functional import definition
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.foreign.text import message, type_of
from autograd_conformance.programs.formats.text import names, parse
from autograd_conformance.programs.language import Program


@dataclass(frozen=True)
class Problem:
    """A fault of an adapter."""

    about: str
    """The op, in-place op, capability or template, such as ``op sin``."""
    text: str
    """The fault, in words."""


def problems(target: Target) -> Iterator[Problem]:
    """Yields the faults of the templates with which a framework's code is printed; none if nothing is printed as
    Python.
    """
    dialect = target.dialect
    if dialect is None or not target.prints:
        return
    for name, needed in templates.empty(dialect, frozenset(target.capabilities)):
        yield Problem(
            f"template {name}",
            f"`dialect.{name}` is empty, so no script can show {needed}: write the code, or do not claim it",
        )
    for name, why in templates.unknown_fields(dialect):
        yield Problem(f"template {name}", f"`dialect.{name}` cannot be filled in: {why}")
    yield from _of("op", sorted({*target.ops} & APPLIED & {*dialect.ops}), dialect.ops.__getitem__, target, "eval")
    if Capability.WRITES in target.capabilities and dialect.writes:
        for name in sorted({*target.writes} - {*dialect.writes}):
            yield Problem(f"in-place op {name}", "there is no template for it")
        there = sorted({*target.writes} & {*dialect.writes} & {*WRITES})
        yield from _of("in-place op", there, dialect.writes.__getitem__, target, "exec")
    yield from _of_capabilities(target, dialect)


def _of(
    kind: str, names: Sequence[str], template: Callable[[str], Template], target: Target, mode: str
) -> Iterator[Problem]:
    """Yields the faults of the templates of ops, each filled in for the simplest call within the adapter's limits."""
    for name in names:
        for shapes, attrs in simplest_calls(row_of(name)):
            if outside(target.limits, name, shapes, attrs):
                continue
            given = [f"x{k}" for k in range(len(shapes))]
            why = _fault(lambda: [fill(template(name), given, attrs)], mode)  # noqa: B023
            if why is not None:
                yield Problem(f"{kind} {name}", why)
            break


def _of_capabilities(target: Target, dialect: Dialect) -> Iterator[Problem]:
    """Yields the faults of the code of each capability's smallest program."""
    empty = {name for name, _ in templates.empty(dialect, frozenset(target.capabilities))}
    for capability, smallest in SMALLEST.items():
        if capability not in target.capabilities or empty.intersection(templates.NEEDED.get(capability, ())):
            continue
        program = parse(smallest.text, VOCABULARY)
        if not unsupported_by(program, target) and (why := _fault(lambda: _blocks(program, dialect), "exec")):  # noqa: B023
            yield Problem(capability.name, why)


def _blocks(program: Program, dialect: Dialect) -> list[str]:
    """Returns the code of each instruction, with the functions that it defines."""
    written, called = code(program, dialect), names(program)
    return ["\n".join([*definition(at, program, called, dialect), line]) for at, line in enumerate(written)]


def _fault(printed: Callable[[], Sequence[str]], mode: str) -> str | None:
    """Returns why code cannot be printed or is no Python; None if it is."""
    try:
        blocks = printed()
    except Exception as error:
        return f"its code cannot be printed: {type_of(error)}: {message(error)}"
    for block in blocks:
        try:
            compile(block, "<printed code>", mode)
        except (SyntaxError, ValueError) as error:
            return f"its printed code is no Python ({message(error).partition(' (<')[0]}): {block}"
    return None
