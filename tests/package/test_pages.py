"""The written pages: their code runs, their links lead somewhere, and what they count is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograd_conformance.harness.pages import capabilities
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.rules.catalogue import RULES

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_tape_of_the_page_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "how_it_decides.md").read_text(), re.M | re.S)
    assert sum(block.count("assert judge(") for block in blocks) >= 5
    exec("\n".join(blocks), {})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_front_page_is_short_and_counts_the_rules() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 170
    rows = re.findall(r"^\| ([a-z, ]+) \| (\d+) \| [^|]+ \|$", text, re.M)
    counted = {name: int(number) for name, number in rows}
    families = [rule.family for rule in RULES.values()]
    assert {name: sum(families.count(each) for each in name.split(", ")) for name in counted} == counted
    assert sum(counted.values()) == len(RULES)


def test_the_page_of_capabilities_is_up_to_date_and_has_them_all() -> None:
    assert {claim for claims in capabilities.GROUPS.values() for claim in claims} == set(Capability)
    assert capabilities.PAGE.read_text() == capabilities.page(), (
        "run `python -m autograd_conformance.harness.pages.capabilities`"
    )
