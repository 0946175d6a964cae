"""The site of example records: all links work, texts of frameworks are never markup, no page contacts another host, and
foreign files in the output folder are never overwritten.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from autograd_conformance.reporting import command
from autograd_conformance.reporting.analysis.rule_verdicts import ORDER
from autograd_conformance.reporting.prose import unique_slugs
from autograd_conformance.reporting.records.failure import Allowed, LineGroup
from autograd_conformance.reporting.records.flow import GradientFlow, SavedTensor, ValueGradient
from autograd_conformance.reporting.records.records import Framework, KnownRecord, Report
from autograd_conformance.reporting.records.terms import Source
from autograd_conformance.reporting.site.build import FolderInUse, build
from autograd_conformance.reporting.site.documents import DOCS
from autograd_conformance.reporting.site.matrix import SIGNS, violation_bound
from autograd_conformance.reporting.site.runs import runs
from tests.reporting.miniatures import (  # fmt: skip
    BEHAVIOUR,
    BROKEN,
    CLAIMS,
    COVERAGE,
    CRASH,
    EVERY,
    FAILURE,
    FOOTER,
    HEADER,
    KNOWN,
    OP,
    PASSES,
    RAISES,
    RARE,
    RULES,
    SOUND,
    written,
)

FULL = replace(BROKEN, known=(KNOWN,), claims=CLAIMS, coverage=(COVERAGE, RARE), behaviours=(BEHAVIOUR,))
OTHER = replace(
    HEADER, framework=Framework("other", "3", ("retain",), 9, ()), suite="0.0", started="2025-01-01T00:00:00Z"
)
OLDER = Report(OTHER, RULES[:2], PASSES[:2], (), FOOTER)
EVIL = (
    '<script>alert(1)</script><img src=x onerror=alert(2)>"\' onclick="alert(3)" {{ 7 * 7 }} \u202e\x00\x1b[31m \ud800'
)


class Read(HTMLParser):
    """A page, parsed like in a browser."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def ids(self) -> list[str]:
        return [attrs["id"] or "" for _, attrs in self.tags if "id" in attrs]

    @property
    def addresses(self) -> Iterator[tuple[str, str]]:
        for tag, attrs in self.tags:
            for name in ("href", "src", "action", "data", "poster", "srcset", "xlink:href", "formaction"):
                if attrs.get(name) is not None:
                    yield tag, attrs[name] or ""


def all_pages(folder: Path) -> list[Read]:
    return [Read(path) for path in sorted(folder.rglob("*.html"))]


def sound(folder: Path) -> list[Read]:
    """The pages of a site, after a check that all links work and no other host is contacted."""
    found = all_pages(folder)
    by_path = {page.path.resolve(): page for page in found}
    for page in found:
        assert len(page.ids) == len(set(page.ids)), page.path
        assert [tag for tag, _ in page.tags].count("h1") == 1, page.path
        for tag, address in page.addresses:
            if urlsplit(address).scheme in ("http", "https") and tag == "a":
                continue
            if address == "data:," and tag == "link":
                continue
            assert not urlsplit(address).scheme and not urlsplit(address).netloc, (page.path, tag, address)
            path, fragment = unquote(urlsplit(address).path), unquote(urlsplit(address).fragment)
            target = (page.path.parent / path).resolve() if path else page.path.resolve()
            assert target.is_file() and target.is_relative_to(folder.resolve()), (page.path, address)
            if fragment and "=" not in fragment:
                assert fragment in by_path[target].ids, (page.path, address)
        scripts = [attrs for tag, attrs in page.tags if tag == "script"]
        assert [urlsplit(each["src"] or "").path.rpartition("/")[2] for each in scripts] == ["site.js"]
        assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs), page.path
        assert not {"iframe", "object", "embed", "base"} & {tag for tag, _ in page.tags}
    return found


def test_all_links_work_and_no_other_host_is_contacted(tmp_path: Path) -> None:
    site = build([FULL, OLDER, SOUND], tmp_path / "site")
    found = sound(tmp_path / "site")
    assert len(found) == 1 + len(site.runs) + len(RULES) + len(FULL.failures)
    for path in (tmp_path / "site" / "static").iterdir():
        text = path.read_text(encoding="utf-8")
        assert not any(sign in text for sign in ("//www", "://", "@import", "url("))


def test_the_matrix_says_verdicts_by_colour_sign_and_word(tmp_path: Path) -> None:
    build([FULL, OLDER], tmp_path)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert '<td class="wrong"><a href="failure/toytorch-1.2.' in page
    assert '<span aria-hidden="true">✗</span><span class="hidden">fail</span>' in page
    assert '<td class="pass"><span aria-hidden="true">✓</span><span class="hidden">pass</span></td>' in page
    assert "The runs used different versions of the suite" in page and 'class="absent"' in page
    assert len({sign.text for sign in SIGNS.values()}) == len(SIGNS) == len(ORDER)


