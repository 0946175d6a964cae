"""Exit code 0 means that the framework was tested and passed. Runs that test a part, too little or nothing have other
codes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from autograd_conformance.plugin.run_plan import functions
from autograd_conformance.reporting.analysis.summary import summarize
from tests.plugin.test_cli import EXP, ONE, ROOT, SINE, TINY, WRONG, Run, command, finished, run

LIFETIME = "suites/test_lifetime.py"
SMALL = "tests.frameworks.adapters.small"
SEED = "--hypothesis-seed=1"

SILENT = """
def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if "default_frees" in item.nodeid]
"""
"""A plugin that deselects tests without a report to pytest."""

MARKS = """
import pytest

def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.{mark})
"""
"""A plugin that marks every test."""


def with_plugin(folder: Path, text: str, *arguments: str, framework: str = TINY) -> Run:
    """A run with a third-party plugin."""
    (folder / "elses.py").write_text(text)
    words, environment = command(folder / "report", *arguments, "-p", "elses", framework=framework)
    return finished(words, {**environment, "PYTHONPATH": str(folder)}, folder / "report")


def hidden(folder: Path, option: str, *arguments: str, framework: str = TINY) -> Run:
    """A run with an option in an environment variable."""
    words, environment = command(folder, *arguments, framework=framework)
    return finished(words, {**environment, "PYTEST_ADDOPTS": option}, folder)


WITH_WORKERS = pytest.mark.parametrize("workers", ["0", pytest.param("1", marks=pytest.mark.slow)])
"""The numbers of workers; a whole run with one takes as long again."""


# --- what is a selection ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_functions_of_the_suites_are_those_that_pytest_collects() -> None:
    # A new process, because a profile with more examples defines further functions as it imports the suites.
    script = "from tests.checking.subsets import collected; print(*collected(), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    names = [line.partition("[")[0].partition("::") for line in done.stdout.splitlines()]
    assert {(path.rpartition("/")[2], name) for path, _, name in names} == functions()


@WITH_WORKERS
@pytest.mark.parametrize(
    "chosen",
    [
        (LIFETIME, "--deselect", ONE),
        pytest.param((LIFETIME,), marks=pytest.mark.slow),
        pytest.param((ONE,), marks=pytest.mark.slow),
        pytest.param(("suites", "-k", "default_frees"), marks=pytest.mark.slow),
    ],
)
def test_what_the_user_chose_passes_and_the_headline_says_so(chosen, workers, tmp_path: Path):
    seen = run(tmp_path, *chosen, SEED, "-n", workers)
    assert seen.code == 0, seen.output
    assert "SELECTION PASSED. tiny 1.0 breaks no MUST rule in the selected tests" in seen.output
    footer = seen.report.footer
    assert footer is not None and footer.selection and footer.exit_code == 0


@pytest.mark.parametrize(
    "option",
    [
        "-kdefault_frees",
        pytest.param(f"--deselect={LIFETIME}", marks=pytest.mark.slow),
        pytest.param("--ignore-glob=*test_[a-k,m-z]*", marks=pytest.mark.slow),
    ],
)
def test_a_selection_that_a_variable_makes_is_one(option, tmp_path: Path):
    seen = hidden(tmp_path, option, "suites", "-k", "lifetime and not recurrent or default_frees", SEED, "-n", "0")
    assert "CONFORMANT" not in seen.output
    assert seen.code in (0, 5, 12)
    assert seen.code != 0 or "SELECTION PASSED" in seen.output


def test_a_plugin_that_leaves_tests_out_without_a_word_makes_one(tmp_path: Path):
    seen = with_plugin(tmp_path, SILENT, "suites", SEED, "-n", "0")
    assert (seen.code, summarize(seen.report).conclusion) == (0, "selection passed"), seen.output


@WITH_WORKERS
def test_a_run_all_of_whose_tests_somebody_skips_has_no_verdict(workers, tmp_path: Path):
    seen = with_plugin(tmp_path, MARKS.format(mark="skip"), LIFETIME, "-n", workers)
    assert seen.code == 12, seen.output
    assert "NO VERDICT. No program ran on tiny 1.0." in seen.output
    assert {result.verdict for result in seen.report.results} == {"skipped"}


@WITH_WORKERS
def test_a_selection_none_of_which_applies_has_no_verdict(workers, tmp_path: Path):
    seen = run(tmp_path, "suites/test_networks.py", "-n", workers)
    assert seen.code == 12, seen.output
    assert {result.verdict for result in seen.report.results} == {"not applicable"}


@pytest.mark.slow
def test_a_test_that_is_expected_to_fail_fails(tmp_path: Path):
    seen = with_plugin(tmp_path, MARKS.format(mark="xfail"), SINE, "-n", "0", framework=f"{WRONG}:WrongSine")
    assert seen.code == 1, seen.output
    assert "NOT CONFORMANT" in seen.output and len(seen.report.failures) >= 1


@pytest.mark.slow
def test_a_framework_that_skips_its_test_is_not_excused(tmp_path: Path):
    seen = run(tmp_path, EXP, SEED, "-n", "0", framework=f"{SMALL}:Skips")
    assert seen.code not in (0, 1), seen.output
    assert "CONFORMANT" not in seen.output and "PASSED" not in seen.output


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("recorder", True),
        ("progress", False),
        *(pytest.param("workers", each, marks=pytest.mark.slow) for each in (True, False)),
    ],
)
def test_no_part_of_the_suite_can_be_switched_off(name, variable, tmp_path: Path):
    seen = hidden(tmp_path, f"-p no:{name}", ONE) if variable else run(tmp_path, "-p", f"no:{name}", ONE)
    assert seen.code == 4
    assert f"-p no:{name} switches off a plugin that the report needs" in seen.output


def test_every_test_in_each_process_is_refused(tmp_path: Path):
    seen = run(tmp_path, ONE, "--dist=each", "--tx=2*popen")
    assert seen.code == 4
    assert "so its programs would count several times; use -n N" in seen.output


@pytest.mark.slow
def test_a_variable_cannot_make_a_run_collect_alone(tmp_path: Path):
    assert (seen := hidden(tmp_path, "--collect-only", ONE)).code == 4
    assert "--collect-only is set in PYTEST_ADDOPTS or a settings file" in seen.output
    assert run(tmp_path, "--collect-only", ONE).code == 0


def test_a_folder_that_is_gone_is_wrong_usage(tmp_path: Path):
    (gone := tmp_path / "gone").mkdir()
    line = f"cd {gone} && rmdir {gone} && exec {sys.executable} -m autograd_conformance.cli -k nothing"
    done = subprocess.run(["sh", "-c", line], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (4, "ERROR: the current folder was removed; change to another folder\n")


# --- whole runs -------------------------------------------------------------------------------------------------------

HONEST = (
    "AddSumExp", "SumMultiply", "Exp", "Add", "ReluSum", "Matmul", "StackUnstack", "Sum", "Scalars", "Several",
    "Freeing", "FreeingOne", "FreeingTwo", "Functions", "FunctionsOfOne",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_a_framework_of_few_ops_has_a_verdict_on_what_it_claims(name, tmp_path: Path):
    seen = run(tmp_path, "suites", SEED, "-n", "1", framework=f"{SMALL}:{name}")
    assert seen.code == 0, seen.output
    assert summarize(seen.report).conclusion == "conformant"
    for each in summarize(seen.report).rules:
        assert each.verdict != "not applicable" or each.reason


@pytest.mark.slow
@pytest.mark.parametrize("name", ["WrongExp", "Overwrites", "FreesNever"])
def test_one_that_is_wrong_is_told_so(name, tmp_path: Path):
    seen = run(tmp_path, "suites", SEED, "-n", "1", framework=f"{SMALL}:{name}")
    assert (seen.code, summarize(seen.report).conclusion) == (1, "not conformant"), seen.output


@pytest.mark.slow
def test_one_that_claims_nothing_has_no_verdict(tmp_path: Path):
    seen = run(tmp_path, "suites", SEED, "-n", "1", framework=f"{SMALL}:Nothing")
    assert seen.code == 12, seen.output
    assert "NO VERDICT" in seen.output
