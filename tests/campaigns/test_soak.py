"""A soak adds runs to its log, continues after an interruption, and reports errors in the log."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from autograd_conformance.campaigns.soak import ROOT, RUN_LOG, Run, main, page, run_log
from tests.frameworks.adapters.few import FewOverwritten

RESULTS = ROOT / "docs" / "results"
FRAMEWORK = ["--framework", "tests.frameworks.adapters.few:Few"]
FEW = [*FRAMEWORK, "--programs", "60", "--workers", "0", "--first-seed", "5", "--"]
TESTS = ["suites/test_detach.py", "--hypothesis-profile=quick", "-k", "test_values"]


@pytest.mark.slow
def test_it_runs_until_enough_programs_were_judged_and_continues_from_there(tmp_path: Path, capsys):
    folder = ["--folder", str(tmp_path)]
    assert main([*folder, *FEW, *TESTS]) == 0
    log = tmp_path / RUN_LOG
    runs = run_log(log)
    assert [run.seed for run in runs] == [5]
    assert runs[0].programs >= 60
    assert runs[0].complete
    assert not runs[0].failures
    assert main([*folder, *FEW, *TESTS]) == 0
    assert run_log(log) == runs, "there were enough programs already"
    assert "1 runs" in capsys.readouterr().out
    more = ["--programs", str(runs[0].programs + 1)]
    assert main([*folder, *FRAMEWORK, *more, "--workers", "0", "--", *TESTS]) == 0
    assert [run.seed for run in run_log(log)] == [5, 6]
    assert main([*folder, *FRAMEWORK, "--programs", "1", "--workers", "0", "--", *TESTS, "-x"]) == 0
    assert [run.options[-1] for run in run_log(log)] == ["test_values", "test_values", "-x"], "another soak"


def test_the_run_log_is_a_page_too(tmp_path: Path):
    failure = ("detach/values in a|b: x.json",)
    runs = [
        Run(5, "torch", "2.13", "standard", 1500, 20, 3, (), 3.0, True, "abc1234", ("--framework=torch",)),
        Run(6, "mygrad", "2.5", "standard", 500, 4, 0, failure, 0.0, False, "abc1234", ("--framework=mygrad", "-x"), 1),
        Run(7, "torch", "2.13", "standard", 700, 0, 3, (), 7.0, True, "abc1234", ("--framework=remote: far",)),
    ]
    log, written = tmp_path / "soak.jsonl", tmp_path / "soak.md"
    log.write_text("".join(json.dumps(asdict(run)) + "\n" for run in runs), encoding="utf-8")
    main(["--folder", str(tmp_path), "--log", str(log), "--programs", "0", "--page", str(written)])
    text = written.read_text(encoding="utf-8")
    assert "2,700 programs" in text
    assert "1 of 3 runs had failures" in text
    assert "1 of 1 were false alarms" in " ".join(text.split())
    assert "| torch 2.13 | 2 | 2,200 | 6 | 20 | 0 | 0 |" in text
    assert "| **all** | 3 | 2,700 | 6 | 24 | 1 | 1 |" in text
    assert "| 5 | `--framework=torch` | `abc1234` | torch 2.13 | 1,500 | 3 | 20 | 0 | 0 | 500 |" in text
    assert "| 6 | `--framework=mygrad -x` | `abc1234` | mygrad 2.5, stopped | 500 | 0 | 4 | 1 | 1 |  |" in text
    assert "| 7 | `'--framework=remote: far'` |" in text
    assert "- seed 6: detach/values in a\\|b: x.json" in text
    assert "No run had a failure." in page(runs[:1])


def test_the_published_page_is_that_of_the_published_log():
    assert (RESULTS / "soak.md").read_text() == page(run_log(RESULTS / "soak.jsonl"))


def test_a_page_without_a_folder_is_reported_before_anything_runs(tmp_path: Path, capsys):
    with pytest.raises(SystemExit):
        main(["--folder", str(tmp_path), "--page", str(tmp_path / "none" / "soak.md"), *FEW, *TESTS])
    assert "--page: there is no folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_failures_are_kept_and_reported(tmp_path: Path, capsys):
    framework = ["--framework", "tests.frameworks.adapters.few:FewOverwritten"]
    tests = ["suites/test_accumulation.py", "--hypothesis-profile=quick", "-k", "test_adds"]
    assert main(["--folder", str(tmp_path), *framework, "--programs", "1", "--workers", "0", "--", *tests]) == 1
    (run,) = run_log(tmp_path / RUN_LOG)
    assert run.framework == FewOverwritten.name
    assert any(failure.startswith("accumulation/adds in ") for failure in run.failures)
    assert "accumulation/adds" in capsys.readouterr().out


@pytest.mark.parametrize("line", ["{", "[]", json.dumps({"seed": 1})])
def test_a_spoilt_run_log_is_reported_by_its_line(tmp_path: Path, capsys, line: str):
    (tmp_path / RUN_LOG).write_text(line + "\n", encoding="utf-8")
    assert main(["--folder", str(tmp_path), *FEW]) == 4
    assert "ledger.jsonl, line 1 is not a run" in " ".join(capsys.readouterr().out.split())


def test_a_run_that_cannot_be_had_is_reported(tmp_path: Path, capsys):
    assert main(["--folder", str(tmp_path), *FEW[:-1], "--framework", "nonsense"]) == 4
    assert "nonsense" in capsys.readouterr().out