def test_a_known_difference_is_no_defect_and_no_pass(tmp_path: Path) -> None:
    build([replace(SOUND, known=(KNOWN,))], tmp_path)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if "/op</a>" in line or ">op</a>" in line)
    assert (
        '<td class="known"><span aria-hidden="true">≠</span>' in row
        and 'data-groups="different|known difference"' in row
    )
    assert '<td class="passing">0 / 1</td>' in row


def test_a_failure_page_shows_every_part(tmp_path: Path) -> None:
    build([FULL], tmp_path)
    found = {page.path.name: page for page in all_pages(tmp_path / "failure")}
    text = next(page.text for page in found.values() if RAISES in page.text and "2.5e+15" in page.text)
    for shown in (
        FAILURE.sentence, FAILURE.observed, "raises: no grad", FAILURE.script.strip(), FAILURE.why[1].text, "[4.0]",
        str(FAILURE.diagnosis), str(FAILURE.variation), str(FAILURE.command), "suites/test_lifetime.py",
    ):  # fmt: skip
        assert shown in text


def test_a_replay_file_holds_the_program(tmp_path: Path) -> None:
    site = build([FULL], tmp_path)
    page = site.runs[0].page_of(FAILURE)
    form = json.loads((tmp_path / "replay" / f"{page.slug}.json").read_text(encoding="utf-8"))
    assert form == {"rule": RAISES, "framework": {"name": "toytorch", "version": "1.2"}, "seed": 7, **FAILURE.program}


def test_nothing_that_a_record_says_is_markup(tmp_path: Path) -> None:
    big = "x" * 100_000
    program = {"instructions": [{"do": "leaf", "dtype": EVIL, "data": [EVIL]}, {"do": EVIL, "target": "%0"}]}
    failure = replace(
        FAILURE, op=EVIL, test=EVIL, sentence=EVIL, observed=EVIL + big, allowed=(Allowed(EVIL, EVIL),), code=EVIL,
        loop=EVIL, other=EVIL, script=EVIL + big, diagnosis=EVIL, variation=EVIL, command=EVIL, replay=EVIL, at=0,
        sources=(Source(EVIL, "javascript:alert(4)"), Source(EVIL, "https://x.example/\"onclick=alert(5)")),
        program=program,
        flow=GradientFlow(
            gradients=(ValueGradient(name=EVIL, line=1, through=(2, 9**9), expected=EVIL, observed=EVIL, right=False),),
            saved=(SavedTensor(line=1, name=EVIL, version=0, now=3), SavedTensor(line=99, name=EVIL, version=0, now=0)),
        ),
        groups=(LineGroup("unit", (1, 2, 10**9)), LineGroup("unit", (77,))),
    )  # fmt: skip
    sources = (Source(EVIL, "javascript:alert(7)"),)
    framework = Framework("../../" + EVIL + big, EVIL, (EVIL,), 1, (EVIL,), (EVIL,), sources)
    header = replace(HEADER, framework=framework, device=EVIL, platform=EVIL, packages={EVIL: EVIL}, suite=EVIL)
    rules = (replace(RULES[0], sentence=EVIL, family=EVIL, needs=(), sources=failure.sources), *RULES[1:])
    known = KnownRecord(rule=OP, op=EVIL, reason=EVIL, link="javascript:alert(6)", seen=3)
    claims = tuple(replace(claim, says=EVIL, article=EVIL, truth=EVIL + "`" + EVIL + "`") for claim in CLAIMS)
    coverage = (replace(COVERAGE, op=EVIL),)
    behaviours = (replace(BEHAVIOUR, instruction=EVIL, allowed=(Allowed(EVIL, EVIL),) * 2, seen={EVIL: 1}),)
    report = Report(header, rules, PASSES, (failure, CRASH), FOOTER, (known,), claims, coverage, behaviours)
    build([report], tmp_path / "site")
    for page in sound(tmp_path / "site"):
        source = page.path.read_text(encoding="utf-8")
        assert not any(sign in source for sign in ("\u202e", "\x00", "\x1b")), page.path
        assert not any(urlsplit(address).scheme == "javascript" for _, address in page.addresses)
        assert "{{ 7 * 7 }}" in source and len(source) < 1_000_000
    assert not [path for path in tmp_path.iterdir() if path.name != "site"]


def test_a_folder_with_anything_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(FolderInUse, match="something other than an earlier site"):
        build([SOUND], tmp_path)
    listed = tmp_path / "listed"
    listed.mkdir()
    (listed / "site.json").write_text(
        json.dumps({"made by": "autograd-conformance report site", "files": ["../thesis.tex"]})
    )
    with pytest.raises(FolderInUse):
        build([SOUND], listed)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_site_replaces_the_one_before_it(tmp_path: Path) -> None:
    build([FULL], tmp_path)
    (tmp_path / "CNAME").write_text("mine.example")
    before = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")}
    build([SOUND], tmp_path)
    after = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")}
    assert before - after == {path for path in before if path.startswith("failure/")}
    assert (tmp_path / "CNAME").exists() and (tmp_path / ".nojekyll").exists()
    sound(tmp_path)


