"""Known differences on the command line: refused files, entries that a run writes, levels of rules, and strict runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograd_conformance.known_differences import read
from autograd_conformance.known_differences.conditions.subjects import Dtype
from autograd_conformance.reporting.analysis.summary import summarize
from tests.plugin.test_cli import ONE, SINE, TINY, WRONG, run

pytestmark = pytest.mark.slow


FEW = "tests.frameworks.adapters.few"
WRONG_SINE, STEEP_SINE = f"{WRONG}:WrongSine", f"{WRONG}:SteepSine"
IN_PLACE = "suites/test_accumulation.py::test_in_place"
ADDS = "suites/test_accumulation.py::test_adds"
SEED = "--hypothesis-seed=1"
ENTRY = """
[[known]]
rule = "gradients/op"
op = "sin"
reason = "because"
witness = "a = leaf [1]; b = sin a; backward b"
"""


def listed(path: Path, text: str) -> str:
    path.write_text(text)
    return f"--known={path}"


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ENTRY, ", line 2: relative: 'gradients/op' is about values"),
        (f"{ENTRY}relativ = 1e-7", ", line 2: there is no key 'relativ'; 'relative' is one"),
        (f"{ENTRY}relative = inf", ", line 2: relative has to be a finite number"),
        ("known = 3", ": known has to be a list of entries"),
    ],
)
def test_a_file_that_makes_no_sense_is_wrong_usage(text: str, says: str, tmp_path: Path) -> None:
    seen = run(tmp_path, ONE, "-n0", listed(tmp_path / "mine.toml", text))
    assert seen.code == 4
    assert f"ERROR: {tmp_path / 'mine.toml'}{says}" in seen.output
    assert "Traceback" not in seen.output


def test_a_limit_excuses_no_more_than_it_says(tmp_path: Path) -> None:
    tight = listed(tmp_path / "tight.toml", f"{ENTRY}relative = 1e-7")
    assert run(tmp_path, SINE, "-n0", SEED, tight, framework=WRONG_SINE).code == 1
    wide = listed(tmp_path / "wide.toml", f"{ENTRY}any_value = true")
    both = run(tmp_path, SINE, "-n0", SEED, wide, tight, framework=WRONG_SINE)
    assert both.code == 0
    assert [known.seen > 0 for known in both.report.known] == [True, False]


# -- entries that a run writes -----------------------------------------------------------------------------------------


def test_the_entries_that_a_run_writes_make_it_pass(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    tests = (SINE, ONE, ADDS)
    assert run(tmp_path, *tests, "-n0", SEED, framework=STEEP_SINE).code == 1
    first = run(tmp_path, *tests, "-n0", SEED, f"--update-known={path}", framework=STEEP_SINE)
    assert first.code == 0, first.output
    entries = read(path)
    assert {(entry.rule, entry.op) for entry in entries} == {("gradients/op", "sin")}
    dtypes = {condition.value for entry in entries if (condition := entry.get(Dtype)) is not None}
    assert dtypes == {"float32", "float64"}
    assert all(entry.limits.limited and not entry.limits.any_value for entry in entries)
    assert all(entry.link == "not reported" and entry.since and len(entry.witness) == 3 for entry in entries)
    again = run(tmp_path, *tests, "-n0", SEED, f"--known={path}", "--strict", framework=STEEP_SINE)
    assert again.code == 0, again.output
    assert again.report.programs == first.report.programs
    assert all(known.seen for known in again.report.known)


def test_what_is_off_by_more_than_its_value_is_said_openly(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    assert run(tmp_path, SINE, "-n0", SEED, f"--update-known={path}", framework=WRONG_SINE).code == 0
    assert all(entry.op == "sin" and entry.limits.any_value for entry in read(path))


def test_workers_write_what_one_process_does(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    seen = run(tmp_path, SINE, ADDS, "-n2", SEED, f"--update-known={path}", framework=STEEP_SINE)
    assert seen.code == 0, seen.output
    assert {(entry.rule, entry.op) for entry in read(path)} == {("gradients/op", "sin")}


@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_what_nothing_names_is_not_written_and_fails_that_run(processes: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    framework = f"{FEW}:FewOverwritten"
    seen = run(tmp_path, ADDS, processes, SEED, f"--update-known={path}", framework=framework)
    assert seen.code == 1, seen.output
    assert read(path) == ()
    said = "could not be written as known differences, because nothing names the case:"
    assert said in seen.output and f"{said}\n#   accumulation/adds: a = leaf " in path.read_text()
    assert {failure.rule for failure in seen.report.failures} == {"accumulation/adds"}
    assert summarize(seen.report).conclusion == "not conformant"
    assert seen.report.footer is not None and seen.report.footer.exit_code == 1
    assert run(tmp_path, ADDS, "-n0", SEED, f"--known={path}", framework=framework).code == 1


def test_written_limits_are_tight(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    run(tmp_path, SINE, "-n0", SEED, f"--update-known={path}", framework=STEEP_SINE)
    halved = tmp_path / "halved.toml"
    lines = []
    for line in path.read_text().splitlines():
        key, _, value = line.partition(" = ")
        lines.append(f"{key} = {float(value) / 2}" if key in ("relative", "absolute") else line)
    halved.write_text("\n".join(lines))
    assert run(tmp_path, SINE, "-n0", SEED, f"--known={halved}", framework=STEEP_SINE).code == 1


def test_what_a_file_holds_stays(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("# my own words" + ENTRY.replace("sin", "exp") + "relative = 1e-7")
    run(tmp_path, SINE, "-n0", SEED, f"--update-known={path}", framework=WRONG_SINE)
    assert path.read_text().startswith("# my own words\n[[known]]")
    assert [entry.op for entry in read(path)] == ["exp", "sin", "sin"]


def test_a_file_that_cannot_be_written_is_wrong_usage(tmp_path: Path) -> None:
    seen = run(tmp_path, ONE, "-n0", f"--update-known={tmp_path / 'no' / 'x.toml'}")
    assert seen.code == 4
    assert "No such file or directory" in seen.output


# -- levels ------------------------------------------------------------------------------------------------------------


def test_a_broken_should_is_reported_and_fails_no_run(tmp_path: Path) -> None:
    seen = run(tmp_path, IN_PLACE, ADDS, "-n0", SEED, framework=f"{FEW}:FewCopied")
    assert seen.code == 0, seen.output
    assert {failure.rule for failure in seen.report.failures} == {"accumulation/in-place"}
    assert {(result.rule, result.verdict) for result in seen.report.results} == {
        ("accumulation/in-place", "fail"),
        ("accumulation/adds", "pass"),
    }
    assert "It breaks 1 applicable SHOULD rule." in summarize(seen.report).sentence
    assert summarize(seen.report).conclusion == "selection passed"


def test_it_fails_a_strict_run(tmp_path: Path) -> None:
    seen = run(tmp_path, IN_PLACE, "-n0", SEED, "--strict", framework=f"{FEW}:FewCopied")
    assert seen.code == 1
    assert summarize(seen.report).conclusion == "not conformant"


def test_it_hides_no_broken_must(tmp_path: Path) -> None:
    seen = run(tmp_path, ADDS, "-n0", SEED, framework=f"{FEW}:FewCopiedOverwritten")
    assert seen.code == 1
    assert "accumulation/adds" in {failure.rule for failure in seen.report.failures}


@pytest.mark.parametrize(("strict", "code"), [((), 0), (("--strict",), 1)])
def test_a_stale_entry_fails_a_strict_run_alone(strict: tuple[str, ...], code: int, tmp_path: Path) -> None:
    stale = listed(tmp_path / "mine.toml", f"{ENTRY}relative = 1e-7")
    seen = run(tmp_path, SINE, "-n0", SEED, stale, *strict, framework=TINY)
    assert seen.code == code
    assert "stale: not observed in" in seen.output
    assert seen.report.footer is not None
    assert seen.report.footer.exit_code == code
