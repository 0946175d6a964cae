"""Regions as code: a function that computes one and its call, written as its user would."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from autograd_conformance.printing.dialect import Dialect, line, under
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.programs.operands import results
from autograd_conformance.programs.regions import Region


def function(program: Program, region: Region, dialect: Dialect, called: str, name: Mapping[Ref, str]) -> str:
    """The function of a region, whose values are called as `name` says."""
    return "\n    ".join([head(region, called, name), *inside(program, region, dialect, name), *end(region, name)])


def head(region: Region, called: str, name: Mapping[Ref, str]) -> str:
    """The line that begins the function of a region."""
    return f"def {called}({', '.join(name[ref] for ref in region.inputs)}):"


def inside(program: Program, region: Region, dialect: Dialect, name: Mapping[Ref, str]) -> list[str]:
    """The lines of a region's function, one an instruction, as they are without their block."""
    return [under(region.inner(program, at), line(at, program, name, dialect), dialect) for at in region.steps]


def end(region: Region, name: Mapping[Ref, str]) -> list[str]:
    """The line that ends the function of a region: it gives a tuple, or, where nothing is seen of it, nothing."""
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
    """A program's instructions, by number, and its regions in the order of code: leaves that stand between the
    instructions of a region are made before it.
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
    """The function of a region with names that say places alone: of equal regions, it is the same text."""
    name = {ref: f"x{k}" for k, ref in enumerate(region.inputs)}
    made = [Ref(at, k) for at in region.steps for k in range(results(program[at]))]
    name.update((ref, f"y{k}") for k, ref in enumerate(made))
    return function(program, region, dialect, "region", name)
