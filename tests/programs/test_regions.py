"""Regions: their first and last instructions, inputs, results and grad modes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from autograd_conformance.programs.formats.text import names, parse
from autograd_conformance.programs.language import InPlace, Program
from autograd_conformance.programs.regions import Region, regions

A = "a = leaf [1, 2]"


def everything(program: Program, at: int, run: Sequence[int]) -> bool:
    return True


def no_writes(program: Program, at: int, run: Sequence[int]) -> bool:
    return not isinstance(program[at], InPlace)


def pairs(program: Program, at: int, run: Sequence[int]) -> bool:
    return len(run) < 2


def described(text: str, holds=everything) -> list[tuple[tuple[int, ...], str, str]]:
    """The regions of a program: their instructions, and their inputs and results by name."""
    program = parse(text)
    name = names(program)

    def listed(region: Region) -> tuple[tuple[int, ...], str, str]:
        return region.steps, "".join(map(name.get, region.inputs)), "".join(map(name.get, region.results))

    return [listed(region) for region in regions(program, holds)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{A}; b = square a; c = sin b", [((1, 2), "a", "c")]),
        (f"{A}; b = square a; c = sin b; backward b with [1, 1]", [((1, 2), "a", "bc")]),
        (f"{A}; b = square a; backward b with [1, 1]; c = sin b", [((1,), "a", "b"), ((3,), "b", "c")]),
        (f"{A}; b = square a; c = leaf [3, 4]; d = multiply b c", [((1, 3), "ac", "d")]),
        (f"{A}; b = multiply a a; c = detach b; write c exp_", [((1, 2, 3), "a", "c")]),
        (f"{A}; retain a", []),
        (f"{A}; b, c = split a sizes=(1,1) dim=0; d = sin c", [((1, 2), "a", "bd")]),
    ],
)
def test_a_region_is_as_long_as_it_can_be(text, found):
    assert described(text) == found


def test_an_instruction_that_it_cannot_contain_separates_two():
    text = f"{A}; b = square a; write b exp_; c = sin b"
    assert described(text, no_writes) == [((1,), "a", "b"), ((3,), "b", "c")]


def test_it_is_cut_where_it_may_not_go_on():
    text = f"{A}; b = sin a; c = sin b; d = sin c; e = sin d; f = sin e"
    assert [steps for steps, _, _ in described(text, pairs)] == [(1, 2), (3, 4), (5,)]


@pytest.mark.parametrize(
    ("text", "modes", "inner"),
    [
        (f"{A}; no_grad: b = sin a; no_grad: c = sin b", ("no_grad",), [(), ()]),
        (f"{A}; no_grad: b = sin a; c = sin b", (), [("no_grad",), ()]),
        (
            f"{A}; no_grad: enable_grad: b = sin a; no_grad: c = sin b",
            ("no_grad",),
            [("enable_grad",), ()],
        ),
    ],
)
def test_it_runs_under_the_modes_common_to_its_instructions(text, modes, inner):
    program = parse(text)
    (region,) = regions(program, everything)
    assert region.modes == modes
    assert [region.inner(program, at) for at in region.steps] == inner


OPS = ("sin", "cos", "exp", "tanh", "square", "negative", "sigmoid")


def chain(*ops: str, data: str = "[1, 2]") -> str:
    """A program that applies ops, each to the result of the previous one."""
    return "; ".join([f"v0 = leaf {data}", *(f"v{k} = {op} v{k - 1}" for k, op in enumerate(ops, 1))])


def lengths(text: str) -> list[int]:
    return [len(region.steps) for region in regions(parse(text), everything)]


def test_a_few_end_early():
    found = [lengths(chain("sin", "sin", before, behind)) for before in OPS for behind in OPS]
    assert {tuple(each) for each in found} == {(4,), (3, 1)}
    assert 2 <= found.count([3, 1]) <= 12
    assert all(lengths(chain("sin", before, behind)) == [3] for before in OPS for behind in OPS)


def test_the_end_of_a_region_depends_only_on_the_instructions_there():
    ends = next((one, two) for one in OPS for two in OPS if lengths(chain("sin", "sin", one, two)) == [3, 1])
    assert lengths(chain("exp", "tanh", *ends)) == lengths(chain("sin", "cos", *ends, data="5")) == [3, 1]
    assert lengths(f"a = leaf 2; z = leaf 3; backward a; {chain('cos', 'exp', *ends)}; backward v4 with [1, 1]") == [
        3,
        1,
    ]
