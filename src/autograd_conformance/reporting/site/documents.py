"""Pages made from documents of the checkout: articles, caught faults, and findings.

An installed package has no documents, so its sites do not have these pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from autograd_conformance.package.places import ROOT
from autograd_conformance.reporting.prose import unique_slugs
from autograd_conformance.reporting.site.markdown import Section, sections

DOCS = ROOT / "docs"
"""Folder of the documents in a checkout."""


@dataclass(frozen=True, slots=True)
class Document:
    """A page made from documents: its path, its name in the navigation, and its sections, beginning with the title."""

    path: str
    name: str
    sections: tuple[Section, ...]

    @property
    def title(self) -> Section:
        """The first section: the title and the text below it."""
        return self.sections[0]


@dataclass(frozen=True, slots=True)
class Finding:
    """A bug that the suite found: the path of the page about it, its section in the document of findings, and the
    section of its framework.
    """

    path: str
    section: Section
    framework: Section


FINDINGS = "findings.html"
"""Page that lists the findings; each finding also has a separate page."""

_PAGES = {
    "articles.html": ("The articles", ("results/articles.md",)),
    "catches.html": ("What it catches", ("results/matrix.md", "results/fresh.md")),
    FINDINGS: ("Findings", ("findings.md",)),
}
"""For the path of each page, the name of the page and the documents from which the page is made."""


def documents(folder: Path) -> tuple[Document, ...]:
    """Pages made from the documents in the folder. If a page has several documents, the later ones become sections."""
    there = {page: [name for name in names if (folder / name).is_file()] for page, (_, names) in _PAGES.items()}
    places = {name: page for page, names in there.items() for name in names}
    made = []
    for page, names in there.items():
        found: list[Section] = []
        for name in names:
            read = sections((folder / name).read_text(encoding="utf-8"), name, places)
            found += [replace(each, level=each.level + 1) for each in read] if found else read
        if found:
            slugs = unique_slugs(each.slug for each in found)
            parts = (replace(each, slug=slug) for each, slug in zip(found, slugs, strict=True))
            made.append(Document(page, _PAGES[page][0], tuple(parts)))
    return tuple(made)


def findings(document: Document) -> Iterator[tuple[Section, list[Finding]]]:
    """Yields the frameworks in the document of findings (bugs that the suite found), each as a section with its
    findings.
    """
    for at, framework in enumerate(document.sections):
        if framework.level == 2:
            below = takewhile(lambda each: each.level > 2, document.sections[at + 1 :])
            yield framework, [Finding(f"finding/{each.slug}.html", each, framework) for each in below]
