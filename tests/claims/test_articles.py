"""The claims are complete and true: their sections and rules exist, and PyTorch confirms each verdict."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode

from autograd_conformance.claims.articles import ARTICLES, CLAIMS
from autograd_conformance.claims.articles.cases import program
from autograd_conformance.claims.articles.claim import Article, Case, Claim, HasGrad, Raises, Returns, Saved, Verdict
from autograd_conformance.claims.articles.decide import RELATIONS, came_true, leaves, verdict
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.pytorch.saved import TorchSaved
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Apply, Backward
from autograd_conformance.programs.observations import Kind, Observation
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.strategies.articles import DOCUMENTED
from tests.strategies.census import situations

TORCH, COUNTING = Torch(), TorchSaved()
ARTICLE = {article.key: article for article in ARTICLES}
CASES = [
    pytest.param(claim, case, kind, id=f"{claim.key}-{kind}-{n}")
    for claim in CLAIMS
    for kind, cases in (("right", claim.right), ("wrong", claim.wrong))
    for n, case in enumerate(cases, 1)
]


@pytest.fixture(params=CLAIMS, ids=lambda claim: claim.key)
def claim(request: pytest.FixtureRequest) -> Claim:
    return request.param


def cases(claim: Claim) -> tuple[Case, ...]:
    return (*claim.right, *claim.wrong)


def observed(case: Case) -> Observation:
    """The observation of PyTorch, which counts saved tensors if the case is about them."""
    about = any(isinstance(prediction, Saved) for prediction in case.predicts)
    return run(parse(case.program), COUNTING if about else TORCH)


# -- the table ---------------------------------------------------------------------------------------------------------


def test_there_are_five_articles_and_enough_claims_of_each() -> None:
    assert len(ARTICLES) == len({article.file for article in ARTICLES}) == 5
    assert len(CLAIMS) >= 40
    assert min(Counter(claim.article for claim in CLAIMS).values()) >= 8
    assert {claim.article for claim in CLAIMS} == set(ARTICLE)


def test_keys_are_unique_and_begin_with_the_article() -> None:
    assert len({claim.key for claim in CLAIMS}) == len(CLAIMS)
    assert [claim.key for claim in CLAIMS if not claim.key.startswith(f"{claim.article}-")] == []


def test_a_claim_is_in_a_section_of_its_article(claim: Claim) -> None:
    assert claim.section in ARTICLE[claim.article].sections


def test_claims_are_in_reading_order() -> None:
    places = [(list(ARTICLE).index(c.article), ARTICLE[c.article].sections.index(c.section)) for c in CLAIMS]
    assert places == sorted(places)


def test_a_claim_feeds_rules_that_exist(claim: Claim) -> None:
    assert set(claim.rules) <= set(RULES)
    assert bool(claim.rules) == (not claim.untestable)


def test_a_claim_has_programs_or_the_reason_why_not(claim: Claim) -> None:
    assert bool(cases(claim)) != bool(claim.untestable)
    assert claim.says.endswith(".")
    assert claim.truth.endswith((".", ":"))


def test_a_condition_is_named_where_there_is_one(claim: Claim) -> None:
    assert bool(claim.condition) == bool(claim.right and claim.wrong)


def test_a_claim_is_generalised_by_a_situation_that_exists(claim: Claim) -> None:
    assert claim.untestable or claim.situation in DOCUMENTED or claim.situation in situations()


def test_names_of_situations_are_clear() -> None:
    assert not set(DOCUMENTED) & set(situations())


def examples() -> Iterator[tuple[str, str]]:
    """The sections with code examples: those with that title, and the three strategies of the last article."""
    for article in ARTICLES:
        for section in article.sections:
            if section.startswith("Example ") or (article.key == "second-time" and section[:2] in ("a.", "b.", "c.")):
                yield article.key, section


def test_every_code_example_has_a_program() -> None:
    shown = {(claim.article, claim.section) for claim in CLAIMS if cases(claim)}
    assert len(set(examples())) == 15
    assert set(examples()) <= shown


@pytest.mark.parametrize("article", ARTICLES, ids=lambda article: article.key)
def test_the_examples_are_those_of_the_sections_that_hold_code(article: Article) -> None:
    assert set(article.examples) == {section for key, section in examples() if key == article.key}
    for text in itertools.chain(*article.examples.values()):
        assert len(parse(program(text))) > 3


def beginnings(article: Article) -> set[str]:
    """The beginnings of the article's examples, up to each line."""
    texts = [program(text).split("\n") for text in itertools.chain(*article.examples.values())]
    return {"\n".join(lines[:at]) for lines in texts for at in range(1, len(lines) + 1)}


