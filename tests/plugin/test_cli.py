"""The command line as a user sees it: every test runs pytest in a separate process, against a tiny framework."""

from __future__ import annotations

import faulthandler
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograd_conformance.frameworks.loading import registry
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.processes.journal import Journal
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import BackwardCall
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.records.stream import load

ROOT = Path(__file__).parents[2]
TINY = "examples.tiny_adapter:Tiny"
DYING = "tests.frameworks.adapters.dying:Dying"
WRONG, UNUSABLE = "tests.frameworks.adapters.wrong", "tests.frameworks.adapters.unusable"

ONE = "suites/test_lifetime.py::test_default_frees"
SINE, EXP, COSINE = (f"suites/test_gradients.py::test_op[{op}]" for op in ("sin", "exp", "cos"))


@dataclass(frozen=True)
class Run:
    """The exit code and output of a command, and its report's folder."""

    code: int
    output: str
    folder: Path

    @property
    def report(self) -> Report:
        """The run's records, each validated against the published schema."""
        return load(self.folder / "records.jsonl")

    @property
    def failure(self) -> Failure:
        """The only failure of the run."""
        (failure,) = self.report.failures
        return failure


def command(folder: Path, *arguments: str | Path, framework: str = TINY) -> tuple[list[str], dict[str, str]]:
    options = [f"--framework={framework}", "--hypothesis-profile=quick", f"--report={folder}", "-p", "no:randomly"]
    options += ["--confirm=0"]  # what tests look at is told without it, and sooner
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COLUMNS"))}
    environment["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / "hypothesis")
    return [sys.executable, "-m", "pytest", *options, *map(str, arguments)], environment


def run(folder: Path, *arguments: str | Path, framework: str = TINY) -> Run:
    words, environment = command(folder, *arguments, framework=framework)
    return finished(words, environment, folder)


def finished(words: Sequence[str], environment: dict[str, str], folder: Path) -> Run:
    done = subprocess.run(
        words, cwd=ROOT, env=environment, timeout=600, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return Run(done.returncode, done.stdout, folder)


def verdicts(report: Report) -> dict[str, str]:
    return {result.test: result.verdict for result in report.results}


def written(path: Path, program: str) -> Path:
    path.write_text(json.dumps(codec.to_json(parse(program))))
    return path


# -- which framework -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "torhc",
            "unknown framework 'torhc'. Do you mean torch? There are: autograd, autograd-custom, ",
        ),
        pytest.param("no.such.module:Adapter", "there is no module 'no'", marks=pytest.mark.slow),
        pytest.param(
            "examples.tiny_adapter:Huge", "module examples.tiny_adapter has no 'Huge'", marks=pytest.mark.slow
        ),
    ],
)
def test_a_framework_that_is_not_there(name, said, tmp_path):
    seen = run(tmp_path, ONE, framework=name)
    assert seen.code == 4
    assert said in seen.output
    assert "Traceback" not in seen.output
    assert not (tmp_path / "records.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Incomplete", "the adapter lacks backward, classify"),
        pytest.param("CreatesNowhere", "lacks a claim of CREATES_IN_LEAVES or", marks=pytest.mark.slow),
        pytest.param("Leafless", "leaf() raised NotImplementedError: to be", marks=pytest.mark.slow),
    ],
)
def test_an_adapter_error_is_no_verdict(name, said, tmp_path):
    seen = run(tmp_path, ONE, framework=f"{UNUSABLE}:{name}")
    assert seen.code == 10
    assert "adapter error: " in seen.output
    assert said in seen.output
    assert "Traceback" not in seen.output
    assert not (tmp_path / "records.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Raising", "Raising(device='cpu') raised OSError: no such device"),
        ("Rounding", "dtype() of a float64 leaf gave 'float32', not 'float64'"),
        ("Lonely", "apply('sin') gave <examples.tiny.Tensor"),
        ("Guessing", "classify() of an exception that it cannot know gave"),
        ("Misspelt", "ops names mul"),
        ("Speechless", "the dialect has no code for exp"),
        ("Halved", "dtypes has to name some of float32, float64, float16, bfloat16, not ['float8']"),
    ],
)
def test_what_the_smoke_test_finds(name, said):
    with pytest.raises(AdapterError, match=re.escape(said)):
        smoke(registry.load(f"{UNUSABLE}:{name}"))


