"""Vectors: made, compared by arithmetic, answered and judged."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.remote import protocol
from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.frameworks.remote.worker import handshake
from autograd_conformance.frameworks.target import InProcess, open_target
from autograd_conformance.interactions.recorded import Recorded, recorded
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.package.places import ROOT
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats import codec, observation_codec
from autograd_conformance.programs.formats.parser import parse
from autograd_conformance.programs.formats.text import render
from autograd_conformance.programs.observations import Kind
from autograd_conformance.reporting.analysis.verdicts import Exit
from autograd_conformance.reporting.records.stream import load
from autograd_conformance.rules.stages import STAGES
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.vectors import making, situations
from autograd_conformance.vectors.claims import Answers
from autograd_conformance.vectors.command import main
from autograd_conformance.vectors.expectations import Undetermined, expectations
from autograd_conformance.vectors.vector import LEVELS, id_of
from evaluation.mutants import MUTANTS
from evaluation.vectors.arithmetic import first_wrong, wrong

OPS = "exp,multiply,sum"

Json = Any


@pytest.fixture(scope="module")
def torch() -> InProcess:
    found = open_target("torch")
    assert isinstance(found, InProcess)
    return found


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of vectors of three ops, of one in forty of the recorded programs, and of one in four other programs."""
    path = tmp_path_factory.mktemp("vectors") / "vectors.jsonl.gz"
    some = Recorded(recorded().lines[::40], 1, 1)
    of_actions, in_corpus = making._of_actions, making.corpus
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(making, "recorded", lambda: some)
        patch.setattr(making, "corpus", lambda: in_corpus()[::4])
        patch.setattr(making, "_of_actions", lambda claimed: islice(of_actions(claimed), 0, None, 4))
        patch.setattr(situations, "EACH", 1)
        assert main([str(path), f"--ops={OPS}", "--each=3"]) == Exit.PASSED
    return path


def lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


def answered(target: InProcess, vectors: Path, folder: Path, leave_out: Sequence[str] = ()) -> tuple[Path, list[str]]:
    """Writes the answers of a framework, and returns their file and the names of the vectors that arithmetic finds
    wrong.
    """
    form = handshake(target.adapter)
    form.pop("dialect", None)
    written, wrong = [json.dumps(form)], []
    for each in lines(vectors)[1:]:
        program = codec.from_json(each["program"], VOCABULARY)
        observation = observation_codec.to_json(target.observe(program))
        if first_wrong(observation, each["expected"]):
            wrong.append(each["id"])
        if each["id"] not in leave_out:
            written.append(json.dumps({"id": each["id"], "observation": observation}))
    path = folder / "answers.jsonl"
    path.write_text("\n".join(written) + "\n")
    return path, wrong


def test_vectors_have_levels_rules_and_names(vectors: Path):
    about, *made = lines(vectors)
    assert about["vectors"] == 1 and about["count"] == len(made) > 60
    assert about["claims"]["ops"] == sorted(OPS.split(","))
    assert {1, 2, 4, 5, 6, 7, 8, 9} <= {each["level"] for each in made}
    assert len({each["rule"] for each in made}) > 25
    for each in made:
        assert each["rule"] in each["rules"]
        assert each["id"] == id_of(codec.from_json(each["program"], VOCABULARY))
        assert len(each["expected"]) == len(each["program"]["instructions"])
    outcomes = {outcome for each in made for step in each["expected"] for outcome in step}
    assert outcomes - {"skipped"} == {"returned", "raised", "or_raised", "gradients", "values", "fired"}


def test_the_right_framework_is_right_by_arithmetic_and_by_the_judge(
    torch: InProcess, vectors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    answers, wrong = answered(torch, vectors, tmp_path)
    assert not wrong
    assert main(["check", str(answers), f"--vectors={vectors}", f"--report={tmp_path / 'report'}"]) == Exit.PASSED
    report = load(tmp_path / "report" / "records.jsonl")
    assert not report.failures and report.footer is not None and report.footer.verdict == "complete"
    assert sum(result.programs for result in report.results) == len(lines(vectors)) - 1
    assert (tmp_path / "report" / "report.md").exists()
    assert "PASSED" in capsys.readouterr().out


@pytest.mark.parametrize(
    "mutant",
    [
        "mutants/adds-twice",
        "mutants/hook-called-twice",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("mutants/never-frees", "mutants/steps-twice")),
    ],
)
def test_a_fault_is_found_by_arithmetic_and_by_the_judge(mutant: str, vectors: Path, tmp_path: Path):
    target = InProcess(MUTANTS[mutant]("cpu"))
    answers, wrong = answered(target, vectors, tmp_path)
    assert wrong
    code = main(["check", str(answers), f"--vectors={vectors}", f"--report={tmp_path / 'report'}"])
    assert code == Exit.NOT_CONFORMANT
    judged = {each.test.partition("[")[2].rstrip("]") for each in load(tmp_path / "report" / "records.jsonl").failures}
    assert judged - {""} == {*wrong}