def test_two_builds_are_equal(tmp_path: Path) -> None:
    for name in ("one", "two"):
        build([FULL, OLDER, SOUND], tmp_path / name)
    one, two = (
        {p.relative_to(f): p.read_bytes() for p in f.rglob("*.*")} for f in (tmp_path / "one", tmp_path / "two")
    )
    assert one == two and any(b'aria-label="toytorch' in text for text in one.values())


def test_runs_of_one_version_have_different_titles() -> None:
    cuda = replace(SOUND, header=replace(HEADER, device="cuda", started="2026-02-02T00:00:00Z"))
    assert [run.detail for run in runs([SOUND, cuda, OLDER])] == ["cpu", "cuda", ""]
    again = replace(SOUND, header=replace(HEADER, started="2026-02-02T00:00:00Z"))
    assert [run.detail for run in runs([SOUND, again])] == ["2026-01-02 03:04:05", "2026-02-02 00:00:00"]
    assert len(runs([SOUND, SOUND])) == 1


def test_file_names_are_plain_and_unique() -> None:
    made = list(unique_slugs(["A b", "a-b", "a/b", "../..", "", "é", "a-b-2", "x" * 900]))
    assert len(set(made)) == len(made)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-") and 0 < len(name) < 80 for name in made)
    assert not any(name.startswith(".") or ".." in name for name in made)


def test_a_pass_bounds_how_often_a_rule_is_broken() -> None:
    assert [violation_bound(count) for count in (0, 1, 60, 3000)] == [None, 1, 20, 1001]
    assert (1 - 1 / 20) ** 60 <= 0.05 < (1 - 1 / 21) ** 60  # at one in twenty, sixty passes are no luck any more


def test_the_command_makes_a_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path / "r.jsonl", *EVERY)
    assert command.main(["site", str(tmp_path / "site"), str(file), str(file)]) == 0
    assert "1 run" in capsys.readouterr().out
    assert command.main(["site", str(tmp_path), str(file)]) == command.USAGE
    assert "choose an empty or new folder" in capsys.readouterr().err
    cut = written(tmp_path / "cut.jsonl", *EVERY[:-1])
    assert command.main(["site", str(tmp_path / "site"), str(file), str(cut)]) == command.INVALID
    assert "cut.jsonl" in capsys.readouterr().err
    assert command.main(["site", str(tmp_path / "site"), "--allow-truncated", str(cut)]) == 0
    assert "TRUNCATED" in (tmp_path / "site" / "run" / "toytorch-1.2.html").read_text(encoding="utf-8")


def test_documents_become_pages_with_links_to_rules_and_to_each_other(tmp_path: Path) -> None:
    docs, folder = tmp_path / "docs", tmp_path / "site"
    (docs / "results").mkdir(parents=True)
    (docs / "results" / "matrix.md").write_text(
        "<!-- made -->\n\n# Caught\n\n| a | b |\n|:--|--:|\n| `x` | 1 |\n\n## By hand\n"
    )
    (docs / "results" / "fresh.md").write_text("# Fresh\n\nSee [the matrix](matrix.md) and [no page](../ops.md#a).\n")
    (docs / "findings.md").write_text(
        f"# Found\n\n## toytorch\n\nOf floats.\n\n### `sin` < 2\n\n```python\nprint(1 < 2)\n```\n\n`{RAISES}`\n\n"
        "### Another\n\n## other\n\n### Another\n"
    )
    build([SOUND], folder, docs)
    pages = {page.path.relative_to(folder).as_posix(): page for page in sound(folder)}
    assert (
        not (folder / "articles.html").exists() and "articles.html" not in dict(pages["index.html"].addresses).values()
    )
    caught = (folder / "catches.html").read_text(encoding="utf-8")
    assert '<a href="catches.html">the matrix</a>' in caught and "and no page." in caught and "made -->" not in caught
    assert '<td class="num">1</td>' in caught and '<h2 id="fresh">' in caught
    made = {name for name in pages if name.startswith("finding/")}
    assert made == {"finding/sin-2.html", "finding/another.html", "finding/another-2.html"}
    assert made < {address for _, address in pages["findings.html"].addresses}
    finding = pages["finding/sin-2.html"]
    assert "print(1 < 2)" in finding.text and "Of floats." in finding.text
    assert ("a", f"../rule/{RAISES.replace('/', '-')}.html") in finding.addresses
    assert ("a", "../finding/sin-2.html") in pages[f"rule/{RAISES.replace('/', '-')}.html"].addresses
    build([SOUND], folder, tmp_path / "nowhere")
    assert not list(folder.glob("finding/*.html")) and "pages" not in (folder / "index.html").read_text(
        encoding="utf-8"
    )


def test_the_suites_own_documents_are_sound_pages(tmp_path: Path) -> None:
    build([SOUND], tmp_path, DOCS)
    found = {page.path.relative_to(tmp_path).as_posix() for page in sound(tmp_path)}
    assert {"articles.html", "catches.html", "findings.html"} < found
    headings = (DOCS / "findings.md").read_text(encoding="utf-8").count("\n### ")
    assert len([name for name in found if name.startswith("finding/")]) == headings