@pytest.mark.slow
def test_help_and_markers_need_no_framework(tmp_path):
    helped = run(tmp_path, "--help", framework="none of these").output
    for option in (
        "--framework=NAME",
        "--report=DIR",
        "--dtype",
        "--device=",
        "--patience=",
        "--programs=N",
        "--seconds=S",
        "--replay=FILE",
    ):
        assert option in helped
    assert "package.module:factory" in helped
    assert "@pytest.mark.rule(slug):" in run(tmp_path, "--markers", framework="none of these").output


# -- options -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dtype=float64"], "single does not support float64; it has float32"),
        (["--hypothesis-seed=many"], "--hypothesis-seed has to be a whole number, not 'many'"),
    ],
)
def test_options_that_make_no_sense(arguments, said, tmp_path):
    seen = run(tmp_path, *arguments, ONE, framework=f"{WRONG}:Single")
    assert seen.code == 4
    assert said in seen.output
    assert "Traceback" not in seen.output


@pytest.mark.slow
def test_a_seed_repeats_a_run_whatever_the_number_of_workers(tmp_path):
    tests = ("suites/test_lifetime.py::test_walked_only", ONE)
    first = run(tmp_path / "1", *tests, "-n", "2")
    seed = first.report.header.seed
    assert f"seed {seed}" in first.output
    again = run(tmp_path / "2", *tests, f"--hypothesis-seed={seed}")
    assert again.report.header.seed == seed
    assert counts(again) == counts(first)
    assert counts(run(tmp_path / "3", *tests, "--hypothesis-seed=1")) != counts(first)


def counts(seen: Run) -> dict[str, tuple[int, dict[str, int]]]:
    return {result.test: (result.programs, dict(result.exercised)) for result in seen.report.results}


@pytest.mark.slow
def test_a_dtype_alone_and_a_wrong_gradient(tmp_path):
    seen = run(tmp_path, SINE, ONE, "--dtype=float32", framework=f"{WRONG}:WrongSine")
    assert seen.code == 1
    assert seen.report.header.dtypes == ("float32",)
    failure = seen.failure
    assert (failure.rule, failure.op) == ("gradients/op", "sin")
    assert re.findall(r"np\.float\d+", failure.code) == ["np.float32"] * failure.code.count("np.float")
    assert "tiny.sin(" in failure.script
    assert verdicts(seen.report) == {SINE: "fail", ONE: "pass"}  # other suites do without the wrong op
    again = finished([sys.executable, "-m", *shlex.split(failure.command or "")], dict(os.environ), tmp_path)
    assert (again.code, again.output.splitlines()[-1]) == (1, f"{failure.replay}: still failing (gradients/op)")
    script = subprocess.run([sys.executable, "-c", failure.script], cwd=ROOT, capture_output=True, text=True)
    assert script.returncode == 0, "the script needs nothing but the framework"


# -- what a framework may do -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_process_that_dies_is_a_verdict_and_the_run_goes_on(tmp_path):
    exp, negative, mm = (f"suites/test_gradients.py::test_op[{op}]" for op in ("exp", "negative", "mm"))
    seen = run(tmp_path, SINE, exp, negative, mm, ONE, "-n", "2", "--patience=3", framework=DYING)
    assert seen.code == 1
    assert verdicts(seen.report) == {SINE: "pass", exp: "crash", negative: "crash", mm: "timeout", ONE: "pass"}
    lost = {failure.op: failure for failure in seen.report.failures}
    assert {op: failure.verdict for op, failure in lost.items()} == {
        "exp": "crash", "negative": "crash", "mm": "timeout"
    }  # fmt: skip
    for op, failure in lost.items():
        assert f"tiny.{op}(" in failure.code
        assert f"tiny.{op}(" in failure.script
        program = codec.from_json(failure.program)
        assert codec.from_json(json.loads(Path(failure.replay or "").read_text())) == program
    assert seen.report.footer is not None
    assert seen.report.footer.verdict == "complete"
    assert not list(tmp_path.glob("journal-*"))


