"""The address of the suite's repository, which is set in `pyproject.toml` only: under `project.urls`, as `Repository`.

`python -m evaluation.address URL` sets it there, and in the pages that show it.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, metadata

from autograd_conformance.package.places import ROOT

LABEL = "Repository, "
"""The beginning of the line of a package's metadata that has the address."""


def repository() -> str:
    """Returns the address of the repository from the metadata of the installed package; of a package without metadata,
    the path of the checkout.
    """
    try:
        lines = metadata("autograd-conformance").get_all("Project-URL") or []
    except PackageNotFoundError:
        lines = []
    return next((line.removeprefix(LABEL) for line in lines if line.startswith(LABEL)), ROOT.as_uri())
