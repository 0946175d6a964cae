"""Bounds on the number of live saved tensors, on invented observations and on PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.checking.session import Session, Settings
from autograd_conformance.failures.record import failure
from autograd_conformance.frameworks.pytorch.saved import TorchSaved
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.plugin.replay import replay
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Observation
from autograd_conformance.programs.validation import validate
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.rules.judge.judgement import Judgement
from autograd_conformance.strategies.situations.memory import repeat
from evaluation.mutants.memory import KeepsWhatItWalked

COUNTING = TorchSaved()
SUM = "dim=(0,) keepdim=False"
A = f"a = leaf [1, 2]; b = square a; s = sum b {SUM}"
CREATED = f"{A}; backward s create=True; g = held a"


def judged(text: str, counts: Sequence[int | None] | None = None) -> Judgement:
    """The verdict on a program, its saved tensors as PyTorch counts them or as given."""
    program = parse(text, VOCABULARY)
    observed: Observation = run(program, COUNTING)
    if counts is not None:
        observed = tuple(replace(each, saved=count) for each, count in zip(observed, counts, strict=True))
    return judge(program, observed, Reference(program), COUNTING.capabilities)


def exercised(text: str) -> set[str]:
    """The memory rules that a program puts to the test on PyTorch, which keeps them."""
    judgement = judged(text)
    assert judgement.violation is None
    return {rule for rule in judgement.exercised if rule.startswith("memory/")}


RIGHT = {
    f"{A}; backward s": {"memory/freed"},
    f"{A}; backward s retain=True": {"memory/retained"},
    f"{A}; backward b with [1, 2] retain=True; backward s": {"memory/freed", "memory/retained"},
    f"{A}; drop b; drop s": {"memory/dropped"},
    f"{A}; d = detach b; drop s, b": {"memory/dropped"},
    f"{A}; v = reshape b shape=(2, 1); drop b, s": set(),
    f"{CREATED}; zero a; drop b, s, g": {"memory/retained", "memory/cycle"},
    f"{CREATED}; drop b, s; zero a; drop g": {"memory/retained", "memory/cycle"},
    f"{CREATED}; drop b, s; assign a none; drop g": {"memory/retained", "memory/cycle"},
    f"{A}; g = grad s wrt a create=True; drop b, s; drop g": {"memory/retained", "memory/cycle"},
    f"{A}; backward s; drop b, s; c = square a; t = sum c {SUM}; backward t": {"memory/freed", "memory/steady"},
    f"{A}; backward s; backward s": {"memory/freed"},
    f"{A}; h = hook b raise; backward s retain=True; drop b, s": {"memory/after-error"},
    "a = leaf [1, 2]; b = negative a; backward b with [1, 2]": set(),
    "a = leaf [1, 2]; b = square a; no_grad: write a zero_; drop b": {"memory/dropped"},
    "a = leaf [1, 2]; b = sin a; write b mul_ b; backward b with [1, 2]; drop b": {"memory/freed"},
}


@pytest.mark.parametrize("text", RIGHT)
def test_pytorch_keeps_the_needed_tensors_and_no_more(text: str):
    assert exercised(text) >= RIGHT[text]
    assert not RIGHT[text] or exercised(text) <= RIGHT[text] | {"memory/dropped"}


PARTS = "a = leaf [1, 2]; b = leaf [3, 4]; c = sin b; d = sin a; e = add d c; backward d with [1, 2]"

WRONG = {
    (f"{PARTS}; backward e with [1, 2]; drop c, d, e", (0, 0, 1, 2, 2, 1, 1, 1)): "memory/after-error",
    (f"{PARTS}; backward e with [1, 2]; drop c, d, e", (0, 0, 1, 2, 2, 1, 1, 2)): "memory/dropped",
    (f"{A}; backward s", (0, 1, 1, 1)): "memory/freed",
    (f"{A}; c = sin a; backward s", (0, 1, 1, 2, 0)): "memory/freed",
    (f"{A}; backward s retain=True", (0, 1, 1, 0)): "memory/retained",
    (f"{A}; backward s retain=True", (0, 1, 1, 2)): "memory/retained",
    (f"{A}; backward s create=True", (0, 1, 1, 0)): "memory/retained",
    (f"{A}; drop b, s", (0, 1, 1, 1)): "memory/dropped",
    (f"{A}; d = detach b; drop b, s", (0, 1, 1, 1, 1)): "memory/dropped",
    (f"{CREATED}; zero a; drop b, s, g", (0, 1, 1, 3, 3, 3, 2)): "memory/cycle",
    (f"{CREATED}; drop b, s, g; zero a", (0, 1, 1, 3, 3, 3, 1)): "memory/cycle",
    (f"{A}; backward s; c = square a; t = sum c {SUM}; backward t", (0, 1, 1, 0, 1, 1, 1)): "memory/steady",
}


@pytest.mark.parametrize(("text", "counts"), WRONG)
def test_the_rule_about_wrongly_kept_or_freed_tensors_is_named(text: str, counts: tuple[int, ...]):
    violation = judged(text, counts).violation
    assert violation is not None
    assert violation.rule == WRONG[text, counts]
    assert violation.at == len(counts) - 1


OPEN = {
    (f"{A}; drop s", (0, 1, 1, 1)),
    (f"{CREATED}; drop b, s, g", (0, 1, 1, 3, 3, 3)),
    (f"{CREATED}; drop b, s, g", (0, 1, 1, 3, 3, 0)),
    ("a = leaf [1, 2]; b, c = unstack a dim=0; d = sin b; backward d", (0, 2, 3, 2)),
    ("a = leaf [1, 2]; b, c = unstack a dim=0; d = sin b; backward d", (0, 2, 3, 0)),
    ("a = leaf [1, 2]; b = leaf [3, 4]; c = multiply a b; g = grad c wrt a with [1, 2]", (0, 0, 2, 1)),
    (f"{A}; backward s with [1, 2, 3]", (0, 1, 1, 0)),
    (f"{A}; backward s; backward s", (0, 1, 1, 0, 0)),
    (f"{A}; backward s", (None, None, None, None)),
}


@pytest.mark.parametrize(("text", "counts"), sorted(OPEN, key=str))
def test_unspecified_counts_are_not_judged(text: str, counts: tuple[int | None, ...]):
    assert judged(text, counts).violation is None


def test_every_rule_is_put_to_the_test():
    rules = set().union(*RIGHT.values())
    assert rules == {slug for slug in RULES if slug.startswith("memory/")}


# -- a hundred times ---------------------------------------------------------------------------------------------------


def test_a_repetition_is_a_program():
    program = parse(f"{A}; backward s; zero a; drop b, s", VOCABULARY)
    twice = validate(repeat(program, 1, 100), VOCABULARY)
    assert len(twice) == 1 + 100 * 5
    judgement = judge(twice, run(twice, COUNTING), Reference(), COUNTING.capabilities)
    assert judgement.violation is None
    assert judgement.exercised["memory/steady"] == 99


# -- failures ----------------------------------------------------------------------------------------------------------


def broken(program: Program) -> RuleViolated:
    """How a mutant fails on a program."""
    member = KeepsWhatItWalked()
    with pytest.raises(RuleViolated) as caught:
        Check(InProcess(member))(program)
    return caught.value


def test_a_failure_contains_the_number_of_live_tensors(tmp_path):
    session = Session.of(Settings("evaluation.mutants.memory:KeepsWhatItWalked", tmp_path))
    shown = failure(broken(parse(f"{A}; backward s", VOCABULARY)), "test", session)
    assert shown.observed == "1 saved tensor is alive"
    assert [allowed.outcome for allowed in shown.allowed] == ["0 saved tensors are alive"]
    assert [step.line for step in shown.why] == [2, 3, 4]
    assert "len(saved)" in shown.script
    compile(shown.script, "script", "exec")


def test_a_failure_about_memory_is_replayed_on_the_saved_tensor_counter(tmp_path):
    path = tmp_path / "program.json"
    path.write_text(codec.dumps(parse(f"{A}; backward s", VOCABULARY)))
    member = KeepsWhatItWalked()
    replayed = replay(path, InProcess(member))
    assert (replayed.verdict, replayed.reason) == ("still failing", "memory/freed")
    torch = Session.of(Settings("torch", tmp_path))
    assert replay(path, torch.framework.target).verdict == "fixed"


def test_a_rule_about_memory_is_tested_on_the_saved_tensor_counter(tmp_path):
    torch = Session.of(Settings("torch", tmp_path))
    assert not torch.framework.missing("memory/freed")
    assert torch.framework.check("memory/freed").target is torch.framework.saved_tensor_counter
    assert torch.framework.check("lifetime/rebuilt").target is torch.framework.target
    tiny = Session.of(Settings("examples.tiny_adapter:Tiny", tmp_path))
    assert tiny.framework.missing("memory/freed") == ["tells how many saved tensors are alive"]
