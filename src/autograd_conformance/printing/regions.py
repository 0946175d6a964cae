"""Regions as code: the definition of a region's function, and its call, written as a user would write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from autograd_conformance.printing.dialect import Dialect, line, under
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.programs.operands import results
from autograd_conformance.programs.regions import Region


def function(program: Program, region: Region, dialect: Dialect, called: str, name: Mapping[Ref, str]) -> str:
    """The definition of a region's function, with the values' names in `name`."""
    return "\n    ".join([head(region, called, name), *inside(program, region, dialect, name), *end(region, name)])


def head(region: Region, called: str, name: Mapping[Ref, str]) -> str:
    """The first line of a region's function."""
    return f"def {called}({', '.join(name[ref] for ref in region.inputs)}):"


def inside(program: Program, region: Region, dialect: Dialect, name: Mapping[Ref, str]) -> list[str]:
    """The lines of a region's function, one per instruction, without indentation."""
    return [under(region.inner(program, at), line(at, program, name, dialect), dialect) for at in region.steps]


def end(region: Region, name: Mapping[Ref, str]) -> list[str]:
    """The return statement of a region's function, which returns a tuple; none if the region has no results."""
    return [f"return {_tuple(region, name)}"] if region.results else []


def call(region: Region, dialect: Dialect, called: str, name: Mapping[Ref, str]) -> str:
    """The line that calls the function of a region."""
    inputs = [name[ref] for ref in region.inputs]
    text = dialect.unit.format(function=called, inputs=", ".join(inputs), arguments=", ".join([called, *inputs]))
    return under(region.modes, f"{_tuple(region, name)} = {text}" if region.results else text, dialect)


def _tuple(region: Region, name: Mapping[Ref, str]) -> str:
    names = ", ".join(name[ref] for ref in region.results)
    return f"({names},)" if len(region.results) == 1 else names


def arranged(program: Program, regions: Iterable[Region]) -> Iterator[int | Region]:
    """A program's instructions, by number, and its regions, in the order of the code. Leaves between the instructions
    of a region come before it.
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
    """The function of a region with names that depend only on positions, so that equal regions have equal code."""
    name = {ref: f"x{k}" for k, ref in enumerate(region.inputs)}
    made = [Ref(at, k) for at in region.steps for k in range(results(program[at]))]
    name.update((ref, f"y{k}") for k, ref in enumerate(made))
    return function(program, region, dialect, "region", name)