def test_a_program_is_called_written_where_the_article_has_it(claim: Claim) -> None:
    known = beginnings(ARTICLE[claim.article])
    for case in cases(claim):
        but_last = case.program.rpartition("\n")[0]
        asks = case.program.split("\n")[-1].startswith("backward ")
        assert case.quoted or case.program not in known
        assert not case.quoted or case.program in known or (asks and but_last in known)


def test_a_program_of_an_article_bears_on_a_claim_of_every_section_that_has_one() -> None:
    for article in ARTICLES:
        for section, texts in article.examples.items():
            own = {case.program for claim in CLAIMS if claim.section == section for case in cases(claim)}
            lines = program(texts[0]).split("\n")
            assert any("\n".join(lines[:at]) in own for at in range(2, len(lines) + 1)), section


def test_a_corrected_program_is_listed_with_the_article_s_own_or_there_is_none() -> None:
    """Few claims cannot be made true by a change of the example. This test names them."""
    refuted = [claim for claim in CLAIMS if claim.verdict is Verdict.AS_WRITTEN and not claim.right]
    assert [claim.key for claim in refuted] == [
        "two-networks-message-names-graph",
        "grus-example-1-making-loss",
        "grus-example-3-releases",
        "second-time-c-missing-zero-triggers",
        "second-time-c-once-per-forward",
    ]


OWN, OTHER = Case("a", (), quoted=True), Case("b", ())


@pytest.mark.parametrize(
    ("right", "wrong", "word"),
    [
        ((OWN,), (), Verdict.HOLDS),
        ((OWN,), (OTHER,), Verdict.CONDITION),
        ((OTHER,), (OWN,), Verdict.AS_WRITTEN),
        ((OWN,), (OWN, OTHER), Verdict.AS_WRITTEN),
        ((), (OTHER, OWN), Verdict.AS_WRITTEN),
        ((), (OTHER,), Verdict.FALSE),
        ((), (), Verdict.NOT_TESTABLE),
    ],
)
def test_an_example_that_fails_as_it_is_written_decides(
    right: tuple[Case, ...], wrong: tuple[Case, ...], word: Verdict
) -> None:
    assert Claim("k", "a", "s", "says", "truth", right=right, wrong=wrong).verdict is word


# -- the programs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("claim", "case", "kind"), CASES)
def test_pytorch_bears_the_verdict_out(claim: Claim, case: Case, kind: str) -> None:
    assert came_true(case, observed(case)) is (kind == "right")


@pytest.mark.parametrize(("claim", "case", "kind"), CASES)
def test_pytorch_keeps_to_the_rules(claim: Claim, case: Case, kind: str) -> None:
    program = parse(case.program, VOCABULARY)
    assert judge(program, run(program, TORCH), Reference(program), TORCH.capabilities).violation is None


def test_predictions_are_about_lines_and_leaves_that_exist() -> None:
    for case in (case for claim in CLAIMS for case in (*claim.right, *claim.wrong)):
        program = parse(case.program)
        assert len(program) == len(case.program.splitlines()), case
        assert case.predicts, case
        for prediction in case.predicts:
            assert 1 <= prediction.line <= len(program), case
            match prediction:
                case HasGrad(line, leaf, _):
                    assert leaf in leaves(case.program), case
                    assert not isinstance(program[line - 1], Apply), case
                case Saved(_, relation, than):
                    assert relation in RELATIONS, case
                    assert (than is None) == (relation == "none"), case


def test_the_smallest_program_of_a_false_claim_is_small() -> None:
    false = [claim for claim in CLAIMS if claim.verdict in (Verdict.FALSE, Verdict.AS_WRITTEN)]
    assert {claim.key: least(claim.wrong) for claim in false if least(claim.wrong) > 9} == {}


def least(cases: Iterable[Case]) -> int:
    return min(len(case.program.splitlines()) for case in cases)


# -- deciding ----------------------------------------------------------------------------------------------------------

TWICE = "x = leaf 3\ny = square x\nbackward y\nbackward y"


@pytest.mark.parametrize(
    ("prediction", "true"),
    [
        (Returns(3), True),
        (Returns(4), False),
        (Raises(4), True),
        (Raises(4, Kind.GRAPH_FREED), True),
        (Raises(4, Kind.NO_GRAD), False),
        (Raises(3), False),
        (HasGrad(3, "x", (6.0,)), True),
        (HasGrad(3, "x", (7.0,)), False),
        (HasGrad(3, "x", (6.0, 6.0)), False),
        (HasGrad(3, "x", None), False),
        (Saved(3, "none"), True),
        (Saved(2, "none"), False),
        (Saved(2, "more", 1), True),
        (Saved(3, "fewer", 2), True),
        (Saved(4, "as many", 3), True),
        (Saved(3, "as many", 2), False),
    ],
)
def test_a_prediction_comes_true_or_not(prediction: Any, true: bool) -> None:
    assert came_true(Case(TWICE, (prediction,)), run(parse(TWICE), COUNTING)) is true