@pytest.mark.slow
def test_a_process_that_dies_while_a_failure_is_described_is_told_with_the_program_it_died_of(tmp_path):
    seen = run(tmp_path, SINE, ONE, "-n", "1", framework="tests.frameworks.adapters.dying:DyingLater")
    assert verdicts(seen.report) == {SINE: "crash", ONE: "pass"}
    program = codec.from_json(seen.failure.program)
    assert not any(isinstance(step, BackwardCall) for step in program), "finite differences need the forward pass alone"


@pytest.mark.slow
def test_a_run_that_nobody_could_end_is_told_by_the_next(tmp_path):
    journal = Journal(tmp_path, "main")
    journal.begin(EXP, "gradients/op", "exp")
    journal.write(parse(SINE_PROGRAM.replace("sin", "exp")))
    faulthandler.cancel_dump_traceback_later()
    seen = run(tmp_path, SINE)
    assert seen.code == 0
    assert "the previous run with this report folder died; the program that it was running is in" in seen.output
    assert (tmp_path / "replay" / "gradients-op.op-exp.json").exists()
    assert not list(tmp_path.glob("journal-*"))


@pytest.mark.slow
def test_an_error_that_nobody_can_name_breaks_the_rule(tmp_path):
    seen = run(tmp_path, ONE, framework=f"{WRONG}:Cryptic")
    assert seen.code == 1
    assert seen.failure.rule == "lifetime/same-root-raises"
    assert seen.failure.observed.startswith(
        "raised an error that the adapter's `classify` does not know (GraphFreed: an earlier backward call"
    )
    assert "graph freed" in seen.failure.allowed[0].outcome


@pytest.mark.slow
def test_what_a_framework_lacks_does_not_apply(tmp_path):
    several = "suites/test_gradients.py::test_several_results"
    roots = "suites/test_gradients.py::test_several_roots"
    seen = run(tmp_path, COSINE, several, roots, ONE)
    assert seen.code == 0
    assert verdicts(seen.report) == dict.fromkeys((COSINE, several, roots), "not applicable") | {ONE: "pass"}
    reasons = {result.test: result.reason for result in seen.report.results}
    assert reasons[COSINE] == "tiny has no cos"
    assert reasons[roots] == "not claimed: one backward call over several roots"
    assert reasons[several] == "needs an op with several results, on values with several elements"
    assert "cos" in seen.report.header.framework.missing_ops


# -- replay ----------------------------------------------------------------------------------------------------------

SINE_PROGRAM = "a = leaf [1, 2]\nb = sin a\nbackward b with [1, 1]"


@pytest.mark.slow
def test_replay_says_fixed_or_still_failing(tmp_path):
    program = written(tmp_path / "sine.json", SINE_PROGRAM)
    fixed = run(tmp_path / "report", f"--replay={program}")
    assert (fixed.code, fixed.output.splitlines()[-1]) == (0, f"{program}: fixed")
    failing = run(tmp_path / "report", f"--replay={program}", framework=f"{WRONG}:WrongSine")
    assert (failing.code, failing.output.splitlines()[-1]) == (1, f"{program}: still failing (gradients/op)")
    assert "tiny.sin(a)" in failing.output
    assert program.read_text() == json.dumps(codec.to_json(parse(SINE_PROGRAM)))
    assert not (tmp_path / "report").exists(), "a replay leaves nothing behind"


