"""The site in a real browser: no console messages, no requests to other hosts, and copied scripts run.

Requires Playwright and a Chromium: Debian's, or the one that the variable CHROMIUM names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from autograd_conformance.reporting.drawing.pictures import pictures
from autograd_conformance.reporting.records.flow import GradientFlow
from autograd_conformance.reporting.records.records import Framework, Report, Result, RuleRecord
from autograd_conformance.reporting.site.build import build
from autograd_conformance.reporting.site.documents import DOCS
from tests.reporting.miniatures import BEHAVIOUR, CLAIMS, CRASH, FAILURE, FOOTER, HEADER, KNOWN, PASSES, RULES
from tests.reporting.test_drawing import FLOW, LEAF

playwright = pytest.importorskip("playwright.sync_api", reason="the browser's tests need the extra `browser`")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM, reason="no Chromium is installed")]

SCRIPT = (
    'import math\n\nwrong = 2 * math.sin(1.5)  # 1\nprint("a.grad is", f"{wrong:.4f}")\nprint("<&> \\"quoted\\"")\n'
)
BROKEN = Report(
    HEADER, RULES, PASSES, (replace(FAILURE, script=SCRIPT), CRASH), FOOTER, (KNOWN,), CLAIMS, (), (BEHAVIOUR,)
)
OTHER = replace(HEADER, framework=Framework("another", "3", ("retain",), 9, ()))
FINE = Report(OTHER, RULES, PASSES, (), FOOTER)
EARLIER = Report(
    replace(HEADER, framework=Framework("another", "2", ("retain",), 9, ())), RULES, PASSES[:1], (), FOOTER
)
FINDING = "finding/batch-norm-takes-its-neighbours-for-its-weight-a-silently-wr.html"
KINDS = (
    *("index.html", "run/toytorch-1.2.html", "rule/gradients-op.html", "failure/toytorch-1.2.1.1.html"),
    *("articles.html", "catches.html", "findings.html", FINDING),
)


@dataclass
class Browsing:
    """A page in a browser, with the errors that occurred while it was used."""

    page: Any
    root: str
    troubles: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        self.page.goto(f"{self.root}/{path}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("site")
    build([BROKEN, FINE], folder, DOCS)
    return folder.as_uri()


@pytest.fixture(params=["light", "dark"])
def theme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def browsing(browser: Any, root: str) -> Iterator[Browsing]:
    yield from _browsing(browser, root)


def _browsing(browser: Any, root: str, **options: Any) -> Iterator[Browsing]:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"], **options)
    used = Browsing(context.new_page(), root)
    used.page.on("console", lambda message: used.troubles.append(message.text))
    used.page.on("pageerror", lambda error: used.troubles.append(str(error)))
    used.page.on(
        "request", lambda asked: None if asked.url.startswith((root, "data:")) else used.troubles.append(asked.url)
    )
    yield used
    context.close()
    assert not used.troubles


def _seen(used: Browsing) -> list[str]:
    return [each.inner_text().strip() for each in used.page.query_selector_all("tr.rule th") if each.is_visible()]


def _columns(used: Browsing) -> list[str]:
    return [each.inner_text() for each in used.page.query_selector_all("thead th.run b")]


def _versions(used: Browsing) -> list[str]:
    return [each.inner_text() for each in used.page.query_selector_all("thead th.run span") if each.is_visible()]


def test_families_open_and_close_by_mouse_and_keyboard(browsing: Browsing) -> None:
    browsing.open("index.html")
    assert _seen(browsing) == []
    button = browsing.page.locator("tbody[data-family=lifetime] button")
    button.click()
    assert len(_seen(browsing)) == 2 and button.get_attribute("aria-expanded") == "true"
    button.focus()
    browsing.page.keyboard.press("Enter")
    assert _seen(browsing) == [] and button.get_attribute("aria-expanded") == "false"


def test_filters_find_rules_and_a_link_leads_back_to_the_state(browsing: Browsing) -> None:
    browsing.open("index.html")
    page = browsing.page
    page.select_option("select[name=verdict]", "defect")
    assert len(_seen(browsing)) == 2
    page.fill("input[name=text]", "freed graph")
    assert len(_seen(browsing)) == 1 and page.inner_text(".count") == "1 of 3 rules"
    page.select_option("select[name=columns]", "passed")
    assert _columns(browsing) == ["another", "toytorch"]
    page.click("text=Copy link to this view")
    link = page.evaluate("navigator.clipboard.readText()")
    page.goto("about:blank")
    browsing.troubles.clear()  # about:blank is no request of the site's
    page.goto(link)
    assert page.input_value("input[name=text]") == "freed graph"
    assert page.input_value("select[name=verdict]") == "defect"
    assert len(_seen(browsing)) == 1 and _columns(browsing) == ["another", "toytorch"]
    page.click("text=Reset")
    assert "#" not in page.url and _seen(browsing) == []


def test_columns_keep_their_cells_when_they_are_sorted(browsing: Browsing) -> None:
    browsing.open("index.html#columns=failed&family=lifetime")
    row = browsing.page.locator("tr.rule", has_text="same-root-raises")
    assert _columns(browsing) == ["toytorch", "another"]
    assert [cell.inner_text().split()[0] for cell in row.locator("td").all()[2:]] == ["✗", "✓"]
    browsing.page.select_option("select[name=columns]", "passed")
    assert [cell.inner_text().split()[0] for cell in row.locator("td").all()[2:]] == ["✓", "✗"]


def test_older_versions_are_shown_on_request(browser: Any, tmp_path: Path) -> None:
    build([EARLIER, FINE, BROKEN], tmp_path)
    for used in _browsing(browser, tmp_path.as_uri()):
        used.open("index.html")
        page = used.page
        assert _versions(used) == ["3", "1.2"]
        page.select_option("select[name=versions]", "all")
        assert _versions(used) == ["2", "3", "1.2"] and "versions=all" in page.url
        assert {len(row.query_selector_all("td:visible")) for row in page.query_selector_all("tr.family")} == {5}
        page.click("text=Reset")
        assert _versions(used) == ["3", "1.2"]


def test_a_failure_is_opened_and_its_script_copied_and_run(browsing: Browsing, tmp_path: Path) -> None:
    browsing.open("index.html#open=lifetime")
    browsing.page.locator("tr.rule", has_text="same-root-raises").locator("td.wrong a").click()
    browsing.page.locator("section", has_text="The shortest program found").locator("button.copy").click()
    browsing.page.wait_for_selector(".said:has-text('Copied the script.')")
    copied = browsing.page.evaluate("navigator.clipboard.readText()")
    assert copied == SCRIPT
    file = tmp_path / "copied.py"
    file.write_text(copied)
    ran = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True)
    assert ran.stdout == 'a.grad is 1.9950\n<&> "quoted"\n'


@pytest.mark.parametrize("path", KINDS)
def test_a_page_fits_a_phone(browser: Any, root: str, theme: str, path: str) -> None:
    for used in _browsing(browser, root, viewport={"width": 360, "height": 740}, color_scheme=theme):
        used.open(path)
        assert used.page.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize(
    ("path", "tables"),
    [("run/toytorch-1.2.html", ("Families", "Rules")), ("rule/gradients-op.html", ("Frameworks",))],
)
def test_a_phone_shows_all_columns(browser: Any, root: str, path: str, tables: tuple[str, ...]) -> None:
    """The tables that answer a reader's first questions have no column that is cut off or has to be scrolled to."""
    for used in _browsing(browser, root, viewport={"width": 400, "height": 800}):
        used.open(path)
        for table in tables:
            shown = used.page.locator(f".scroll[aria-label='{table}']")
            assert shown.evaluate("it => it.scrollWidth - it.clientWidth") <= 0, table


