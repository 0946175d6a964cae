"""Pages made from the documents of the checkout: the articles, what the suite catches, and its findings.

An installed package has no documents, and its sites have none of these pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from autograd_conformance.places import ROOT
from autograd_conformance.reporting.site.markdown import Section, sections
from autograd_conformance.reporting.site.runs import unique

DOCS = ROOT / "docs"
"""Where the documents stand in a checkout."""


@dataclass(frozen=True, slots=True)
class Document:
    """A page that is made from documents, its name in the navigation, and all sections, the title's first."""

    path: str
    name: str
    sections: tuple[Section, ...]

    @property
    def title(self) -> Section:
        """The first section: the title, and what stands below it."""
        return self.sections[0]


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding with its page, and the section about its framework."""

    path: str
    section: Section
    framework: Section


FINDINGS = "findings.html"
"""The page that lists the findings, each of which has a page of its own."""

_PAGES = {
    "articles.html": ("The articles", ("results/articles.md",)),
    "catches.html": ("What it catches", ("results/matrix.md", "results/fresh.md")),
    FINDINGS: ("Findings", ("findings.md",)),
}
"""The name of each page, and the documents that it is made from."""


def documents(folder: Path) -> tuple[Document, ...]:
    """The pages of the documents that are in the folder; further documents of a page are parts of the first."""
    there = {page: [name for name in names if (folder / name).is_file()] for page, (_, names) in _PAGES.items()}
    places = {name: page for page, names in there.items() for name in names}
    made = []
    for page, names in there.items():
        found: list[Section] = []
        for name in names:
            read = sections((folder / name).read_text(encoding="utf-8"), name, places)
            found += [replace(each, level=each.level + 1) for each in read] if found else read
        if found:
            slugs = unique(each.slug for each in found)
            parts = (replace(each, slug=slug) for each, slug in zip(found, slugs, strict=True))
            made.append(Document(page, _PAGES[page][0], tuple(parts)))
    return tuple(made)


def findings(document: Document) -> Iterator[tuple[Section, list[Finding]]]:
    """The frameworks of the findings' document, each with what was found in it."""
    for at, framework in enumerate(document.sections):
        if framework.level == 2:
            below = takewhile(lambda each: each.level > 2, document.sections[at + 1 :])
            yield framework, [Finding(f"finding/{each.slug}.html", each, framework) for each in below]
