"""Regions as code: a function that computes one, written as its user would."""

from __future__ import annotations

from collections.abc import Mapping

from autograd_conformance.printing.dialect import Dialect, line, under
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.programs.operands import results
from autograd_conformance.programs.regions import Region


def function(program: Program, region: Region, dialect: Dialect, called: str, name: Mapping[Ref, str]) -> str:
    """The function of a region, whose values are called as `name` says."""
    body = [under(region.inner(program, at), line(at, program, name, dialect), dialect) for at in region.steps]
    returned = ", ".join(name[ref] for ref in region.results)
    body += [f"return {returned}{',' if len(region.results) == 1 else ''}"] if region.results else []
    taken = ", ".join(name[ref] for ref in region.inputs)
    return "\n    ".join([f"def {called}({taken}):", *body])


def canonical(program: Program, region: Region, dialect: Dialect) -> str:
    """The function of a region with names that say places alone: of equal regions, it is the same text."""
    name = {ref: f"x{k}" for k, ref in enumerate(region.inputs)}
    made = [Ref(at, k) for at in region.steps for k in range(results(program[at]))]
    name.update((ref, f"y{k}") for k, ref in enumerate(made))
    return function(program, region, dialect, "region", name)
