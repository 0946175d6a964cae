"""A program as code that can be pasted into a file or an interpreter, with its line numbers in comments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.printing.cast_blocks import cast_blocks, without_casts
from autograd_conformance.printing.dialect import Dialect, code
from autograd_conformance.printing.functional import definition
from autograd_conformance.printing.loops import loop
from autograd_conformance.printing.openings import opening
from autograd_conformance.printing.prelude import needed
from autograd_conformance.printing.regions import arranged, call, canonical, end, head, inside
from autograd_conformance.printing.reroll import iterations
from autograd_conformance.programs.formats.text import names
from autograd_conformance.programs.language import Apply, Leaf, Program, Ref
from autograd_conformance.programs.regions import Region
from autograd_conformance.reporting.records.failure import LineGroup


def listing(program: Program, target: Target, failing: int | None = None) -> str:
    """Returns a program as a script that prints nothing; empty if the framework's code cannot be printed. The line of
    instruction `failing` is marked with an arrow.
    """
    dialect = target.dialect
    if dialect is None:
        return ""
    made = statements(program, target.regions(program), dialect, failing)
    return assemble(program, dialect, [line for each in made for line in (*each.before, each.text)])


def announced(program: Program, target: Target, failing: int, allowed: str) -> str:
    """Returns a program up to a failing instruction as a script that prints what is allowed before this instruction
    runs, which shows what happens instead; empty if the framework's code cannot be printed.
    """
    dialect = target.dialect
    if dialect is None:
        return ""
    part = program.upto(failing + 1)
    *made, last = statements(part, target.regions(part), dialect, failing)
    said = f'print("allowed on line {failing + 1}:", {allowed!r})'
    lines = [line for each in made for line in (*each.before, each.text)]
    return assemble(program, dialect, [*lines, *last.before, said, last.text])


def traced(program: Program, target: Target, observed: str) -> str:
    """Returns a program that ended or hung its process as a script that prints each line before the line runs, so that
    the last one printed is the cause; empty if the framework's code cannot be printed. `observed` says what happened.
    """
    dialect = target.dialect
    if dialect is None:
        return ""
    lines = [_said(f"each line has to return, or to raise an error; observed: {observed}")]
    *earlier, last = statements(program, target.regions(program), dialect)
    for each in (*earlier, last):
        lines += [*each.before, _said(f"line {_numbers(each.steps)}: {_without_number(each.text)}")]
        may_raise = each is not last and not isinstance(program[each.steps[0]], (Leaf, Apply))
        lines += _caught(each.text) if may_raise else [each.text]
    return assemble(program, dialect, [*lines, _said("every line returned, or raised an error")])


def _said(text: str) -> str:
    """Returns the code that prints a text at once, since the process may end at the next line."""
    return f"print({text!r}, flush=True)"


def _without_number(line: str) -> str:
    """Returns a line of code, or several as one, without the comment with its number."""
    return " ".join(line.rpartition("  # ")[0].split())


def _caught(line: str) -> list[str]:
    """Returns the code that runs a line which may raise an error before the line that ends the process."""
    return ["try:", indented(line), "except Exception as error:", '    print("raised:", error, flush=True)']


@dataclass(frozen=True, slots=True)
class Statement:
    """A line of a script that runs one or several instructions, with their numbers."""

    steps: tuple[int, ...]
    """The numbers of the instructions that the line runs; several if the line calls a function into which a compiled or
    checkpointed region is printed."""
    text: str
    """The line of code."""
    before: tuple[str, ...] = ()
    """The lines that define a function which this line calls or differentiates; empty if it needs none, or the function
    of an equal region is defined above."""


def statements(
    program: Program, regions: Iterable[Region], dialect: Dialect, failing: int | None = None
) -> list[Statement]:
    """Returns a program's lines of code with the numbers of its instructions. The instructions of each region, which
    run as one compiled or checkpointed function, become a function. Then each line enters the blocks of autocast that
    it is in; otherwise, they are entered where they begin.
    """
    regions = tuple(regions)
    blocks = cast_blocks(program, dialect) if not regions else [()] * len(program)
    program = program if regions else without_casts(program)
    name, lines = names(program), code(program, dialect)
    known: dict[str, str] = {}
    made: list[tuple[tuple[int, ...], str, tuple[str, ...]]] = []
    for each in arranged(program, regions):
        if isinstance(each, int):
            above = definition(each, program, name, dialect)
            made.append(((each,), lines[each], ("", *above, "") if above else ()))
            continue
        source = canonical(program, each, dialect)
        is_new, called = source not in known, f"compute{len(known) + 1 if known else ''}"
        called = known.setdefault(source, called)
        before = _definition(program, each, dialect, called, name) if is_new else ()
        made.append((each.steps, call(each, dialect, called, name), before))
    width = max((len(line) for _, line, _ in made if len(line) <= COLUMN), default=0)
    return [
        Statement(
            steps,
            f"{line:{width}}  # {_numbers(steps)}{' <--' if failing in steps else ''}",
            (*blocks[steps[0]], *before),
        )
        for steps, line, before in made
    ]


def _definition(
    program: Program, region: Region, dialect: Dialect, called: str, name: Mapping[Ref, str]
) -> tuple[str, ...]:
    """Returns the lines that define the function for a region (instructions that run as one compiled or checkpointed
    function), with the numbers of its instructions.
    """
    lines = inside(program, region, dialect, name)
    width = max(map(len, lines))
    body = [f"    {line:{width}}  # {at + 1}" for at, line in zip(region.steps, lines, strict=True)]
    above = [dialect.unit_head] if dialect.unit_head else []
    return ("", *above, head(region, called, name), *body, *(f"    {line}" for line in end(region, name)), "")


def _numbers(steps: Sequence[int]) -> str:
    """Returns the number of a line as text, or the first and the last number of several: "3 to 5"."""
    return f"{steps[0] + 1}" if len(steps) == 1 else f"{steps[0] + 1} to {steps[-1] + 1}"


def loop_listing(program: Program, target: Target, at: int | None = None) -> str:
    """Returns a program as code in which repeated lines are loops, with instruction `at` marked; empty if nothing
    repeats or the framework runs several instructions as one function.
    """
    if target.regions(program) or (target.dialect and target.dialect.vjp):
        return ""
    return loop(program, target.dialect, at, names(program)) or ""


def groups(program: Program, target: Target) -> tuple[LineGroup, ...]:
    """Returns the groups of lines that a framework runs as one compiled or checkpointed function, or else the
    iterations of the program's loop.
    """
    units = tuple(LineGroup("unit", _lines(region.steps)) for region in target.regions(program))
    return units or tuple(LineGroup("iteration", _lines(steps)) for steps in iterations(program))


def _lines(steps: Iterable[int]) -> tuple[int, ...]:
    return tuple(at + 1 for at in steps)


def with_prelude(text: str, program: Program, dialect: Dialect | None) -> str:
    """Returns a program's code with the framework's imports in front; empty stays empty."""
    return assemble(program, dialect, text.split("\n")) if text and dialect else text


def assemble(program: Program, dialect: Dialect, lines: Sequence[str]) -> str:
    """Returns the script that consists of the part of the framework's prelude that the lines use, the modes that a
    program runs in, and the given lines.
    """
    entered = opening(program, dialect)
    body = [*([entered] if entered else []), "", *lines]
    return _pasteable([needed(dialect.prelude, "\n".join(body)), *body])


COLUMN = 88
"""The comments with line numbers start at this column at most, unless the line of code is longer."""


def indented(line: str) -> str:
    """Indents a numbered line by four spaces, with its number in the same column as the others."""
    head, mark, number = line.rpartition("  # ")
    return f"    {head.removesuffix('    ')}{mark}{number}"


def _pasteable(lines: Sequence[str]) -> str:
    """Returns lines as a script that can also be pasted into an interpreter, which needs an empty line after a compound
    statement.
    """
    text = "\n".join(lines).split("\n")
    found: list[str] = []
    for line, following in zip(text, [*text[1:], ""], strict=True):
        found.append(line)
        if line.startswith(COMPOUND) and following and not following.startswith(CONTINUED):
            found.append("")
    return "\n".join(found) + "\n"


COMPOUND = (" ", "with ", "if ")
"""Beginnings of lines that may end a compound statement: indented lines, or a `with` or `if` statement on one line."""

CONTINUED = (" ", "except ", "else:")
"""Beginnings of lines that continue a compound statement."""


def print_line(label: str, value: str) -> str:
    """Returns a line that prints a label, which may be code with quotation marks, and the value of an expression."""
    quoted = repr(label) if '"' in label else f'"{label}"'
    return f"print({quoted}, {value})"
