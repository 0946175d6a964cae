"""Writes a site: its pages, static files, badges and replay files, and a list of all files for the next build."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from autograd_conformance.reporting.drawing.pictures import STYLES
from autograd_conformance.reporting.prose import shortened
from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.records.replay import replay_text
from autograd_conformance.reporting.render import badge
from autograd_conformance.reporting.site.documents import documents
from autograd_conformance.reporting.site.pages import Page, Site, pages
from autograd_conformance.reporting.site.runs import Run, runs

STATIC = Path(__file__).with_name("static")
"""Folder of the style sheet and the script, which are copied unchanged."""

LIST = "site.json"
"""Name of the JSON file, in the folder of a site, that lists all files of the site."""

MADE_BY = "autograd-conformance report site"


class FolderInUse(Exception):
    """Raised if the output folder contains something other than a site; nothing was written."""


def build(reports: Sequence[Report], folder: Path, docs: Path | None = None) -> Site:
    """Write the site of some reports into a folder, replacing an earlier site.

    Documents of the suite in the folder `docs` become pages, too. Raises `FolderInUse` if the output folder contains
    anything else. The list of files is written first, so that a later build can replace an interrupted one.
    """
    earlier = _listed(folder)
    site = Site(runs(reports), documents(docs) if docs else ())
    made = [
        *pages(site),
        *_badges(site.runs),
        *_replays(site.runs),
        *_static(),
        Page(".nojekyll", ""),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    names = sorted({page.path for page in made})
    (folder / LIST).write_text(json.dumps({"made by": MADE_BY, "files": sorted({*names, *earlier})}), encoding="utf-8")
    for name in set(earlier) - set(names):
        (folder / name).unlink(missing_ok=True)
    for page in made:
        path = folder / page.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.text, encoding="utf-8", newline="\n")
    (folder / LIST).write_text(json.dumps({"made by": MADE_BY, "files": names}, indent=1) + "\n", encoding="utf-8")
    return site


def _replays(found: Sequence[Run]) -> Iterator[Page]:
    for run in found:
        for page in run.failures:
            if page.failure.program:
                yield Page(f"replay/{page.slug}.json", replay_text(page.failure, run.header))


def _badges(found: Sequence[Run]) -> Iterator[Page]:
    for run in found:
        yield Page(f"badge/{run.slug}.json", badge.endpoint(run.summary))
        yield Page(f"badge/{run.slug}.svg", badge.svg(run.summary, run.title))


def _static() -> Iterator[Page]:
    for path in (*sorted(STATIC.iterdir()), *STYLES):
        yield Page(f"static/{path.name}", path.read_text(encoding="utf-8"))


def _listed(folder: Path) -> list[str]:
    """Returns the files that an earlier site in the folder lists as its own; empty if the folder is empty or missing.
    Raises `FolderInUse` if the folder is not a site's.
    """
    if not folder.exists():
        return []
    if not folder.is_dir():
        raise FolderInUse(f"{folder} is a file; choose a folder for the site")
    if not any(folder.iterdir()):
        return []
    refused = FolderInUse(f"{folder} contains something other than an earlier site; choose an empty or new folder")
    try:
        form = json.loads((folder / LIST).read_text(encoding="utf-8"))
        names = form["files"]
        if form["made by"] != MADE_BY or not all(map(_inside, names)):
            raise refused
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise refused from error
    return list(names)


def _inside(name: str) -> bool:
    """Whether a path in a site's list of files is inside the site. The next build may delete listed files, so other
    paths are rejected.
    """
    path = Path(name)
    return not path.is_absolute() and ".." not in path.parts and shortened(name, 400) == name
