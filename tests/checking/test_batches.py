"""Batches of ops, for frameworks in which compiling is expensive: one region for many ops, and separate runs only after
a violation.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograd_conformance.checking.audit import batches as together
from autograd_conformance.checking.audit import cancellation
from autograd_conformance.checking.audit.batches import check_all, passing_in_batch
from autograd_conformance.checking.audit.gating import NOTHING_WAITS
from autograd_conformance.checking.audit.joining import can_join, joined
from autograd_conformance.checking.audit.programs import fault_of, outcomes, programs, sample
from autograd_conformance.checking.audit.workers import audit
from autograd_conformance.checking.budget import Spent
from autograd_conformance.checking.category import category_of
from autograd_conformance.checking.check import Check, RuleViolated, violation_of
from autograd_conformance.checking.session import Settings
from autograd_conformance.checking.signature import signature_of
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.reduce import reduced
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.pytorch.modes.functional import TorchFunc
from autograd_conformance.frameworks.pytorch.modes.regions import TorchRegions
from autograd_conformance.frameworks.remote.worker import handshake
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import Known
from autograd_conformance.known_differences.conditions.subjects import Op
from autograd_conformance.known_differences.limits import Limits
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.plugin.demands import CORPUS, _demand
from autograd_conformance.plugin.stash import SESSION, WAITING
from autograd_conformance.plugin.tests import pytest_collection_modifyitems
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Attrs, Grad, Leaf, Program, Ref
from autograd_conformance.programs.observations import Kind
from autograd_conformance.programs.operands import operands
from autograd_conformance.reporting.records.failure import UNBATCHED
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drawn import Drawn
from examples import tiny
from examples.tiny_adapter import Tiny


class Costly(TorchRegions):
    """PyTorch with regions that count as expensive, and are counted."""

    programs_each = 16

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.sources: list[str] = []

    def unit(self, source: str, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        self.sources.append(source)
        return super().unit(source, inputs)


class WrongTanh(Costly):
    """A region with a tanh returns a wrong one."""

    def unit(self, source: str, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        return super().unit(source.replace("tanh(", "sin("), inputs)


class RefusedTanh(Costly):
    """A region with a tanh raises an error."""

    error: Exception = RuntimeError("no")

    def unit(self, source: str, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        made = super().unit(source, inputs)
        if "tanh(" in source:
            raise self.error
        return made


class SlowExp(Costly):
    """Every region takes time, and a region with an exp raises an error."""

    ops = ("multiply", "sin", "exp", "tanh")

    def unit(self, source: str, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        time.sleep(2)
        if "exp(" in source:
            raise RuntimeError("no")
        return super().unit(source, inputs)


class LackingTanh(RefusedTanh):
    """There is no kernel for tanh."""

    error = NotImplementedError("Could not run 'aten::tanh' with arguments from the 'Other' backend.")

    def classify(self, error: BaseException) -> Kind:
        return Kind.NO_KERNEL if error is self.error else super().classify(error)


def test_programs_are_joined():
    one = parse("a = leaf [1, 2]; b = sin a; backward b with [1, 3]", VOCABULARY)
    other = parse("a = leaf 2; b = leaf 3; c = multiply a b; backward c", VOCABULARY)
    whole = joined([one, other]).program
    assert [type(step).__name__ for step in whole] == ["Leaf", "Apply", "Leaf", "Leaf", "Apply", "Backward"]
    assert operands(whole[4]) == (Ref(2), Ref(3)) and operands(whole[5]) == (Ref(1), Ref(4))
    assert violation_of(whole, InProcess(TorchRegions())) is None


@pytest.mark.parametrize(
    "text",
    [
        "a = leaf [1, 2]; b = sin a; backward b with [1, 1] retain=True",
        "a = leaf [1, 2]; b = sin a; backward b with [1, 1]; backward b with [1, 1]",
        "a = leaf [1, 2]; no_grad: b = sin a",
        "a = leaf [1, 2]; b = sin a; c = grad b wrt a with [1, 1] create=True materialize=True",
        "a = leaf [1, 2]; b = sin a; c = grad b wrt a with [1, 1]",
    ],
)
def test_what_says_more_is_not(text):
    assert not can_join(parse(text, VOCABULARY))


def test_functional_programs_are_joined():
    one = parse("a = leaf [1, 2]; b = sin a; c = grad b wrt a with [1, 3] materialize=True", VOCABULARY)
    text = "a = leaf 2; b = leaf 3; c = multiply a b; d, e = grad c wrt a, b materialize=True"
    whole = joined([one, parse(text, VOCABULARY)])
    assert [type(step).__name__ for step in whole.program] == ["Leaf", "Apply", "Leaf", "Leaf", "Apply", "Grad"]
    call = whole.program[5]
    assert isinstance(call, Grad)
    assert call.roots == (Ref(1), Ref(4)) and call.inputs == (Ref(0), Ref(2), Ref(3)) and call.materialize_grads
    assert whole.parts == ((0,), (0,), (1,), (1,), (1,), (0, 1, 1))
    assert violation_of(whole.program, InProcess(TorchFunc())) is None


class WrongDerivative(TorchFunc):
    """The gradient of a call's second input is twice what it has to be."""

    def vjp(self, *given: Any) -> Sequence[torch.Tensor]:
        first, *rest = super().vjp(*given)
        return [first, *(2 * each for each in rest[:1]), *rest[1:]]