def test_a_family_has_no_number_in_the_column_of_frameworks_that_pass(browsing: Browsing) -> None:
    browsing.open("index.html")
    assert browsing.page.locator("tr.family td.passing").all_inner_texts() == [""] * 2


@pytest.mark.parametrize("path", KINDS)
def test_a_page_has_no_serious_finding_of_axe(browser: Any, root: str, theme: str, path: str) -> None:
    axe = os.environ.get("AXE")  # the path of axe.min.js, of the npm package axe-core
    if not axe:
        pytest.skip("AXE does not name axe.min.js")
    for used in _browsing(browser, root, color_scheme=theme):
        used.open(path)
        if path == "index.html":
            used.page.click("text=Open all")
        assert not _serious(used, axe)


def _serious(used: Browsing, axe: str) -> list[tuple[str, list[str]]]:
    """Serious accessibility problems that axe finds on the open page."""
    used.page.add_script_tag(path=axe)
    found = used.page.evaluate("axe.run({ preload: false }).then((r) => r.violations)")
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    return [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in serious]


def test_the_theme_is_chosen_and_kept(browsing: Browsing) -> None:
    browsing.open("index.html")
    button = browsing.page.locator("button.theme")
    button.click()
    button.click()
    assert button.inner_text() == "Theme: dark"
    browsing.open("run/toytorch-1.2.html")
    assert browsing.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_matrix_of_thirty_columns_and_150_rules_is_there_in_a_second(browser: Any, tmp_path: Path) -> None:
    rules = tuple(
        RuleRecord(rule=f"family{n // 10}/rule-{n}", family=f"family{n // 10}", level="MUST", sentence="It MUST hold.")
        for n in range(150)
    )
    results = tuple(
        Result(
            test=f"t::{rule.rule}", rule=rule.rule, verdict="pass", programs=60, exercised={rule.rule: 60}, seconds=1
        )
        for rule in rules
    )
    reports = [
        Report(replace(HEADER, framework=Framework(f"framework{n}", "1", (), 9, ())), rules, results, (), FOOTER)
        for n in range(30)
    ]
    started = time.monotonic()
    build(reports, tmp_path)
    assert time.monotonic() - started < 30
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 20 * 2**20
    for used in _browsing(browser, tmp_path.as_uri()):
        used.open("index.html")
        interactive = used.page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        assert interactive < 1000
        used.page.click("text=Open all")
        assert len(used.page.query_selector_all("tbody:not(.shut) tr.rule")) == 150