def test_a_missing_answer_is_no_pass(torch: InProcess, vectors: Path, tmp_path: Path):
    left = lines(vectors)[3]["id"]
    answers, _ = answered(torch, vectors, tmp_path, leave_out=[left])
    assert main(["check", str(answers), f"--vectors={vectors}", f"--report={tmp_path / 'report'}"]) == Exit.STOPPED
    footer = load(tmp_path / "report" / "records.jsonl").footer
    assert footer is not None and footer.reason == "no answer to 1 vector that the framework's claims allow"


@pytest.mark.parametrize(
    "text",
    [
        "a = leaf [1, 2]; b = sin a; c = grad b wrt a with [1, 1] create=True; backward c with [1, 1]",
        "a = leaf [1, 2]; b = sin a; backward b with [1, 1] create=True; c = held a; d = grad c wrt a with [1, 1]",
    ],
)
def test_a_derivative_of_a_gradient_may_be_not_implemented(text: str, torch: Target):
    program = parse(text, VOCABULARY)
    expected = [each.to_json() for each in expectations(program, torch.observe(program), torch)[0]]
    seen = json.loads(json.dumps(observation_codec.to_json(torch.observe(program))))
    assert first_wrong(seen, expected) is None
    assert first_wrong([*seen[:-1], {"raised": {"kind": "NOT_IMPLEMENTED"}}], expected) is None
    assert first_wrong([*seen[:-1], {"raised": {"kind": "GRAPH_FREED"}}], expected)
    doubled = json.loads(json.dumps(seen))
    tensors = [*doubled[-1].get("gradients", {}).values(), *doubled[-1].get("returned", ())]
    for tensor in tensors:
        tensor["data"] = [2 * x for x in tensor["data"]]
    assert first_wrong(doubled, expected)


def test_modules_and_drawn_programs_make_vectors(torch: Target):
    text = "a = leaf [[1, 2, 4]]; b = nn_layer_norm a normalized_shape=(3,) affine=False; backward b with [[1, 0, 0]]"
    program = parse(text, VOCABULARY)
    _, tested = expectations(program, torch.observe(program), torch)
    assert "networks/gradient" in tested
    with alphabet.using(alphabet_of(torch, torch.dtypes)):
        found = [*situations.drawn()]
        assert found == [*situations.drawn()]
    assert len(found) > 1000


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = leaf [1, 2]; b = dropout_mask a p=0.5 seed=1; backward b with [1, 1]", "random"),
        ("a = leaf [1, 2]; b = negative a; backward b with [1, 1]; backward b with [1, 1]", "several outcomes"),
        ("a = leaf [1, 2]; b = multiply_scalar a scalar=0.0; backward b with [1, 1]; step a sgd lr=1", "zeros"),
    ],
)
def test_what_the_rules_leave_open_makes_no_vector(text: str, why: str, torch: Target):
    program = parse(text, VOCABULARY)
    with pytest.raises(Undetermined, match=why):
        expectations(program, torch.observe(program), torch)


def test_a_refusal_that_is_not_claimed_makes_no_vector(torch: InProcess):
    program = parse("a = leaf [1, 2]; b = multiply a a; backward b with [1, 1, 1]", VOCABULARY)
    *_, call = expectations(program, torch.observe(program), torch)[0]
    assert call.raises is Kind.COTANGENT_SHAPE
    form = handshake(torch.adapter)
    form["capabilities"] = [name for name in form["capabilities"] if name != Capability.COTANGENT_CHECK.name]
    claimed = Remote(Answers(protocol.handshake(json.dumps(form).encode())))
    with pytest.raises(Undetermined, match="does not claim to refuse it"):
        expectations(program, torch.observe(program), claimed)


