"""A program with loops has the same effects as its lines, and is written as a person would write it."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.checking.session import Session, Settings
from autograd_conformance.failures.record import crash_failure, failure
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.printing.loops import loop
from autograd_conformance.processes.journal import Entry
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.reporting.render.text import render
from evaluation.mutants.mutant import Mutant
from evaluation.mutants.process_state import WrongAfterFiveActions
from evaluation.mutants.stateful import ForgetsMomentum
from tests.printing.looping import DIALECT, W, alike, repeated

BATCH = "x@ = leaf [[@, 1]] const; t@ = leaf [[2]] const"
LINEAR = f"{BATCH}; y@ = linear_bias x@ w b; l@ = mse_loss y@ t@ reduction='mean'"
SGD = f"{LINEAR}; zero w, b; backward l@; step w, b sgd lr=0.1"
STATE = "w = leaf [[1, 2], [3, 4]]; u = leaf [[1, 0], [0, 1]]; h-1 = leaf [[0, 0]] const; optimizer w, u adam lr=0.1"
INPUT = "x@ = leaf [[@, 1]] const; t@ = leaf [[1, @]] const; p@ = linear x@ w"
CELL = "r@ = add p@ q@; h@ = tanh r@; l@ = mse_loss h@ t@ reduction='mean'"
CLEARED = "zero w; backward s@; step w sgd lr=0.5 momentum=0.5"
LEARN = "zero w, u; backward l@; clip_grad w, u norm 1.0; step w, u adam lr=0.1"

PROGRAMS = {
    "one loss": repeated(SGD, 3, W),
    "momentum": repeated(SGD.replace("lr=0.1", "lr=0.1 momentum=0.9"), 3, W),
    "an optimizer of its own": repeated(SGD.replace("sgd", "adam"), 3, f"{W}; optimizer w, b adam lr=0.1"),
    "parameter groups": repeated(SGD.replace("lr=0.1", "lr=0.1 groups=((1,()),(1,(('lr',0.2),)))"), 3, W),
    "to zeros": repeated(SGD.replace("zero w, b", "zero w, b to zeros"), 3, W),
    "cleared without its optimizer": repeated(SGD.replace("zero w, b", "zero w; zero b, w to zeros; zero b, w"), 3, W),
    "two losses, one retained": repeated(
        f"{BATCH}; y@ = linear_bias x@ w b; k@ = mse_loss y@ t@ reduction='mean'; m@ = l1_loss y@ t@ reduction='mean';"
        "zero w, b; backward k@ retain=True; backward m@; step w, b sgd lr=0.1",
        3,
        W,
    ),
    "two losses, none retained": repeated(
        f"{BATCH}; y@ = linear_bias x@ w b; k@ = mse_loss y@ t@ reduction='mean'; m@ = l1_loss y@ t@ reduction='mean';"
        "zero w, b; backward k@; backward m@; step w, b sgd lr=0.1",
        2,
        W,
    ),
    "a step between two losses": repeated(
        f"{BATCH}; y@ = linear_bias x@ w b; z@ = square y@; k@ = mse_loss z@ t@ reduction='mean'; s@ = linear z@ w2;"
        "m@ = mean s@ dim=None keepdim=False; backward k@ retain=True; step w, b sgd lr=0.1; backward m@",
        2,
        f"{W}; w2 = leaf [[3]]",
    ),
    "micro-batches": repeated(
        "zero w; "
        + "; ".join(
            f"x@{j} = leaf [[@, {j}]] const; y@{j} = linear x@{j} w; m@{j} = mean y@{j} dim=None keepdim=False;"
            f"l@{j} = multiply_scalar m@{j} scalar=0.5; backward l@{j}"
            for j in range(3)
        )
        + "; step w sgd lr=0.1",
        3,
        "w = leaf [[1, 2]]; optimizer w sgd lr=0.1",
    ),
    "a hidden state that is not detached": repeated(f"{INPUT}; q@ = linear h^ u; {CELL}; {LEARN}", 3, STATE),
    "a hidden state that is not detached, up to the error": repeated(
        f"{INPUT}; q@ = linear h^ u; {CELL}; {LEARN}",
        1,
        STATE,
        f"{INPUT}; q@ = linear h^ u; {CELL}; zero w, u; backward l@".replace("@", "1").replace("^", "0"),
    ),
    "a detached hidden state": repeated(f"{INPUT}; d@ = detach h^; q@ = linear d@ u; {CELL}; {LEARN}", 3, STATE),
    "a hidden state detached in place": repeated(f"{INPUT}; q@ = linear h^ u; {CELL}; {LEARN}; detach_ h@", 3, STATE),
    "the old hidden state, read late": repeated(
        f"{INPUT}; q@ = linear h^ u; {CELL}; e@ = mse_loss h^ h@ reduction='mean'; {LEARN}; backward e@",
        2,
        STATE,
    ),
    "a total of losses": repeated(
        "x@ = leaf [[@, 1]] const; y@ = linear x@ w; s@ = square y@; l@ = mean s@ dim=None keepdim=False;"
        "a@ = add a^ l@",
        3,
        "w = leaf [[1, 2]]; a-1 = leaf 0 const",
        "backward a2; step w sgd lr=0.1",
    ),
    "losses in a list": repeated(
        "x@ = leaf [[@, 1]] const; y@ = linear x@ w; s@ = square y@; l@ = mean s@ dim=None keepdim=False",
        3,
        "w = leaf [[1, 2]]",
        "z = stack_three l0 l1 l2 dim=0; a = sum z dim=(0,) keepdim=False; c = multiply a l1; backward c",
    ),
    "two networks": repeated(
        f"{BATCH}; y@ = linear_bias x@ w b; l@ = mse_loss y@ t@ reduction='mean'; z@ = linear x@ v;"
        "k@ = mse_loss z@ t@ reduction='mean'; zero w, b; zero v; backward l@; step w, b sgd lr=0.1; backward k@;"
        "step v adam lr=0.1",
        2,
        f"{W}; v = leaf [[1, 1]]",
    ),
    "two loops, one after the other": repeated(
        SGD,
        2,
        W,
        repeated(
            "m@ = leaf [[@, 1]] const; n@ = leaf [[2]] const; o@ = linear m@ w; q@ = mse_loss o@ n@ reduction='mean';"
            "zero w; backward q@; step w adam lr=0.1",
            3,
        ),
    ),
    "a generator and a discriminator": repeated(
        "r@ = leaf [[@, 1]] const; z@ = leaf [[0.5]] const; f@ = linear z@ g; e@ = detach f@; i@ = linear r@ d;"
        "j@ = linear e@ d; c@ = subtract j@ i@; m@ = mean c@ dim=None keepdim=False; zero d; backward m@;"
        "step d sgd lr=0.1; o@ = linear f@ d; n@ = negative o@; k@ = mean n@ dim=None keepdim=False; zero g;"
        "backward k@; step g sgd lr=0.1",
        2,
        "g = leaf [[1], [2]]; d = leaf [[1, 2]]",
    ),
    "grad modes": repeated(
        f"{LINEAR}; backward l@; no_grad: g@ = held w; no_grad: s@ = multiply_scalar g@ scalar=0.1;"
        "no_grad: write w sub_ s@ alpha=1.0; zero w, b; no_grad: v@ = linear_bias x@ w b",
        3,
        W,
    ),
    "iterations and a part of one": repeated(SGD, 3, W, LINEAR.replace("@", "3") + "; backward l3"),
    "one iteration and a part of one": repeated(SGD, 1, W, f"{LINEAR}; zero w, b; backward l@".replace("@", "1")),
    "steps on the inside": repeated(
        "f@0 = clone w; "
        + "; ".join(
            f"s@{j} = square f@{j}; l@{j} = sum s@{j} dim=(0,) keepdim=False; g@{j} = grad l@{j} wrt f@{j} create=True;"
            f"u@{j} = multiply_scalar g@{j} scalar=0.1; f@{j + 1} = subtract f@{j} u@{j}"
            for j in range(2)
        )
        + "; o@ = square f@2; p@ = sum o@ dim=(0,) keepdim=False; zero w; backward p@; step w adam lr=0.1",
        2,
        "w = leaf [1, 2]",
    ),
    "hooks": repeated(f"{LINEAR}; k@ = hook y@ scale 2.0; backward l@; unhook k@; step w, b sgd lr=0.1", 2, W),
    "two batches in a turn": repeated(
        f"{LINEAR}; backward l@; step w, b sgd lr=0.1; drop x@, y@, t@, l@; m@ = leaf [[@, 2]] const;"
        "n@ = linear_bias m@ w b; o@ = mean n@ dim=None keepdim=False; backward o@; drop m@, n@, o@",
        2,
        W,
        f"{LINEAR}; backward l@; step w, b sgd lr=0.1; m@ = mean x@ dim=None keepdim=False".replace("@", "2"),
    ),
    "names let go": repeated(f"{LINEAR}; backward l@; step w, b sgd lr=0.1; drop x@, t@, l@", 3, W),
    "leaves of each turn": repeated(
        "x@ = leaf [@, 1]; y@ = square x@; l@ = sum y@ dim=(0,) keepdim=False; backward l@; step x@ sgd lr=0.1;"
        "step x@ sgd lr=0.1",
        3,
    ),
    "a leaf that becomes none": repeated(
        "s@ = sum w dim=(0,) keepdim=False; backward s@; step w sgd lr=0.1;requires w False; requires w True",
        3,
        "w = leaf [1, 2]",
    ),
    "empty and infinite data": repeated(
        "x@ = leaf (0, 2) [] const; y@ = leaf [[inf, -inf]] const; z@ = multiply y@ w; s@ = sum z@ dim=(0, 1) "
        "keepdim=False; q@ = linear x@ w; backward s@; r@ = sum q@ dim=(0, 1) keepdim=False; backward r@",
        2,
        "w = leaf [[1, 2]]",
    ),
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_loops_do_what_the_lines_do(text: str) -> None:
    program = parse(text)
    written = alike(program)
    assert len(written.splitlines()) < len(program)


@pytest.mark.parametrize(
    "text",
    [
        "a = leaf [1, 2]; b = square a; s = sum b dim=(0,) keepdim=False; backward s; backward s",
        "a = leaf 1; b = leaf 2; c = leaf 3; d = add a b; e = multiply d c; backward e",
        "a = leaf 3; b = exp a; backward b; zero a; c = sin a; backward c",
    ],
)
def test_no_loop_where_nothing_repeats(text: str) -> None:
    assert loop(parse(text), DIALECT) is None
    assert loop(parse(text), None) is None


def test_a_part_of_an_iteration_is_printed_as_one() -> None:
    text = repeated(SGD, 3, W, f"{LINEAR}; zero w, b; backward l@".replace("@", "3"))
    *_, last = lines = alike(parse(text)).splitlines()
    assert lines[-7] == "# iteration 4"
    assert last == "loss.backward()"
    assert loop(parse(text), DIALECT, at=28).endswith("loss.backward()  # <-- here, in iteration 4")  # type: ignore[union-attr]


def test_an_optimizer_clears_only_what_it_clears_alike() -> None:
    create = repeated(
        SGD.replace("zero w, b", "zero w, b to zeros").replace("backward l@", "backward l@ create=True"), 3, W
    )
    assert "p.grad.zero_()" in alike(parse(create))
    made = alike(parse(create.replace("0.5]", "0.5]; optimizer w, b sgd lr=0.1", 1)))
    assert "optimizer.zero_grad(set_to_none=False)" in made
    assert "zero_grad" not in alike(parse(PROGRAMS["cleared without its optimizer"]))


def test_an_inner_iteration_is_marked() -> None:
    written = loop(parse(PROGRAMS["micro-batches"]), DIALECT, at=34)
    assert written is not None
    assert "        loss.backward()  # <-- here, in iteration 2, in inner iteration 3" in written.splitlines()


def test_an_op_may_be_called_what_means_something() -> None:
    body = "s@ = sum w dim=(0,) keepdim=False; a@ = abs s@; r@ = round a@; t@ = torch a@; f@ = F a@; backward s@"
    ops = {"torch": "{0} * 2", "F": "{0} * 3"}
    assert DIALECT is not None
    dialect = replace(DIALECT, ops={**DIALECT.ops, **ops})
    written = loop(parse(repeated(body, 3, "w = leaf [1, 2]")), dialect)
    assert written is not None
    made = {node.id for node in ast.walk(ast.parse(written)) if isinstance(node, ast.Name)}
    stored = {n.id for n in ast.walk(ast.parse(written)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    assert "torch" in made
    assert not stored & {"torch", "F", "abs", "round", "sum"}


class ThirdRound(Mutant):
    """A framework whose third step after a clearing and a backward call is done twice."""

    def reset(self) -> None:
        super().reset()
        self.did: list[str] = []

    def clear(self, *given: Any, **named: Any) -> None:
        super().clear(*given, **named)
        self.did.append("clear")

    def backward(self, *given: Any, **named: Any) -> None:
        super().backward(*given, **named)
        self.did.append("backward")

    def step(self, *given: Any, **named: Any) -> None:
        self.did.append("step")
        rounds = [self.did[n : n + 3] for n in range(len(self.did) - 2)]
        for _ in range(1 + (rounds.count(["clear", "backward", "step"]) == 3)):
            super().step(*given, **named)


def failing(member: Mutant, text: str) -> RuleViolated:
    with pytest.raises(RuleViolated) as caught:
        Check(InProcess(member))(parse(text))
    return caught.value


def test_a_failure_is_printed_in_the_fewest_lines(tmp_path: Path) -> None:
    text = repeated(f"s@ = sum w dim=(0,) keepdim=False; {CLEARED}", 3, "w = leaf [1, 2]")
    broken = failing(ForgetsMomentum(), text)
    record = failure(broken, "test", Session.of(Settings("evaluation.mutants.stateful:ForgetsMomentum", tmp_path)))
    assert not record.loop
    assert record.at == 4


def test_a_failure_is_printed_as_a_loop(tmp_path: Path) -> None:
    text = repeated(f"s@ = sum w dim=(0,) keepdim=False; {CLEARED}", 3, "w = leaf [1, 2]; optimizer w sgd lr=0.5")
    broken = failing(ThirdRound(), text.replace(" momentum=0.5", ""))
    record = failure(broken, "test", Session.of(Settings("tests.printing.test_loops:ThirdRound", tmp_path)))
    page = render(record)
    assert record.loop.splitlines()[-1] == "    optimizer.step()  # <-- here, in iteration 3"
    assert (
        page.index("as a loop:\n\nimport torch\n\nw = torch.tensor")
        < page.index("Line by line:\n\nimport torch\n\na = torch.tensor")
        < page.index("  # 14 <--\n")
    )
    assert "requires_grad=True)  # a\n" in record.loop
    assert "for _ in" not in record.script


def test_a_loop_says_which_of_many_calls_fails(tmp_path: Path) -> None:
    broken = failing(WrongAfterFiveActions(), repeated("backward w with [1, 2]", 6, "w = leaf [1, 2]"))
    name = "evaluation.mutants.process_state:WrongAfterFiveActions"
    record = failure(broken, "test", Session.of(Settings(name, tmp_path)))
    assert record.loop.splitlines()[-1].endswith("  # <-- here, in iteration 6")
    assert [each.kind for each in record.groups] == ["iteration"] * 6


def test_a_crash_in_a_training_loop_is_printed_as_a_loop(tmp_path: Path) -> None:
    program = parse(repeated(SGD, 5, W))  # not reduced, as its process is gone
    session = Session.of(Settings("torch", tmp_path))
    record = crash_failure(Entry("test", "training/loop", None, program, False), session, "the process died")
    assert len(record.loop.splitlines()) < len(record.code.splitlines()) / 2
    assert [each.kind for each in record.groups] == ["iteration"] * 5
    assert "The program that was running, as a loop:" in render(record)
