"""The folder of a report: one run at a time, no files of an earlier run, and one sentence if it cannot be used."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from autograd_conformance.plugin.recording.folder import ReportFolder, UnusableFolder
from autograd_conformance.reporting.records.stream import InvalidReport, load
from tests.frameworks.adapters.cramped import MOST
from tests.plugin.test_cli import ONE, ROOT, SINE, WRONG, command, finished, run, verdicts, wait_for

pytestmark = pytest.mark.slow


LIFETIME, ACCUMULATION = "suites/test_lifetime.py", "suites/test_accumulation.py"


def test_a_second_run_in_a_folder_is_refused_and_a_dead_one_is_no_run(tmp_path: Path):
    words, environment = command(tmp_path, LIFETIME, framework=f"{WRONG}:Slow")
    with subprocess.Popen(words, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL) as process:
        wait_for(tmp_path / "records.jsonl", '"record":"header"')
        seen = run(tmp_path, ONE)
        assert seen.code == 4
        assert f"another run is writing its report to {tmp_path}; name another folder with --report=DIR" in seen.output
        assert "Traceback" not in seen.output
        assert process.poll() is None, "the first run goes on"
        process.send_signal(signal.SIGKILL)
    with pytest.raises(InvalidReport, match="ends without a footer"):
        load(tmp_path / "records.jsonl")
    after = run(tmp_path, ONE)
    assert (after.code, verdicts(after.report)) == (0, {ONE: "pass"})


def test_nothing_of_an_earlier_run_stays(tmp_path: Path):
    assert run(tmp_path, SINE, framework=f"{WRONG}:WrongSine").code == 1
    assert [path.name for path in (tmp_path / "replay").iterdir()] == ["gradients-op.op-sin.json"]
    (tmp_path / "replay" / "notes.txt").write_text("mine")
    for left in ("journal-gw3", "journal-gw3.timeout"):
        (tmp_path / left).write_text("of a worker that was killed")
    assert run(tmp_path, ONE).code == 0
    assert [path.name for path in (tmp_path / "replay").iterdir()] == ["notes.txt"], "what others wrote stays"
    assert not list(tmp_path.glob("journal-*"))


def test_a_page_of_an_earlier_run_does_not_outlive_the_start_of_the_next(tmp_path: Path):
    (tmp_path / "report.md").write_text("**Conformant.**")
    folder = ReportFolder(tmp_path)
    folder.clear()
    assert not (tmp_path / "report.md").exists()
    with pytest.raises(UnusableFolder, match="another run"):
        ReportFolder(tmp_path)
    folder.release()
    ReportFolder(tmp_path).release()


@pytest.mark.parametrize("place", ["file", "file/below", "dangling"])
def test_a_folder_that_cannot_be_made(place, tmp_path: Path):
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "at all")
    seen = run(tmp_path / place, ONE)
    assert seen.code == 4
    assert f"no report can be written to {tmp_path / place}: " in seen.output
    assert "name another folder with --report=DIR" in seen.output
    assert "INTERNALERROR" not in seen.output
    assert "Traceback" not in seen.output


def test_a_device_that_is_full_from_the_beginning(tmp_path: Path):
    (tmp_path / "records.jsonl").symlink_to("/dev/full")
    seen = run(tmp_path, ONE)
    assert seen.code == 4
    assert "no report can be written: " in seen.output
    assert "No space left on device" in seen.output
    assert "Traceback" not in seen.output


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_disk_that_fills_up_ends_the_run_with_its_summary(workers, tmp_path: Path):
    run(tmp_path / "before", ONE)
    before = (tmp_path / "before" / "records.jsonl").read_text().partition('{"record":"result"')[0]
    tests = ["suites/test_gradients.py", LIFETIME, ACCUMULATION]
    words, environment = command(tmp_path, *tests, "-n", workers, framework="tests.frameworks.adapters.cramped:Cramped")
    environment[MOST] = str(len(before.encode()) + 1_000)
    done = finished(words, environment, tmp_path)
    assert done.code == 11, done.output
    said = " ".join(done.output.split())
    assert "INTERRUPTED: the report can no longer be written (" in said
    assert "NO VERDICT" in done.output
    assert f"The report is incomplete: {tmp_path / 'records.jsonl'}: File too large" in said
    assert "Traceback" not in done.output
    report = load(tmp_path / "records.jsonl", allow_truncated=True)
    assert report.footer is None
    assert {result.verdict for result in report.results} <= {"pass", "not applicable"}


@pytest.mark.parametrize("most", [0, 300, 3_000])
def test_a_disk_that_fills_up_before_the_tests_is_not_blamed_on_the_adapter(most, tmp_path: Path):
    """The gates, or the audit of the ops, cannot write their notes."""
    words, environment = command(tmp_path, ONE, framework="tests.frameworks.adapters.cramped:CrampedElsewhere")
    environment[MOST] = str(most)
    done = finished(words, environment, tmp_path)
    assert done.code == 11, done.output
    assert "temporary files can no longer be written" in done.output
    assert "adapter error" not in done.output
    assert "Traceback" not in done.output


def test_what_hypothesis_keeps_stays_out_of_the_current_folder(tmp_path: Path):
    words, environment = command(tmp_path / "report", str(ROOT / ONE))
    environment = {name: value for name, value in environment.items() if name != "HYPOTHESIS_STORAGE_DIRECTORY"}
    environment |= {"XDG_CACHE_HOME": str(tmp_path / "caches"), "PYTHONPATH": str(ROOT)}
    here = tmp_path / "here"
    here.mkdir()
    done = subprocess.run(
        words, cwd=here, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout
    assert list(here.iterdir()) == []
