"""Plans: their series, and messages about plans that cannot be run."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograd_conformance import cli as command
from autograd_conformance.campaigns.plans.plan import Amount, Plan, plan
from autograd_conformance.campaigns.plans.table import MalformedPlan, read_table
from autograd_conformance.campaigns.shards.shard import Shard, seed_of

WORK = "[[work]]\nframeworks = ['torch']\n"


def read_plan(folder: Path, text: str) -> Plan:
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return plan(read_table(folder / "plan.toml"), folder / "plan.toml")


def test_a_plan_is_a_product(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("known = []")
    plan = read_plan(
        tmp_path,
        """
        storage = "s3://bucket/nightly"
        storage_options = {endpoint_url = "http://localhost:9000"}
        shard = 5_000
        programs = 1_000_000
        first_seed = 7

        [[work]]
        frameworks = ["torch", "torch-checkpoint"]
        suites = ["lifetime", "suites/test_writes.py::test_history"]
        dtypes = ["float32", "float64"]
        devices = ["cpu", "cuda"]
        resources = {GPU = 1}

        [[work]]
        frameworks = ["mine.adapter:Mine"]
        known = ["mine.toml"]
        python = "/envs/mine/bin/python"
        confirm = 3
        patience = 5
        """,
    )
    assert (plan.storage, plan.amount) == ("s3://bucket/nightly", Amount(7, programs=1_000_000))
    assert plan.options == {"endpoint_url": "http://localhost:9000"}
    *several, mine = plan.series
    assert len(several) == 2 * 2 * 2 * 2
    assert several[0].title == "torch float32: lifetime"
    assert several[-1].title == "torch-checkpoint float64 cuda: writes.py::test_history"
    assert {tuple(each.resources.items()) for each in several} == {(("GPU", 1.0),)}
    words = Shard(mine, 9).arguments(Path("here"), Path("there"))
    assert words[:2] == ["-n1", "-q"], "as many workers wherever it runs: they share the programs"
    assert {
        "--framework=mine.adapter:Mine",
        "--framework-python=/envs/mine/bin/python",
        "--hypothesis-seed=9",
        "--programs=5000",
        "--confirm=3",
        "--patience=5",
        "--known=here/mine.toml",
        "--report=there",
    } <= set(words)
    assert not any(word.startswith("suites/") for word in words), "all of them"


def test_what_a_series_is_kept_under_hangs_on_all_that_its_verdicts_do_and_on_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("known = []")

    def name(work: str, top: str = "hours = 1") -> str:
        (series,) = read_plan(tmp_path, f"{top}\n{WORK}{work}").series
        return series.name

    same = [name(""), name("resources = {GPU = 2}"), name("", "seeds = [3, 9]"), name("suites = ['all']")]
    assert len(set(same)) == 1
    works = ["dtypes = ['float32']", "devices = ['cuda']", "suites = ['views']", "confirm = 2", "patience = 9"]
    others = [name(work) for work in [*works, "known = ['mine.toml']", "python = '/p'"]] + [
        name("", "hours = 1\nshard = 5")
    ]
    (tmp_path / "mine.toml").write_text("known = []  # changed")
    others.append(name("known = ['mine.toml']"))
    assert len({*same, *others}) == 1 + len(others)


def test_what_a_file_of_known_differences_includes_goes_along(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('include = ["theirs", "torch"]')
    (tmp_path / "theirs.toml").write_text('include = ["others"]')
    (tmp_path / "others.toml").write_text("known = []")
    (series,) = read_plan(tmp_path, f"hours = 1\n{WORK}known = ['mine.toml']").series
    assert [name for name, _ in series.known] == ["mine.toml"]
    assert dict(series.included) == {"theirs.toml": 'include = ["others"]', "others.toml": "known = []"}
    assert [word for word in series.options(Path("here")) if "known" in word] == ["--known=here/mine.toml"]
    (tmp_path / "others.toml").write_text("known = []  # changed")
    (changed,) = read_plan(tmp_path, f"hours = 1\n{WORK}known = ['mine.toml']").series
    assert changed.name != series.name
    (both,) = read_plan(tmp_path, f"hours = 1\n{WORK}known = ['mine.toml', 'others.toml']").series
    assert [[name for name, _ in each] for each in (both.known, both.included)] == [
        ["mine.toml", "others.toml"],
        ["theirs.toml"],
    ]
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "others.toml").write_text("known = []")
    with pytest.raises(MalformedPlan, match="known: two files have the same name"):
        read_plan(tmp_path, f"hours = 1\n{WORK}known = ['mine.toml', 'below/others.toml']")


def test_the_name_of_a_shard_says_its_seed(tmp_path: Path) -> None:
    (series,) = read_plan(tmp_path, f"hours = 1\n{WORK}").series
    for seed in (0, 12, 10**9):
        assert seed_of(Shard(series, seed).name) == seed
    assert seed_of("shards/x/notes.txt") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hours =", "not TOML: "),
        ("hours = 1", "it has no [[work]], which names the frameworks and suites to run"),
        (f"{WORK}", "the amount of runs is missing: name one of seeds, programs, hours"),
        (f"hours = 1\nseeds = [1, 2]\n{WORK}", "seeds and hours exclude each other"),
        (f"seeds = [2, 1]\n{WORK}", "seeds must be [FIRST, LAST], such as [1, 100], not [2, 1]"),
        (f"seeds = [true, 3]\n{WORK}", "seeds must be [FIRST, LAST]"),
        (f"seeds = [1, 2]\nfirst_seed = 3\n{WORK}", "first_seed: seeds already names the first seed"),
        (f"programs = 0\n{WORK}", "programs must be a whole number of at least 1, not 0"),
        (f"hours = inf\n{WORK}", "hours must be a number above 0, not inf"),
        (f"hours = 1\nshard = 1.5\n{WORK}", "shard must be a whole number of at least 1, not 1.5"),
        (f"hours = 1\nshards = 5\n{WORK}", "unknown key 'shards'; there are storage, "),
        (f"hours = 1\nstorage = ''\n{WORK}", "storage must be a text, not ''"),
        ("hours = 1\nwork = 3", "work must be written [[work]]"),
        ("hours = 1\n[[work]]\n", "[[work]] 1: frameworks is missing"),
        ("hours = 1\n[[work]]\nframeworks = []\n", "frameworks must be a list of at least one text, not []"),
        ("hours = 1\n[[work]]\nframeworks = 'torch'\n", "frameworks must be a list of texts, not 'torch'"),
        ("hours = 1\n[[work]]\nframeworks = ['torhc']\n", "unknown framework 'torhc'. Do you mean torch? There are: "),
        (f"hours = 1\n{WORK}suites = ['lifetimes']", "there is no suite 'lifetimes'. There are: all, accumulation"),
        (
            f"hours = 1\n{WORK}dtypes = ['float8']",
            "dtypes: 'float8' is not one of float32, float64, float16, bfloat16, both",
        ),
        (f"hours = 1\n{WORK}known = ['none.toml']", "none.toml: No such file or directory"),
        (f"hours = 1\n{WORK}known = ['plan.toml']", "plan.toml: there is no key 'hours'"),
        (f"hours = 1\n{WORK}resources = {{GPU = 0}}", "resources: GPU must be a number above 0, not 0"),
        (f"hours = 1\n{WORK}{WORK}", "torch is listed twice"),
        (f"hours = 1\n{WORK}{WORK}confirm = 1", "torch and torch would draw the same programs"),
        (f"hours = 1\n{WORK}suites = ['all', 'lifetime']", "torch and torch: lifetime would draw the same programs"),
        (
            f"hours = 1\n{WORK}suites = ['lifetime::test_history', 'writes', 'lifetime']",
            "torch: lifetime.py::test_history and torch: lifetime would draw the same programs",
        ),
    ],
)
def test_a_plan_that_cannot_be_carried_out(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(MalformedPlan) as refused:
        read_plan(tmp_path, text)
    assert said in str(refused.value)
    assert str(refused.value).startswith(str(tmp_path / "plan.toml"))


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (f"hours = 1\n{WORK}", [], "it names no storage; add one to the plan, or use --storage=URL"),
        (f"hours = 1\n{WORK}resources = {{GPU = 1}}", ["--storage=x"], "add --resources=GPU=1"),
        (f"hours = 1\n{WORK}", ["--storage=x", "--resources=GPU=many"], "'many' is no number"),
        (f"hours = 1\n{WORK}", ["--storage=x", "--scheduler=a", "--workers=2"], "are for a local cluster"),
    ],
)
def test_options_that_do_not_go_with_the_plan(tmp_path, capsys, text: str, words: list[str], said: str) -> None:
    (tmp_path / "plan.toml").write_text(text)
    assert command.main(["campaign", str(tmp_path / "plan.toml"), *words]) == 4
    assert said in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["plan.toml"], "nothing was begun"


@pytest.mark.parametrize("word", ["-1", "nan", "soon"])
def test_a_wait_that_is_no_time(tmp_path: Path, capsys: pytest.CaptureFixture[str], word: str) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["campaign", str(tmp_path / "plan.toml"), "--storage=x", f"--wait={word}"])
    assert ended.value.code == 4
    assert f"argument --wait: invalid minutes value: '{word}'" in capsys.readouterr().err


def test_a_plan_is_reported_without_running_anything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plan.toml").write_text(f"storage = 'x'\nseeds = [1, 1000]\n{WORK}resources = {{GPU = 1}}")
    assert command.main(["campaign", str(tmp_path / "plan.toml"), "--check", "--resources=GPU"]) == 0
    said = capsys.readouterr().out
    assert said == "1 series, seeds 1 to 1,000 each\n  torch: 20,000 programs a shard, needs GPU=1\n"


@pytest.mark.parametrize(
    "apart",
    [
        "suites = ['lifetime', 'writes']",
        "suites = ['lifetime::test_default_frees', 'lifetime::test_default']",
        "dtypes = ['both', 'float32']",
        "devices = ['cpu', 'cuda']",
        f"{WORK}python = 'envs/next/bin/python'",
    ],
)
def test_series_that_draw_other_programs_may_be_in_one_plan(tmp_path: Path, apart: str) -> None:
    assert len(read_plan(tmp_path, f"hours = 1\n{WORK}{apart}").series) == 2