def test_replay_says_why_a_file_cannot_run(tmp_path):
    files = {
        "not JSON: Expecting value at line 2, column 12": '{"version": 1,\n "steps":  ]}',
        "program version 9 is not 1": '{"version": 9}',
        "unknown op 'sine'": json.dumps(codec.to_json(parse(SINE_PROGRAM))).replace('"sin"', '"sine"'),
        "tiny lacks the op cos": json.dumps(codec.to_json(parse(SINE_PROGRAM))).replace('"sin"', '"cos"'),
        "tiny lacks one backward call over several roots": json.dumps(
            codec.to_json(parse("a = leaf [1]\nb = sin a\nbackward b, b with none, none"))
        ),
        "No such file or directory": None,
    }
    options = []
    for n, content in enumerate(files.values()):
        path = tmp_path / f"{n}.json"
        if content:
            path.write_text(content)
        options.append(f"--replay={path}")
    seen = run(tmp_path / "report", *options)
    assert seen.code == 4
    said = seen.output.splitlines()
    for line, problem in zip(said[-len(files) :], files, strict=True):
        assert ": cannot run (" in line
        assert problem in line
    assert "Traceback" not in seen.output


def test_a_folder_without_programs_cannot_be_replayed(tmp_path):
    seen = run(tmp_path / "report", f"--replay={tmp_path}")
    assert seen.code == 4
    assert f"ERROR: --replay={tmp_path}: the folder has no program files (*.json)" in seen.output


# -- interruptions and cut files -------------------------------------------------------------------------------------


def _interruptible() -> None:
    """Makes a process react to SIGINT. A shell lets background processes ignore it, and child processes
    inherit this.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.slow
def test_an_interrupted_run_says_so(workers, tmp_path):
    words, environment = command(tmp_path, "suites/test_lifetime.py", "-n", workers, framework=f"{WRONG}:Slow")
    with subprocess.Popen(
        words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        preexec_fn=_interruptible,
    ) as process:  # fmt: skip
        wait_for(tmp_path / "records.jsonl", '"record":"result"')
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 2, output
    report = load(tmp_path / "records.jsonl")
    assert report.footer is not None
    assert (report.footer.verdict, report.footer.exit_code) == ("interrupted", 2)
    assert len(report.results) < 9
    assert "INTERRUPTED" in (tmp_path / "report.md").read_text()


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.slow
def test_an_adapter_that_fails_later_stops_the_run(workers, tmp_path):
    seen = run(tmp_path, ONE, "-n", workers, framework=f"{UNUSABLE}:Unreadable")
    assert seen.code == 10
    assert "adapter error: tiny: read() raised NotImplementedError: to be written (unusable.py, line " in seen.output
    assert "Traceback" not in seen.output
    assert seen.report.footer is not None
    assert (seen.report.footer.verdict, seen.report.footer.exit_code) == ("interrupted", 10)
    assert seen.report.results == ()


def wait_for(path: Path, text: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not (path.exists() and text in path.read_text()):
        assert time.monotonic() < deadline, f"{path} never came to hold {text}"
        time.sleep(0.05)


@pytest.mark.slow
def test_records_that_are_cut_off_or_spoilt_are_refused(tmp_path):
    whole = run(tmp_path, ONE)
    lines = (whole.folder / "records.jsonl").read_text().splitlines(keepends=True)
    cut, spoilt = tmp_path / "cut.jsonl", tmp_path / "spoilt.jsonl"
    cut.write_text("".join(lines[:-1]))
    spoilt.write_text("".join([*lines[:2], "{'record'}\n", *lines[2:]]))

    def shown(*arguments: str | Path) -> Run:
        return finished(
            [sys.executable, "-m", "autograd_conformance.reporting", *map(str, arguments)], dict(os.environ), tmp_path
        )

    assert shown(cut, "--allow-truncated").code == 0
    without_footer, malformed = shown(cut), shown(spoilt)
    assert (without_footer.code, malformed.code) == (3, 3)
    assert f"{cut}, line {len(lines) - 1}: the file ends without a footer" in without_footer.output
    assert f"{spoilt}, line 3: malformed JSON at column 2" in malformed.output


def test_a_run_leaves_the_clone_clean():
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    left = ["report/records.jsonl", "report/replay/one.json", ".hypothesis/examples", ".cache/reference"]
    ignored = subprocess.run([git, "check-ignore", *left], cwd=ROOT, capture_output=True, text=True)
    assert ignored.stdout.split() == left
