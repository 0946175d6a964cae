"""The installed Hypothesis, pytest, pytest-xdist and execnet have each private name that the suite uses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture.data import ConjectureData

from autograd_conformance.checking.seeding import BACKEND
from autograd_conformance.package.internals import Internal, problems
from autograd_conformance.plugin import pytest_internals
from autograd_conformance.strategies.building.randomness import hypothesis_internals
from autograd_conformance.strategies.building.randomness.independent import Independent

ROOT = Path(__file__).parents[2]
INTERNALS = hypothesis_internals.INTERNALS + hypothesis_internals.OF_TOOLS + pytest_internals.INTERNALS
ELSEWHERE = [
    path
    for folder in ("src/autograd_conformance", "strategies", "suites", "evaluation", "tests")
    for path in (ROOT / folder).rglob("*.py")
    if path.name not in ("hypothesis_internals.py", "pytest_internals.py", "test_internals.py")
]
PRIVATE = {word for each in INTERNALS for word in re.findall(r"\b_\w+", each.name)} - {"_random", "_file"}
"""The names that begin with an underscore, without those that the suite has itself."""
USED = re.compile(
    rf"\b(?:{'|'.join(sorted(PRIVATE))})\b"
    r"|(?:from|import) (?:_pytest|execnet|pluggy|xdist|hypothesis\.internal)\b"
)
SIMULATED = {"tests/frameworks/adapters/unshrinkable.py", "tests/plugin/test_progress.py"}
"""Files that replace a private part of a library on purpose, to make it fail or to see what it gets."""

WITHOUT = """
import sys
{remove}
from autograd_conformance.cli import main
sys.exit(main(["--framework=examples.tiny_adapter:Tiny", "-n", "0", "suites/test_lifetime.py"]))
"""


@pytest.mark.parametrize("internal", INTERNALS, ids=lambda each: f"{each.library}:{each.name}")
def test_the_installed_version_has(internal: Internal) -> None:
    assert internal.problem() is None


def test_no_other_file_uses_one() -> None:
    used = {
        str(path.relative_to(ROOT)): found.group()
        for path in ELSEWHERE
        if (found := USED.search(path.read_text(encoding="utf-8")))
    }
    assert {file: name for file, name in used.items() if file not in SIMULATED} == {}


def test_each_is_in_an_existing_file() -> None:
    assert {each.file for each in INTERNALS if not (ROOT / each.file).is_file()} == set()


def test_a_check_that_fails_with_an_exception_is_a_problem() -> None:
    broken = Internal("hypothesis", "Data.gone", "strategies/some.py", lambda: bool(hypothesis_internals.gone))  # type: ignore[attr-defined]
    (line,) = problems([INTERNALS[0], broken])
    assert re.fullmatch(r"hypothesis [\d.]+ no longer has Data\.gone: see strategies/some\.py", line)


def test_a_draw_leads_to_the_backend() -> None:
    found: list[object] = []

    @st.composite
    def backend(draw: st.DrawFn) -> object:
        draw(st.integers())
        return hypothesis_internals.provider_of(draw)

    @settings(max_examples=20, database=None, backend=BACKEND, phases=[Phase.generate])
    @given(backend())
    def keep(drawn: object) -> None:
        found.append(drawn)

    keep()
    assert any(isinstance(each, Independent) for each in found)  # Hypothesis draws the first example by itself


def test_the_provider_knows_its_program() -> None:
    data = ConjectureData(random=Random(1), provider=Independent)
    provider = hypothesis_internals.provider_of(data.draw)
    assert isinstance(provider, Independent)
    assert (provider.data, provider.random) == (data, data._random)  # type: ignore[attr-defined]
    room = hypothesis_internals.room(data)
    for choice in (True, 5, b"abc"):
        hypothesis_internals.record(data, choice)
    assert data.choices == (True, 5, b"abc")
    assert 0 < hypothesis_internals.room(data) < room
    assert not hypothesis_internals.has_ended(data)
    data.freeze()
    assert hypothesis_internals.has_ended(data)


@pytest.mark.parametrize(
    ("remove", "name"),
    [
        ("import hypothesis.internal.conjecture.providers as p; del p.HypothesisProvider", "HypothesisProvider"),
        ("import hypothesis.internal.conjecture.data as d; del d.ConjectureData.draw_bytes", "draw_bytes"),
        ("import pytest; pytest.TerminalReporter.getreports = lambda self, name: [1]", "TestReport._pdbshown"),
    ],
)
def test_a_run_without_one_ends_with_its_name(remove: str, name: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # where the example is
    line = [sys.executable, "-c", WITHOUT.format(remove=remove)]
    ended = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100)
    assert ended.returncode == int(pytest.ExitCode.USAGE_ERROR), ended.stderr
    (error,) = filter(None, ended.stderr.splitlines())
    assert re.fullmatch(rf"ERROR: \S+ [\d.]+ no longer has .*{re.escape(name)}.*: see \S+internals\.py", error)
    assert not (tmp_path / "report").exists()