def test_what_is_not_counted_is_not_decided() -> None:
    plain = run(parse(TWICE), TORCH)
    assert came_true(Case(TWICE, (Saved(3, "none"),)), plain) is None
    assert came_true(Case(TWICE, (Saved(3, "none"), Returns(4))), plain) is False


def test_a_line_that_was_not_run_is_not_decided() -> None:
    program = "x = leaf [1, 2]\ny = square x\ng = held x\nbackward g"
    assert came_true(Case(program, (Raises(4),)), run(parse(program), TORCH)) is None


BOTH = Claim("k", "a", "s", "says", "truth", right=(Case("", ()), Case("", ())), wrong=(Case("", ()),))


@pytest.mark.parametrize(
    ("found", "word"),
    [
        ([True, True, False], "mixed"),
        ([True, None, False], "mixed"),
        ([True, True, True], "right"),
        ([False, False, False], "wrong"),
        ([True, True, None], "unknown"),
        ([None, None, False], "unknown"),
        ([], "unknown"),
    ],
)
def test_outcomes_make_a_verdict(found: list[bool | None], word: str) -> None:
    assert verdict(BOTH, found) == word


# -- measured ----------------------------------------------------------------------------------------------------------


class Executed(TorchDispatchMode):
    """Counts the ops that PyTorch executes."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.ops[func.overloadpacket.__name__] += 1
        return func(*args, **kwargs or {})


def executed(text: str) -> int:
    """The number of times that tanh was computed."""
    with Executed() as counted:
        run(parse(text), TORCH)
    return counted.ops["tanh"]


@pytest.mark.parametrize("depth", [1, 3, 6])
@pytest.mark.parametrize("calls", [1, 2, 4])
def test_a_retained_graph_spares_the_forward_ops(depth: int, calls: int) -> None:
    forward = "y = leaf 0.5\n" + "y = tanh y\n" * depth
    again = "".join(f"y{n} = tanh y{n - 1}\n" for n in range(1, depth + 1))
    retained = forward + "backward y retain=True\n" * calls
    rebuilt = "y0 = leaf 0.5\n" + (again + f"backward y{depth}\n") * calls
    assert executed(retained) == depth
    assert executed(rebuilt) == depth * calls


def saved(text: str) -> list[int]:
    """The numbers of saved tensors after each backward call, or after the last line if there is none."""
    program = parse(text)
    counts = [seen.saved or 0 for seen in run(program, COUNTING)]
    return [count for step, count in zip(program, counts) if isinstance(step, Backward)] or counts[-1:]


@pytest.mark.parametrize("length", [1, 2, 5, 10])
def test_saved_tensors_grow_with_the_length_of_a_sequence(length: int) -> None:
    steps = "".join(f"a{n} = multiply w h{n - 1}\nh{n} = tanh a{n}\n" for n in range(1, length + 1))
    (one,) = saved("w = leaf 0.5\nh0 = leaf 1\na1 = multiply w h0\nh1 = tanh a1")
    assert saved(f"w = leaf 0.5\nh0 = leaf 1\n{steps}") == [one * length]
    assert saved(f"w = leaf 0.5\nh0 = leaf 1\n{steps}backward h{length} retain=True") == [one * length]
    assert saved(f"w = leaf 0.5\nh0 = leaf 1\n{steps}backward h{length}") == [0]


def test_saved_tensors_grow_with_the_batch_and_not_in_number() -> None:
    def weighed(batch: int) -> tuple[int, int]:
        rows = [[float(row), 1.0] for row in range(batch)]
        text = f"x = leaf {rows} const\nw = leaf [[1, 2], [3, 4]]\nh = linear x w\no = tanh h\ns = square o"
        elements: list[int] = []
        with saved_tensors_hooks(lambda tensor: elements.append(tensor.numel()) or tensor, lambda tensor: tensor):
            run(parse(text), TORCH)
        return len(elements), sum(elements)

    one, two, three = map(weighed, (1, 2, 3))
    assert one[0] == two[0] == three[0] > 1
    assert three[1] - two[1] == two[1] - one[1] > 0


@pytest.mark.parametrize("graphs", [1, 2, 5])
def test_saved_tensors_grow_with_the_number_of_retained_graphs(graphs: int) -> None:
    kept = "".join(f"y{n} = exp x\nbackward y{n} retain=True\n" for n in range(graphs))
    freed = "".join(f"backward y{n}\n" for n in range(graphs))
    assert saved(f"x = leaf 1\n{kept}{freed}") == [*range(1, graphs + 1), *reversed(range(graphs))]


@pytest.mark.parametrize("calls", [1, 2, 5])
def test_saved_tensors_do_not_grow_with_the_number_of_calls(calls: int) -> None:
    assert saved("x = leaf 1\ny = exp x\n" + "backward y retain=True\n" * calls + "backward y") == [*[1] * calls, 0]
