"""Mutants of engines: the mutations of a text, a mutant that is found and one that is not, and the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograd_conformance.checking.audit import programs as audit
from autograd_conformance.checking.audit.outcome import NOTHING_FOUND
from autograd_conformance.strategies.building import alphabet
from evaluation.engines import page
from evaluation.engines.child import Ended, forked
from evaluation.engines.engine import MYGRAD
from evaluation.engines.hunt import hunt
from evaluation.engines.mutation import Mutation, changes_code, difference, mutations, sample
from evaluation.engines.programs import Programs, under_test
from evaluation.fresh.recorded import Test as RecordedTest

pytest.importorskip("cosmic_ray")
pytest.importorskip("mygrad")

TEXT = """\
def double(x: int | None = None) -> int:
    if x > 1:
        return x * 2
    return 0
"""

EXP = "math/exp_log/ops.py"


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    """The audit's programs of one op."""
    framework = under_test("mygrad")
    with alphabet.using(framework.alphabet):
        cases = tuple(audit.programs("exp", ("float64",)))
        yield Programs("mygrad", (RecordedTest("audit[exp]", "gradients/op", cases),), NOTHING_FOUND)


def of(file: str, operator: str, line: str) -> Mutation:
    """The first mutation of a line of MyGrad with an operator."""
    text = (MYGRAD.folder / file).read_text(encoding="utf-8")
    found = (each for each in mutations(file, text) if each.operator == operator)
    return next(each for each in found if text.splitlines()[each.line - 1].strip() == line)


def test_each_mutation_of_a_text_is_another_text() -> None:
    texts = {each: each.applied(TEXT) for each in mutations("m.py", TEXT)}
    assert len({*texts.values()}) == len(texts)
    shown = {difference(TEXT, text) for text in texts.values()}
    assert {"-    if x > 1:\n+    if not x > 1:", "-        return x * 2\n+        return x / 2"} <= shown


def test_a_changed_annotation_or_broken_text_is_no_mutant() -> None:
    assert not changes_code(TEXT, TEXT.replace("int | None", "int & None"))
    assert not changes_code(TEXT, TEXT.replace("x * 2", "x * * 2"))
    assert changes_code(TEXT, TEXT.replace("x * 2", "x + 2"))


def test_a_sample_has_each_place_once() -> None:
    chosen = list(sample({"m.py": TEXT}, 100, 0))
    assert len({each.place for each in chosen}) == len(chosen) > 3
    assert list(sample({"m.py": TEXT}, 2, 0)) == chosen[:2]


def test_a_wrong_derivative_is_found(programs: Programs) -> None:
    wrong = of(EXP, "ReplaceBinaryOperator_Mul_Add", "return grad * np.exp(self.variables[index].data)")
    found = hunt(MYGRAD, wrong, programs, 60)
    assert (found.outcome, found.test, found.op, found.rule) == ("killed", "audit[exp]", "exp", "gradients/op")


def test_a_fault_that_no_program_shows_survives(programs: Programs) -> None:
    wrong = of(EXP, "ReplaceBinaryOperator_Div_Mul", "return grad / self.variables[index].data")
    found = hunt(MYGRAD, wrong, programs, 60)
    assert (found.outcome, found.programs) == ("survived", programs.count)


def test_a_mutant_that_cannot_be_imported_counts_apart(programs: Programs) -> None:
    without_version = of("__init__.py", "AddNot", "if not TYPE_CHECKING:  # pragma: no cover")
    assert hunt(MYGRAD, without_version, programs, 60).outcome == "killed: import"


def test_a_process_without_an_end_is_a_hang() -> None:
    def loop() -> None:
        while True:
            pass

    with pytest.raises(Ended, match="hang"):
        forked(loop, 1)


def test_the_page_is_up_to_date() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), "run `python -m evaluation.engines.page`"