def test_a_frameworks_page_has_a_chart_of_its_runs(browser: Any, tmp_path: Path, theme: str) -> None:
    build([FINE, EARLIER], tmp_path)
    for used in _browsing(browser, tmp_path.as_uri(), viewport={"width": 360, "height": 740}, color_scheme=theme):
        used.open("run/another-3.html")
        chart = used.page.get_by_role("img", name="another 2: ")
        assert chart.is_visible() and chart.locator("g.bar rect").count() == 4
        assert used.page.evaluate("document.documentElement.scrollWidth") == 360
        if axe := os.environ.get("AXE"):
            assert not _serious(used, axe)


def test_a_drawing_marks_the_wrong_gradient_on_a_page_and_as_a_file(browser: Any, tmp_path: Path, theme: str) -> None:
    program = {"version": 1, "instructions": [LEAF, {"do": "apply", "op": "sin", "args": ["%0"]}]}
    wrong = replace(FLOW.gradients[1], line=1, through=(2,))
    failure = replace(FAILURE, program=program, at=1, flow=GradientFlow(gradients=(wrong,)))
    build([replace(BROKEN, failures=(failure,))], tmp_path)
    (picture,) = pictures(failure)
    (tmp_path / "picture.svg").write_text(picture.file, encoding="utf-8")
    for used in _browsing(browser, tmp_path.as_uri(), color_scheme=theme):
        colours = []
        for path in ("failure/toytorch-1.2.1.1.html", "picture.svg"):
            used.open(path)
            box = used.page.locator(".drawing .gradient" if path.endswith("html") else "g.gradient")
            assert box.is_visible() and "expected 2" in box.inner_html()
            colours.append(box.locator("rect").evaluate("each => getComputedStyle(each).fill"))
        assert colours[0] == colours[1] == ("rgb(255, 217, 214)" if theme == "light" else "rgb(86, 26, 26)")
