"""Campaigns run by the command, on a cluster on this machine: results, storage and endings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("distributed")

import psutil

from autograd_conformance.campaigns.execution.results import as_one_run
from autograd_conformance.campaigns.shards.shard import Series, Shard
from autograd_conformance.campaigns.storage.storage import Storage
from autograd_conformance.reporting.merging.failures import SHAPES
from autograd_conformance.reporting.merging.merge import MergedRuns
from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.records.stream import read
from tests.campaigns import quick
from tests.campaigns.object_store import bucket
from tests.plugin.test_cli import ROOT

pytestmark = pytest.mark.slow

FAULTY = "tests.frameworks.adapters.faulty:Faulty"
REAL, QUICK = ["autograd_conformance.cli", "campaign"], ["tests.campaigns.quick"]
GUARD = 1800.0
"""A command that runs longer than this many seconds hangs."""


def command(module: list[str], folder: Path, plan: str, *words: str) -> tuple[list[str], dict[str, str]]:
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    line = [sys.executable, "-m", *module, str(folder / "plan.toml"), f"--report={folder / 'report'}", *words]
    return line, {**os.environ, "PYTHONPATH": str(ROOT), quick.SECONDS: "0.2"}


def ran(module: list[str], folder: Path, plan: str, *words: str) -> tuple[int, str]:
    """The exit code and the whole output."""
    line, environment = command(module, folder, plan, *words)
    done = subprocess.run(
        line, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=GUARD
    )
    return done.returncode, done.stdout


def untimed(report: Report) -> Report:
    """A report without times and paths."""
    assert report.footer is not None
    return replace(
        report,
        header=replace(report.header, started="", packages={}),
        results=tuple(replace(each, seconds=0.0) for each in report.results),
        failures=tuple(replace(each, replay=None, command=None, alone=None) for each in report.failures),
        footer=replace(report.footer, finished="", seconds=0.0),
    )


def test_a_campaign_comes_to_what_the_same_runs_come_to_by_themselves(tmp_path: Path) -> None:
    plan = (
        f"seeds = [1, 2]\nshard = 300\n[[work]]\nframeworks = ['{FAULTY}']\nsuites = ['lifetime::test_default_frees']"
    )
    code, said = ran(REAL, tmp_path, plan, "--workers=2", f"--storage={tmp_path / 'kept'}")
    assert code == 1, said
    assert "new: faulty 1.0: " in said
    assert "alone: " in said
    alone = MergedRuns(SHAPES)
    for seed in (1, 2):
        words = ["-n1", f"--framework={FAULTY}", f"--hypothesis-seed={seed}", "--hypothesis-profile=thorough"]
        words += ["--programs=300", "--confirm=0", f"--report={tmp_path / str(seed)}"]
        line = [sys.executable, "-m", REAL[0], *words, "suites/test_lifetime.py::test_default_frees"]
        subprocess.run(line, cwd=ROOT, stdout=subprocess.DEVNULL, timeout=GUARD)
        alone.add(read(tmp_path / str(seed) / "records.jsonl"))
    expected = as_one_run(alone, None)
    found = read(tmp_path / "report" / "faulty-1.0" / "records.jsonl")
    assert untimed(found) == untimed(expected)
    assert found.programs == expected.programs > 20
    assert found.failures
    assert all(each.alone is not None and each.alone.failed for each in found.failures[:1])
    code, said = ran(REAL, tmp_path, plan, "--workers=1", f"--storage={tmp_path / 'kept'}")
    assert (code, "2 shards of this campaign were already stored" in said) == (1, True)
    assert "new: " not in said
    assert untimed(read(tmp_path / "report" / "faulty-1.0" / "records.jsonl")) == untimed(found)


def test_what_is_known_goes_to_the_workers_with_what_it_includes(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('include = ["theirs"]')
    (tmp_path / "theirs.toml").write_text(
        '[[known]]\nrule = "gradients/op"\nop = "sin"\nany_value = true\nreason = "because"\n'
        'witness = "a = leaf 1; b = sin a; backward b"\n'
    )
    framework, suite = "tests.frameworks.adapters.wrong:WrongSine", "gradients::test_op[sin]"
    plan = f"seeds = [1, 1]\nshard = 300\n[[work]]\nframeworks = ['{framework}']\nsuites = ['{suite}']\n"
    code, said = ran(REAL, tmp_path, plan, "--workers=1", f"--storage={tmp_path / 'unknown'}")
    assert code == 1, said
    code, said = ran(REAL, tmp_path, f"{plan}known = ['mine.toml']", "--workers=1", f"--storage={tmp_path / 'known'}")
    assert (code, "known difference" in said) == (0, True), said


def test_a_campaign_in_an_object_store_continues_after_an_interruption(tmp_path: Path) -> None:
    pytest.importorskip("moto")
    with bucket() as options:
        plan = f"storage = 's3://bucket/kept'\nstorage_options = {{endpoint_url = '{options['endpoint_url']}'}}\n"
        plan += "seeds = [1, 40]\n[[work]]\nframeworks = ['a:X']\n"
        storage = Storage("s3://bucket/kept", options)
        line, environment = command(QUICK, tmp_path, plan, "--workers=2")
        with subprocess.Popen(line, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
            wait(lambda: len(storage.names("shards")) >= 5)
            process.send_signal(signal.SIGTERM)
            said, _ = process.communicate(timeout=120)
        assert process.returncode == 2
        assert "stopped; to continue, run the same command again" in said
        there = len(storage.names("shards"))
        assert 5 <= there < 40
        partial = read(tmp_path / "report" / "a-x-1.2" / "records.jsonl")
        assert partial.footer is not None
        assert partial.footer.verdict == "cut short"
        code, said = ran(QUICK, tmp_path, plan, "--workers=2")
        assert code == 1, said
        assert f"{there} shards of this campaign were already stored" in said
        assert len(storage.names("shards")) == 40
        other = plan.replace("a:X", "b:Y")
        code, said = ran(QUICK, tmp_path, other, "--workers=1")
        assert (code, "s3://bucket/kept holds another campaign: it runs a-x-" in said) == (4, True)
    found = read(tmp_path / "report" / "a-x-1.2" / "records.jsonl")
    assert found.programs == sum(quick.report(Series("a:X", (), "both", "cpu", 1), seed).programs for seed in range(41))


def test_a_framework_that_is_not_there_is_reported_by_its_worker(tmp_path: Path) -> None:
    plan = "seeds = [1, 9]\n[[work]]\nframeworks = ['no_such_module.adapter:Mine']\nsuites = ['lifetime']"
    code, said = ran(REAL, tmp_path, plan, "--workers=1", f"--storage={tmp_path / 'kept'}")
    assert code == 3, said
    assert "there is no module 'no_such_module' on the path" in " ".join(said.split())
    assert "3 shards in a row failed; the series is stopped" in said
    assert "Traceback" not in said


def test_a_scheduler_that_is_not_there_is_reported(tmp_path: Path) -> None:
    plan = "seeds = [1, 9]\n[[work]]\nframeworks = ['a:X']\n"
    words = [f"--storage={tmp_path / 'kept'}", "--scheduler=tcp://127.0.0.1:1"]
    line, environment = command(QUICK, tmp_path, plan, *words)
    environment["DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT"] = "1s"
    done = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "there is no scheduler at tcp://127.0.0.1:1" in " ".join(done.stdout.split())
    assert "Traceback" not in done.stdout + done.stderr


def test_a_shard_ends_with_the_worker_that_runs_it(tmp_path: Path) -> None:
    """As when Dask's nanny, or the system when memory is short, kills a worker."""
    series = Series("tests.frameworks.adapters.wrong:Slow", ("suites/test_lifetime.py",), "both", "cpu", 100_000)
    script = (
        "import sys; from autograd_conformance.package import sources;"
        "from autograd_conformance.campaigns.shards import shard, work;"
        "from autograd_conformance.campaigns.storage import storage;"
        "series = shard.Series(sys.argv[1], ('suites/test_lifetime.py',), 'both', 'cpu', 100_000);"
        "work.run(shard.Shard(series, 1), storage.Storage(sys.argv[2]), sources.suite())"
    )
    words = [sys.executable, "-c", script, series.framework, str(tmp_path / "kept")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    worker = subprocess.Popen(words, cwd=ROOT, env=environment)
    try:
        started = psutil.Process(worker.pid)
        # the command, its watched child, the worker of the child, and the audit of the worker
        wait(lambda: len(started.children(recursive=True)) >= 4)
        shard = started.children(recursive=True)
    finally:
        worker.kill()
        worker.wait()
    assert not psutil.wait_procs(shard, timeout=30)[1], "some are alive"
    assert Storage(str(tmp_path / "kept")).read(Shard(series, 1).name) is None


def wait(until: object, seconds: float = 120.0) -> None:
    assert callable(until)
    deadline = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.1)
