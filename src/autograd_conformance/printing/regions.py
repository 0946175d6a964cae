"""Regions (instructions that run as one compiled or checkpointed function) as code: the definition and the call of that
function, written as a user would write them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from autograd_conformance.printing.dialect import Dialect, line, under
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.programs.operands import results
from autograd_conformance.programs.regions import Region


def function(program: Program, region: Region, dialect: Dialect, called: str, name: Mapping[Ref, str]) -> str:
    """Writes the definition of the compiled or checkpointed function that contains a region's instructions, with the
    values' names in `name`.
    """
    return "\n    ".join([head(region, called, name), *inside(program, region, dialect, name), *end(region, name)])


def head(region: Region, called: str, name: Mapping[Ref, str]) -> str:
    """Writes the ``def`` line of the compiled or checkpointed function that contains a region's instructions."""
    return f"def {called}({', '.join(name[ref] for ref in region.inputs)}):"


def inside(program: Program, region: Region, dialect: Dialect, name: Mapping[Ref, str]) -> list[str]:
    """Writes the body of the compiled or checkpointed function that contains a region's instructions, one line for
    each, without indentation.
    """
    return [under(region.inner(program, at), line(at, program, name, dialect), dialect) for at in region.steps]


def end(region: Region, name: Mapping[Ref, str]) -> list[str]:
    """Writes the statement that returns the results of a region (instructions that run as one compiled or checkpointed
    function) as a tuple; no line if there are no results.
    """
    return [f"return {_tuple(region, name)}"] if region.results else []


def call(region: Region, dialect: Dialect, called: str, name: Mapping[Ref, str]) -> str:
    """Writes the line that calls the compiled or checkpointed function that contains a region's instructions."""
    inputs = [name[ref] for ref in region.inputs]
    text = dialect.unit.format(function=called, inputs=", ".join(inputs), arguments=", ".join([called, *inputs]))
    return under(region.modes, f"{_tuple(region, name)} = {text}" if region.results else text, dialect)


def _tuple(region: Region, name: Mapping[Ref, str]) -> str:
    names = ", ".join(name[ref] for ref in region.results)
    return f"({names},)" if len(region.results) == 1 else names


def arranged(program: Program, regions: Iterable[Region]) -> Iterator[int | Region]:
    """Yields, in the order of the printed code, the numbers of a program's instructions and its regions (instructions
    that run as one compiled or checkpointed function). Leaves between the instructions of a region come before the
    region.
    """
    whole = {at: region for region in regions for at in range(region.first, region.last + 1)}
    for at in range(len(program)):
        region = whole.get(at)
        if region is None:
            yield at
        elif at == region.first:
            yield from (each for each in range(at, region.last + 1) if each not in region.steps)
            yield region


def canonical(program: Program, region: Region, dialect: Dialect) -> str:
    """Writes the compiled or checkpointed function that contains a region's instructions, with names that depend only
    on positions (``x0``, ``y0``), so that equal regions have equal code.
    """
    name = {ref: f"x{k}" for k, ref in enumerate(region.inputs)}
    made = [Ref(at, k) for at in region.steps for k in range(results(program[at]))]
    name.update((ref, f"y{k}") for k, ref in enumerate(made))
    return function(program, region, dialect, "region", name)
