"""Programs under autocast: their casts written out, how they are drawn, compared, judged alone and printed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings

from autograd_conformance.checking.check import related_as
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.reduce import reduced
from autograd_conformance.frameworks.loading.registry import load
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.printed import run_printed
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.ops.tables import OPS
from autograd_conformance.plugin.replay import run_after
from autograd_conformance.printing.cast_blocks import cast_blocks
from autograd_conformance.programs.capabilities import Capability, needs
from autograd_conformance.programs.formats.text import lines, parse
from autograd_conformance.programs.language import CAST_MODES, Leaf, Program, is_recorded
from autograd_conformance.programs.observations import Raised, Returned, region_steps
from autograd_conformance.programs.validation import validate
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.rules.relations.casts import NotDocumented, has_casts, with_casts
from autograd_conformance.rules.relations.relation import Related, relate
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.relations import autocast
from evaluation.mutants.autocast import ProductInFullPrecision

TORCH = Torch()
LEAVES = "a = leaf f32 [[1, 2], [3, 4]]; b = leaf f32 [[1, -1], [2, 3]]"


def program(source: str) -> Program:
    return parse(f"{LEAVES}; {source}", VOCABULARY)


def written_out(source: str) -> list[str]:
    """The lines after the leaves of a program whose casts are written out."""
    return list(lines(with_casts(program(source), TORCH.autocast).second))[2:]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("autocast: c = matmul a b", ["c = astype_bfloat16 a", "d = astype_bfloat16 b", "e = matmul c d"]),
        ("autocast: c = matmul a a", ["c = astype_bfloat16 a", "d = matmul c c"]),
        (
            "autocast_uncached: c = matmul a a",
            ["c = astype_bfloat16 a", "d = astype_bfloat16 a", "e = matmul c d"],
        ),
        ("autocast: c = sin a; autocast: d = add c b", ["c = sin a", "d = add c b"]),
        (
            "autocast: c = mm a b; autocast: d = mse_loss c b reduction='mean'",
            [
                "c = astype_bfloat16 a", "d = astype_bfloat16 b", "e = mm c d", "f = astype_float32 e",
                "g = mse_loss f b reduction='mean'",
            ],
        ),
        ("autocast: autocast_off: c = mm a b", ["c = mm a b"]),
        ("autocast_off: autocast: c = sin a; d = mm a b", ["c = sin a", "d = mm a b"]),
        (
            "autocast: no_grad: c = mm a b; autocast: d = mm a b",
            [
                "no_grad: c = astype_bfloat16 a", "no_grad: d = astype_bfloat16 b", "no_grad: e = mm c d",
                "f = astype_bfloat16 a", "g = astype_bfloat16 b", "h = mm f g",
            ],
        ),
        (
            "autocast: c = mm a a; autocast: no_grad: write a mul_scalar_ scalar=2; autocast: d = mm a a",
            [
                "c = astype_bfloat16 a", "d = mm c c", "no_grad: write a mul_scalar_ scalar=2",
                "e = astype_bfloat16 a", "f = mm e e",
            ],
        ),
        (
            "autocast: c = mm a a; d = sin c; autocast: e = mm a d",
            ["c = astype_bfloat16 a", "d = mm c c", "e = sin d", "f = astype_bfloat16 a", "g = mm f e"],
        ),
    ],
)  # fmt: skip
def test_casts_are_written_out(source: str, expected: list[str]) -> None:
    assert written_out(source) == expected


def test_an_operand_whose_dtype_is_open_is_cast() -> None:
    number = "c = leaf f32 2; autocast: d = mm a b; e = multiply d c"
    assert "h = astype_float32 g" in written_out(f"{number}; autocast: f = prod_dim e dim=0 keepdim=False")
    with pytest.raises(NotDocumented, match="may be float64"):
        written_out("c = leaf 2; d = multiply a c; autocast: e = mm d d")
    assert written_out("c = leaf [[1, 2], [3, 4]]; autocast: e = mm c c")[1:] == ["d = mm c c"]


def test_what_is_not_documented_is_refused() -> None:
    with pytest.raises(NotDocumented, match="einsum"):
        written_out("autocast: c = einsum a b equation='ij,jk->ik'")
    with pytest.raises(NotDocumented, match="a call"):
        written_out("c = mm a b; autocast: backward c with f32 [[1, 1], [1, 1]]")
    assert written_out("c = einsum a b equation='ij,jk->ik'")


@pytest.mark.parametrize("op", sorted(TORCH.autocast))
def test_the_table_names_the_dtype_of_an_op(op: str) -> None:
    assert op in OPS and TORCH.autocast[op] in ("bfloat16", "float32", "operands")


STRATEGIES = {
    "autocast/gradient": autocast.blocks,
    "autocast/nested": autocast.nested,
    "autocast/unrecorded": autocast.unrecorded,
    "autocast/higher": autocast.penalised,
    "autocast/written": autocast.written,
}


@pytest.fixture(scope="module")
def torch_alphabet() -> Iterator[None]:
    with alphabet.using(alphabet_of(InProcess(TORCH), ("float64", "float32"))):
        yield


def test_every_rule_has_a_strategy() -> None:
    assert {*STRATEGIES} == {slug for slug in RULES if slug.startswith("autocast/")}


@pytest.mark.parametrize("rule", STRATEGIES)
def test_pairs_are_sound_and_decided(rule: str, torch_alphabet: None) -> None:
    decided = drawn = 0

    @settings(
        max_examples=25, database=None, deadline=None, phases=[Phase.generate], derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(pair=STRATEGIES[rule]())
    def check(pair: Related) -> None:
        nonlocal decided, drawn
        assert pair.rule == rule and has_casts(pair.first) and not has_casts(pair.second)
        first_op = next(at for at, step in enumerate(pair.first) if not isinstance(step, Leaf))
        assert not any(isinstance(step, Leaf) for step in pair.first.instructions[first_op:])
        assert not any(pair.first.mode(at) for at in range(first_op))
        for each in (pair.first, pair.second):
            assert validate(each, VOCABULARY) is each
        found = relate(pair, run(pair.first, TORCH), run(pair.second, TORCH))
        drawn, decided = drawn + 1, decided + found.decided
        assert rule == "autocast/written" or found.violation is None

    check()
    assert decided >= 0.8 * drawn > 0


def test_a_program_under_autocast_is_judged_up_to_its_first_block() -> None:
    source = program("c = sin a; autocast: d = mm c b; e = cos a; backward e with f32 [[1, 1], [1, 1]]")
    judgement = judge(source, run(source, TORCH), Reference(source), TORCH.capabilities)
    assert judgement.violation is None and judgement.judged == 3 and judgement.unspecified


def test_a_program_that_somebody_writes_is_compared() -> None:
    def verdict(source: str) -> tuple[str, str | None]:
        replayed = run_after(program(source), (), InProcess(TORCH), lambda program, violation: False)
        return replayed.verdict, replayed.reason

    twice = "{0}: c = mm a b; {0}: no_grad: write b mul_scalar_ scalar=-0.5; {0}: d = mm a b"
    assert verdict("autocast: c = mm a b; d = astype_float32 c; backward d with f32 [[1, 2], [3, 4]]")[0] == "fixed"
    assert verdict(twice.format("autocast")) == ("still failing", "autocast/written")
    assert verdict(twice.format("autocast_uncached"))[0] == "fixed"
    assert verdict("autocast: c = einsum a b equation='ij,jk->ik'")[0] == "cannot run"


def test_the_innermost_mode_of_each_kind_applies() -> None:
    assert not is_recorded(("no_grad", "autocast")) and is_recorded(("autocast",))
    assert needs(program("autocast: c = sin a")) == needs(program("c = sin a")) | {Capability.AUTOCAST}
    both = needs(program("autocast: no_grad: c = sin a"))
    assert both >= {Capability.AUTOCAST, Capability.MODES}


def test_lines_of_a_block_share_its_context_manager() -> None:
    source = program("autocast: c = mm a b; autocast: autocast_off: d = mm a b; autocast: e = mm a b; f = sin a")
    blocks = cast_blocks(source, TORCH.dialect)
    assert [len(each) for each in blocks] == [0, 0, 2, 2, 1, 1, 0]
    assert blocks[2] == ('cast = torch.autocast("cpu", torch.bfloat16)', "cast.__enter__()")
    assert blocks[3] == ('cast2 = torch.autocast("cpu", enabled=False)', "cast2.__enter__()")
    open_at_the_end = cast_blocks(program("autocast: c = mm a b"), TORCH.dialect)
    assert open_at_the_end[-1] == ("cast.__exit__(None, None, None)",)


@pytest.mark.parametrize("mode", CAST_MODES)
def test_printed_code_does_the_same(mode: str) -> None:
    source = program(f"{mode}: c = mm a b; {mode}: no_grad: write b mul_scalar_ scalar=-0.5; {mode}: d = mm a b")
    for one, other in zip(run(source, TORCH), run_printed(source, TORCH), strict=True):
        assert isinstance(one.outcome, Returned) and isinstance(other.outcome, Returned)
        for left, right in zip(one.outcome.values, other.outcome.values, strict=True):
            assert left is not None and right is not None and left.dtype == right.dtype
            assert left.value.tolist() == right.value.tolist()
    assert not torch.is_autocast_enabled("cpu")


def test_a_failure_is_reduced_and_named_by_the_rule_of_the_smaller_program() -> None:
    source = program("c = sin a; autocast: no_grad: d = matmul a b; autocast: e = matmul c b; f = astype_float32 e")
    framework = ProductInFullPrecision()
    pair, target = with_casts(source, framework.autocast), InProcess(framework)
    one, two = target.observe(pair.first), target.observe(pair.second)
    violation = related_as(pair, one, two, target).violation
    assert violation is not None and violation.rule == "autocast/unrecorded"
    case = reduced(Case(pair.first, one, violation, target, pair))
    assert case.violation.rule == case.pair.rule == "autocast/gradient"
    assert list(lines(case.program))[2:] == ["c = sin a", "autocast: d = matmul c b"]


def test_a_call_that_fails_midway_is_not_compared() -> None:
    source = program(
        "c = leaf f32 [0.5, 0.25, 0.75]; d = leaf f32 [0.5]; "
        "e = multi_margin_loss c target=0 p=1 reduction='mean'; f = grad e wrt c create=True; "
        "autocast: g = prelu f d; backward g with bf16 [1, 2, 3]"
    )
    pair = with_casts(source, TORCH.autocast)
    one, two = run(pair.first, TORCH), run(pair.second, TORCH)
    assert isinstance(one[-1].outcome, Raised) and isinstance(two[-1].outcome, Raised)
    assert relate(pair, one, two).violation is None


@pytest.mark.parametrize("mode", ["torch-checkpoint", "torch-checkpoint-reentrant", "torch-compile-eager"])
def test_a_function_of_lines_of_a_block_computes_as_the_block(mode: str) -> None:
    target = InProcess(load(mode))
    source = program(
        "autocast: c = matmul a b; autocast: d = sin c; autocast: e = matmul d a; f = astype_float32 e; "
        "backward f with f32 [[1, 2], [3, 4]]"
    )
    pair = with_casts(source, target.autocast)
    one, two = target.observe(pair.first), target.observe(pair.second)
    assert {2, 3, 4} <= {*region_steps(one)}
    found = related_as(pair, one, two, target)
    assert found.violation is None and found.decided