def test_a_gradient_of_zeros_may_be_missing(torch: Target):
    program = parse("a = leaf [1, 2]; b = multiply_scalar a scalar=0.0; backward b with [1, 1]", VOCABULARY)
    *_, call = (each.to_json() for each in expectations(program, torch.observe(program), torch)[0])
    zeros = call["gradients"]["%0"]
    assert zeros["data"] == [0, 0] and zeros["may_be_missing"] is True
    assert wrong({"returned": [], "gradients": {"%0": None}}, call) is None
    assert wrong({"returned": [], "gradients": {"%0": zeros | {"data": [0, 1]}}}, call)


def test_the_page_shows_a_real_vector_and_all_levels(torch: Target):
    page = (ROOT / "docs" / "vectors.md").read_text()
    claims, shown = (json.loads(block.split("```")[0]) for block in page.split("```json")[1:])
    assert protocol.handshake(json.dumps(claims).encode()).name == "mine"
    program = codec.from_json(shown["program"], VOCABULARY)
    expected, rules = expectations(program, torch.observe(program), torch)
    assert shown["expected"] == [each.to_json() for each in expected]
    assert {*shown["rules"]} <= {*rules}
    assert (shown["id"], shown["text"]) == (id_of(program), render(program))
    levels = [(str(number), stage.name) for number, stage in enumerate(STAGES[:LEVELS], 1)]
    assert re.findall(r"^\| (\d+) \| ([^|]+) \|", page, re.MULTILINE) == levels


# -- files that cannot be used


def _changed(vectors: Path, path: Path, change: str) -> Path:
    text = gzip.decompress(vectors.read_bytes()).decode()
    first, *rest = text.splitlines()
    match change:
        case "cut":
            path.write_bytes(vectors.read_bytes()[:-200])
        case "shortened":
            path.write_text("\n".join([first, *rest[:-1]]))
        case "altered":
            path.write_text("\n".join([first, rest[0].replace("1", "2", 1), *rest[1:]]))
        case "version":
            path.write_text("\n".join([json.dumps(json.loads(first) | {"vectors": 9}), *rest]))
        case "other":
            path.write_text("hello\n")
        case "empty":
            path.write_text("")
    return path


@pytest.mark.parametrize("change", ["cut", "shortened", "altered", "version", "other", "empty", "missing"])
def test_a_damaged_file_is_one_message(change: str, vectors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = _changed(vectors, tmp_path / "vectors", change)
    answers = tmp_path / "answers"
    answers.write_text("{}\n")
    report = tmp_path / "report"
    assert main(["check", str(answers), f"--vectors={path}", f"--report={report}"]) == Exit.INTERNAL
    printed = capsys.readouterr()
    assert printed.err.startswith("vectors: ") and len(printed.err.splitlines()) == 1 and not printed.out
    assert not report.exists()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("hello", "no JSON|Expecting"),
        ('{"id": "0"}', "names no vector"),
        ('{"id": ID, "observation": [{}]}', "instructions"),
    ],
)
def test_a_malformed_answer_names_its_line(
    line: str, why: str, torch: InProcess, vectors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    form = {**handshake(torch.adapter), "dialect": None}
    path = tmp_path / "answers"
    long = next(each for each in lines(vectors)[1:] if len(each["expected"]) > 2)
    path.write_text(f"{json.dumps(form)}\n{line.replace('ID', json.dumps(long['id']))}\n")
    assert main(["check", str(path), f"--vectors={vectors}", f"--report={tmp_path / 'report'}"]) == Exit.INTERNAL
    message = capsys.readouterr().err
    assert "line 2" in message
    assert any(words in message for words in why.split("|"))


@pytest.mark.parametrize("words", [["out", "--ops=frobnicate"], ["out", "--level=99"], ["check"], []])
def test_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == Exit.USAGE
    assert "vectors" in capsys.readouterr().err


def test_claims_without_a_name_are_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    claims = tmp_path / "claims.json"
    claims.write_text('{"protocol": 1, "ops": ["sin"]}')
    assert main([str(tmp_path / "out"), f"--claims={claims}"]) == Exit.USAGE
    assert "name" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