def test_an_op_with_a_wrong_derivative_is_found_among_functional_programs():
    ran: list[Program] = []
    wrong = InProcess(WrongDerivative(), ran.append)
    with alphabet.using(alphabet_of(wrong, ("float64",))):
        assert list(passing_in_batch(("exp", "sin", "tanh"), wrong, ("float64",))) == ["exp"]
    assert len(ran) == 3, "each wrong gradient names the program that it is of"


def test_a_unit_serves_many_programs():
    costly = Costly()
    check_all(Check(InProcess(costly)), programs("sin", ("float64",)))
    assert len(costly.sources) == 1


def test_each_is_run_alone_where_together_they_break_a_rule():
    wrong = WrongTanh()
    with pytest.raises(RuleViolated) as found:
        check_all(Check(InProcess(wrong)), programs("tanh", ("float64",)))
    assert len(found.value.program) == 3


class WrongTogether(Costly):
    """A region with more than one sin is wrong."""

    def unit(self, source: str, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        return super().unit(source.replace("sin(", "cos(") if source.count("sin(") > 1 else source, inputs)


OF_TANH = tuple(
    Known(rule, "none", parse("a = leaf [1]; b = tanh a", VOCABULARY), (Op("tanh"),), Limits(any_value=True))
    for rule in ("gradients/forward", "gradients/op")
)


@pytest.mark.parametrize("other", ["sin", "exp"])
def test_what_is_known_of_one_is_no_fault_of_all(other: str):
    both = [*programs("tanh", ("float64",)), *programs(other, ("float64",))]
    check = Check(InProcess(WrongTanh()), known=OF_TANH)
    check_all(check, both)
    assert check.differences.total() > 0
    with pytest.raises(RuleViolated) as found:
        check_all(Check(InProcess(WrongTanh())), both)
    assert found.value.violation.op == "tanh"


class Cut(Check):
    """A check whose part of the run's time is over after two programs."""

    left = 2

    def __call__(self, case: Program | Drawn | Related) -> None:
        if not self.left:
            raise Spent("the test's share of the budget ended")
        self.left -= 1
        super().__call__(case)


def test_a_run_that_ends_before_each_was_run_alone_has_found_nothing():
    """Each of the programs may show a known difference."""
    check = Cut(InProcess(WrongTogether()))
    with pytest.raises(Spent):
        check_all(check, programs("sin", ("float64",)))
    assert check.shortest is None


def test_what_is_wrong_only_together_is_found():
    with pytest.raises(RuleViolated) as found:
        check_all(Check(InProcess(WrongTogether()), known=OF_TANH), programs("sin", ("float64",)))
    assert len(found.value.program) > 3


@pytest.mark.parametrize(("make", "programs"), [(WrongTanh, 2), (RefusedTanh, 5), (LackingTanh, 5)])
def test_an_op_that_is_wrong_is_found_among_others(make: type[Costly], programs: int):
    ran: list[Program] = []
    ops = ("multiply", "sin", "tanh", "exp", "sum")
    assert list(passing_in_batch(ops, InProcess(make(), ran.append), ("float64",))) == ["multiply", "sin", "exp", "sum"]
    assert len(ran) == programs, "a wrong value names the program that it is of, an error none"


def test_the_programs_of_an_exponential_are_one_function():
    """The programs of exp share one region. Those of tanh have several, so a joined program takes as long as several
    regions.
    """
    costly = Costly()
    InProcess(costly).observe(joined(programs("exp", ("float64",))).program)
    assert len(costly.sources) == 1


@pytest.mark.slow
def test_each_program_of_ops_together_has_the_time_of_an_op():
    found = audit(f"{__name__}:SlowExp", "cpu", ("float64",), 5.0, False)
    assert {op: note.outcome for op, note in found.notes.items()} == {
        "multiply": "fine", "sin": "fine", "exp": "wrong", "tanh": "fine",
    }  # fmt: skip


def test_an_op_without_programs_is_not_right_for_that(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(together, "sample", lambda op, *asked: None if op == "sin" else sample(op, *asked))
    assert list(passing_in_batch(["sin", "exp"], InProcess(Costly()), ("float64",))) == ["exp"]


@pytest.mark.parametrize(("op", "programs", "wrong"), [("sin", 1, False), ("tanh", 2, True)])
def test_the_fault_of_an_op_is_found_with_few_programs(op: str, programs: int, wrong: bool):
    ran: list[Program] = []
    found = fault_of(op, InProcess(WrongTanh(), ran.append), ("float64",))
    assert len(ran) == programs
    assert (found is not None) is wrong and (found is None or len(found.program["instructions"]) == 3)


class Forgets(Torch):
    """The sigmoid copies its operand, and passes no gradient on."""

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        if op != "sigmoid":
            return super().apply(op, operands, attrs)
        return super().apply(op, [each.detach().requires_grad_(each.requires_grad) for each in operands], attrs)


def test_an_op_that_passes_no_gradient_on_is_at_fault_though_no_rule_names_it():
    target = InProcess(Forgets())
    found = fault_of("sigmoid", target, ("float64",))
    assert found is not None and (found.rule, found.observed) == ("accumulation/first", "the leaf holds no gradient")
    assert fault_of("tanh", target, ("float64",)) is None


def test_an_op_without_a_kernel_is_missing_though_tried_with_others():
    found = [outcome for outcome, _ in outcomes("tanh", InProcess(LackingTanh()), ("float64",), False)]
    assert found == ["missing"]


def test_a_far_end_says_what_its_units_cost():
    assert handshake(Costly())["programs_each"] == 16
    assert handshake(TorchRegions())["programs_each"] == 0


@pytest.mark.parametrize(("programs_each", "order"), [(0, "acbdfe"), (16, "cdfeab")])
def test_tests_run_in_stages_and_those_of_each_op_last_where_units_cost_much(programs_each: int, order: str):
    session = SimpleNamespace(framework=SimpleNamespace(target=SimpleNamespace(programs_each=programs_each)))
    config = SimpleNamespace(stash={SESSION: session})
    tests = {
        "a": (CORPUS.parent / "test_any.py", ("check", "op"), "gradients/op"),
        "b": (CORPUS.parent / "test_any.py", ("check", "write"), "writes/value"),
        "c": (CORPUS.parent / "test_any.py", ("check",), "gradients/graph"),
        "d": (CORPUS, ("check", "op"), "gradients/op"),
        "e": (CORPUS.parent / "test_any.py", ("check",), "articles/claims"),
        "f": (CORPUS.parent / "test_any.py", ("check",), "relations/order"),
    }
    items = [_item(name=k, path=path, fixturenames=f, config=config, rule=r) for k, (path, f, r) in tests.items()]
    pytest_collection_modifyitems(items)
    assert "".join(item.name for item in items) == order


@pytest.mark.parametrize(("programs_each", "of_many", "advice", "of_four"), [(0, 1, 5, 20), (16, 0.1, 0, 5)])
def test_rules_that_are_tested_come_before_what_is_many(
    programs_each: int, of_many: float, advice: float, of_four: float
):
    target = SimpleNamespace(ops=("sin",), programs_each=programs_each)
    session = SimpleNamespace(missing=lambda rule: (), target=target, settings=Settings("torch"))

    @settings(max_examples=50)
    @given(st.none())
    def test(_: None) -> None:
        """Draws 50 times."""

    def first(*fixtures: str, alike: int, rule: str = "gradients/op") -> float:
        config = SimpleNamespace(stash={WAITING: NOTHING_WAITS})
        path = CORPUS.parent / "test_any.py"
        item = _item(path=path, obj=test, fixturenames=fixtures, rule=rule, config=config)
        return _demand(item, session, alike).first  # type: ignore[arg-type]

    assert first("check", "op", alike=200) == of_many
    assert first("check", alike=1) == 20
    assert first("check", alike=4) == of_four
    assert first("check", alike=1, rule="articles/claims") == advice


def _item(rule: str, **fields: Any) -> Any:
    return SimpleNamespace(get_closest_marker=lambda _: SimpleNamespace(args=(rule,)), **fields)


class WrongInOneShape(Tiny):
    """The sine raises an error for numbers, and is wrong for vectors."""

    name = "wrong in one shape"

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        (made,) = super().apply(op, operands, attrs)
        if op == "sin" and not made.data.shape:
            return tiny.add(made, None)
        if op == "sin" and len(made.data.shape) == 1 and made.data.size > 1:
            made.data = made.data + 1
        return (made,)


def test_a_wrong_value_comes_before_an_error_of_another_shape():
    reported: list[RuleViolated] = []
    check = Check(InProcess(WrongInOneShape()), on_violation=reported.append)
    with pytest.raises(RuleViolated) as caught:
        check_all(check, programs("sin", ("float64",)))
    assert category_of(caught.value.violation).severity == "value"
    assert reported == [caught.value] and check.shortest is caught.value
    numbers = [each for each in programs("sin", ("float64",)) if not each[0].value.shape]
    with pytest.raises(RuleViolated) as caught:
        check_all(Check(InProcess(WrongInOneShape())), numbers)
    assert category_of(caught.value.violation).severity == "wrong error"


class TakesNoProbabilities(Torch):
    """A loss refuses targets that are probabilities, in the words of an operand without a batch."""

    name = "takes no probabilities"
    lowest = 1

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        if op == "cross_entropy_soft" and operands[0].ndim <= self.lowest:
            return (torch.nn.functional.nll_loss(operands[0], operands[1].long()[None]),)
        return super().apply(op, operands, attrs)


class TakesThemInBatches(TakesNoProbabilities):
    name = "takes them in batches"


@pytest.mark.parametrize(
    ("adapter", "lowest", "meaning"), [(TakesNoProbabilities, 9, None), (TakesThemInBatches, 1, UNBATCHED)]
)
def test_an_error_in_every_shape_is_not_one_of_operands_without_a_batch(
    adapter: type[TakesNoProbabilities], lowest: int, meaning: str | None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(adapter, "lowest", lowest)
    with pytest.raises(RuleViolated) as caught:
        check_all(Check(InProcess(adapter())), programs("cross_entropy_soft", ("float64",)))
    small = reduced(Case.of(caught.value, time.monotonic() + 20))
    assert signature_of(small.program, small.violation).meaning == meaning
    assert len(small.program) == 3


class OneWrongOp(Torch):
    """`pixel_shuffle` reverses its result, and the variance is a difference of squares."""

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs = ()) -> Sequence[torch.Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "var":
            given, (x,) = dict(attrs), operands
            dims, keepdim, count = given["dim"], given["keepdim"], x.numel() / made[0].numel()
            spread = (x * x).mean(dims, keepdim) - x.mean(dims, keepdim) ** 2
            return [spread * count / (count - given["correction"])]
        return [value.flip(-1) for value in made] if op == "pixel_shuffle" else made


SHUFFLED = Known(
    "gradients/forward",
    "wrong everywhere",
    parse("a = leaf [[[1], [2], [3], [4]]]; b = pixel_shuffle a", VOCABULARY),
    (Op("pixel_shuffle"),),
    Limits(any_value=True),
)


@pytest.mark.parametrize(
    ("op", "entries", "rule"),
    [
        ("var", (), "gradients/cancellation"),
        ("pixel_shuffle", (), "gradients/forward"),
        ("pixel_shuffle", (SHUFFLED,), None),
    ],
)
def test_an_op_that_is_wrong_everywhere_is_not_one_that_loses_digits(op, entries, rule):
    check = Check(InProcess(OneWrongOp()), entries)
    close = cancellation.programs(op, ("float32",))
    if rule is None:
        check_all(check, close, cancellation.plain)
        return
    with pytest.raises(RuleViolated) as caught:
        check_all(check, close, cancellation.plain)
    assert caught.value.violation.rule == rule


def test_plain_numbers_are_around_zero():
    for op in ("var", "matmul", "softmax"):
        for program in cancellation.programs(op, ("float32", "float64")):
            numbers = [x for leaf in cancellation.plain(program) if isinstance(leaf, Leaf) for x in leaf.value.data]
            assert numbers and max(map(abs, numbers)) < 64
