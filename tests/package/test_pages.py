"""The written pages: their code runs, their links have targets, and their counts are right."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from autograd_conformance.frameworks.loading.entry_points import frameworks as adapters
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats import text
from autograd_conformance.rules.catalogue import RULES
from evaluation.pages import capabilities, conditions, frameworks, modes, ops
from evaluation.pages.functions import frameworks as functions
from evaluation.pages.functions import pytorch

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


def test_the_tape_of_the_page_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "how_it_decides.md").read_text(), re.M | re.S)
    assert sum(block.count("assert judge(") for block in blocks) >= 5
    exec("\n".join(blocks), {})


def test_the_page_of_the_notation_is_the_one_that_the_parser_describes() -> None:
    (block,) = re.findall(r"^```text\n(.*?)^```$", (ROOT / "docs" / "notation.md").read_text(), re.M | re.S)
    described = [line[4:] for line in (text.__doc__ or "").splitlines() if line.startswith("    ")]
    assert block.splitlines() == described


FINDINGS = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "findings.md").read_text(), re.M | re.S)


@pytest.fixture
def usual_dtype() -> Iterator[None]:
    """Restores PyTorch's default dtype after a script."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_default_dtype(sys.modules["torch"].float32)


@pytest.mark.usefixtures("usual_dtype")
@pytest.mark.parametrize("script", FINDINGS, ids=range(1, len(FINDINGS) + 1))
def test_a_script_of_a_finding_shows_it_alone(script: str) -> None:
    """Each script prints the output in its comments, or ends in the error that a comment names. Scripts that kill the
    process or may hang are only compiled.
    """
    names = "torch|autograd|candle|chainer|dezero|jax|mindspore|mlx|mxnet|mygrad|paddle|tensorflow|tinygrad"
    names += "|neurograd|pytensor|synapx|tensorplay|thunder|torch_xla"
    framework = re.match(rf"(?:import|from) ({names})\b", script)
    assert framework
    pytest.importorskip(framework[1])
    if "# needs clang" in script and shutil.which("clang") is None:
        pytest.skip("clang is not installed")
    if 'device="cuda"' in script and not sys.modules["torch"].cuda.is_available():
        pytest.skip("there is no CUDA device")
    code = compile(script, "finding", "exec")
    if re.search("# (SIG(ABRT|FPE|SEGV)|hangs)", script):
        return
    error = re.search(r"# (\w+(?:Error|Failed)): (?:\.\.\. )?(.*?)(?:, please report|$| FAILED at)", script, re.M)
    said: list[str] = []
    with pytest.raises(Exception) if error else nullcontext() as raised:
        exec(code, {"__name__": "finding", "print": lambda *values: said.append(" ".join(map(str, values)))})
    if error:
        assert (type(raised.value).__name__, error[2] in str(raised.value)) == (error[1], True)
    told = re.findall(r"^print\(.*?\) +# ((?:[^:,;\n]|, (?!has )|:(?! ))*)", script, re.M)
    assert error or said
    for comment, output in zip(told, said):
        due, got = numbers(comment), numbers(output)
        assert got[: len(due)] == pytest.approx(due, rel=1e-4, abs=1e-4, nan_ok=True), (comment, output)


def numbers(text: str) -> list[float]:
    return [float(each) for each in re.findall(r"(?<![\w.])(?:-?\d+(?:\.\d*)?(?:e-?\d+)?|nan)(?!\w)", text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_front_page_is_short_and_counts_the_rules() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 170
    rows = re.findall(r"^\| ([a-z, ]+) \| (\d+) \| [^|]+ \|$", text, re.M)
    counted = {name: int(number) for name, number in rows}
    families = [rule.family for rule in RULES.values()]
    assert {name: sum(families.count(each) for each in name.split(", ")) for name in counted} == counted
    assert sum(counted.values()) == len(RULES)


def test_the_page_of_capabilities_is_up_to_date_and_has_them_all() -> None:
    assert {claim for claims in capabilities.GROUPS.values() for claim in claims} == set(Capability)
    assert capabilities.PAGE.read_text() == capabilities.page(), "run `python -m evaluation.pages.capabilities`"


def test_the_page_of_conditions_is_up_to_date() -> None:
    assert conditions.PAGE.read_text() == conditions.page(), "run `python -m evaluation.pages.conditions`"


@pytest.mark.parametrize("name", [name for name, entry in adapters().items() if entry.is_ours])
def test_the_page_of_frameworks_is_up_to_date(name: str) -> None:
    try:
        row = frameworks.row(name)
    except AdapterError:
        pytest.skip(f"{name} is not installed")
    assert f"{row}\n" in frameworks.PAGE.read_text(), "run `python -m evaluation.pages.frameworks`"


def test_the_page_of_ops_is_up_to_date() -> None:
    assert ops.PAGE.read_text() == ops.page(), "run `python -m evaluation.pages.ops`"


def test_the_page_of_functions_is_written_and_names_none_in_vain() -> None:
    pytest.importorskip("torch.testing._internal.common_methods_invocations")
    page = functions.PAGES["torch"]
    assert page.path.read_text() == page.text(), "run `python -m evaluation.pages.functions`"
    without = {each.name for each in pytorch.functions() if each.why}
    assert without == {*pytorch.NOTES.reasons}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jax", "mlx"])
def test_the_page_of_functions_of_another_framework_is_up_to_date(name: str) -> None:
    page = functions.PAGES[name]
    try:
        made = page.text()
    except ImportError as error:
        pytest.skip(str(error))
    version = re.search(r"^\w+ [\d.]+ has", made, re.M)
    assert version is not None
    if version[0] not in page.path.read_text():
        pytest.skip("the page is about another version")
    assert page.path.read_text() == made, "run `python -m evaluation.pages.functions`"


def test_the_page_of_modes_is_up_to_date() -> None:
    assert modes.PAGE.read_text() == modes.page(), "run `python -m evaluation.pages.modes`"
