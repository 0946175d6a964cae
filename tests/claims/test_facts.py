"""Facts: the model allows them, PyTorch shows them, and each rule that they name is tested."""

from __future__ import annotations

import builtins
import re
import warnings

import pytest
import torch

from autograd_conformance.claims.facts import FACTS, Fact
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.pytorch.saved import TorchSaved
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Raised
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.explanation.context import tape_before
from autograd_conformance.rules.judge.judge import judge
from evaluation.pages import facts

TORCH, COUNTING = Torch(), TorchSaved()
EACH = [
    pytest.param(fact, shown, id=f"{fact.key}-{n}") for fact in FACTS.values() for n, shown in enumerate(fact.programs)
]


def test_there_are_as_many_facts_as_were_collected_each_in_its_place():
    assert list(FACTS) == [f"R{n}" for n in range(1, 62)]


@pytest.mark.parametrize(("fact", "shown"), EACH)
def test_a_fact_is_what_the_model_allows_and_what_pytorch_does(fact: Fact, shown: facts.FactProgram):
    program = parse(shown.text, VOCABULARY)
    with warnings.catch_warnings(action="ignore"):
        observation = run(program, TORCH)
    judgement = judge(program, observation, Reference(program), TORCH.capabilities)
    assert (judgement.violation, judgement.unspecified) == (None, False)
    _, expectation = tape_before(program, observation, Reference(program), TORCH.capabilities, len(program) - 1)
    allowed = {kind.value for kind in expectation.raises} | ({"returns"} if expectation.returns else set())
    assert allowed == shown.outcomes
    outcome = observation[-1].outcome
    assert (outcome.kind.value if isinstance(outcome, Raised) else "returns") in shown.outcomes


@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS)
def test_each_rule_of_a_fact_is_put_to_the_test_by_a_program_of_it(fact: Fact):
    exercised: set[str] = set()
    for shown in fact.programs:
        program = parse(shown.text, VOCABULARY)
        for framework in (TORCH, COUNTING):
            with warnings.catch_warnings(action="ignore"):
                observation = run(program, framework)
            exercised |= set(judge(program, observation, Reference(program), framework.capabilities).exercised)
    assert set(fact.rules) <= exercised
    assert set(fact.rules) <= set(RULES)


@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS)
def test_a_fact_has_rules_with_programs_or_says_why_not(fact: Fact):
    assert bool(fact.rules) == bool(fact.programs)
    assert fact.rules or fact.not_covered


def test_a_reader_who_runs_the_programs_sees_what_their_comments_say():
    programs = re.findall(r"^```python\n(.*?)\n```$", facts.PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(programs) == len(EACH)
    for program in programs:
        space = {"torch": torch, "F": torch.nn.functional}
        for line in program.split("\n"):
            raises = re.search(r"  # (\w+Error): ", line)
            with warnings.catch_warnings(action="ignore"):
                if raises:
                    with pytest.raises(getattr(builtins, raises[1])):
                        exec(line, space)
                else:
                    exec(line, space)
        assert re.search(r"  # (returns|\w+Error: )", line)


def test_the_page_is_up_to_date():
    assert facts.PAGE.read_text(encoding="utf-8") == facts.page(), "run `python -m evaluation.pages.facts`"
