"""The pages, one for each framework whose functions are looked through."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograd_conformance.reporting.render.markdown import environment
from evaluation.pages.functions import pytorch
from evaluation.pages.functions.function import Function, grouped
from evaluation.pages.functions.library import FOUND, Library
from evaluation.pages.functions.trial import CALLS

DOCS = Path(__file__).parents[3] / "docs"


@dataclass(frozen=True)
class Page:
    """A page of `docs`, made from the functions of a framework."""

    name: str
    """The name of the file."""
    text: Callable[[], str]
    """Makes the page, in GitHub's Markdown, ending in a line end; `ImportError` where the framework is missing."""

    @property
    def path(self) -> Path:
        """The file."""
        return DOCS / self.name


def of_pytorch() -> str:
    """The page about PyTorch."""
    found = pytorch.functions()
    return _rendered(
        framework="PyTorch",
        source="the table of PyTorch's tests and evaluation/pages/functions/pytorch.toml",
        number=len(found),
        there=[each for each in found if each.ops],
        groups=grouped(found, [*dict.fromkeys(pytorch.NOTES.reasons.values())]),
    )


def of_jax() -> str:
    """The page about JAX."""
    from evaluation.pages.functions.jax import library

    return of_library("JAX", library())


def of_mlx() -> str:
    """The page about MLX."""
    from evaluation.pages.functions.mlx import library

    return of_library("MLX", library())


def of_library(title: str, library: Library) -> str:
    """The page about a framework whose functions were called."""
    found: Sequence[Function] = library.functions()
    reasons = [*dict.fromkeys((*library.notes.reasons.values(), *FOUND.values()))]
    return _rendered(
        framework=f"{title} {library.adapter.version}",
        source=f"the functions of the package and evaluation/pages/functions/{library.package}.toml",
        modules=[*library.modules],
        calls=CALLS,
        adapter=library.adapter.name,
        number=len(found),
        there=[each for each in found if each.ops],
        groups=grouped(found, [why for why in reasons if why not in library.without]),
        without=grouped(found, [why for why in reasons if why in library.without]),
    )


def _rendered(**fields: object) -> str:
    return environment().get_template("functions.md.j2").render(**fields).rstrip() + "\n"


PAGES: Mapping[str, Page] = {
    "torch": Page("functions.md", of_pytorch),
    "jax": Page("functions_jax.md", of_jax),
    "mlx": Page("functions_mlx.md", of_mlx),
}
"""The pages by the name of the framework's adapter."""
