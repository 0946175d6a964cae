"""`python -m evaluation.pages.articles`: write docs/results/articles.md from the table of claims."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from dataclasses import replace
from pathlib import Path

from autograd_conformance.claims.records import case_runner, claims_by_key, record
from autograd_conformance.frameworks.loading.registry import load
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.observations import Kind
from autograd_conformance.reporting.records.claims import ClaimRecord
from autograd_conformance.reporting.render.articles import page

PAGE = Path(__file__).parents[2] / "docs" / "results" / "articles.md"

_MESSAGES = {
    Kind.GRAPH_FREED: "a second time",
    Kind.NO_GRAD: "does not require grad",
    Kind.NON_SCALAR_ROOT: "only for scalar outputs",
    Kind.COTANGENT_SHAPE: "Mismatch in shape",
    Kind.MODIFIED: "modified by an inplace operation",
    Kind.GRADIENT_FORM: "attempting to assign a gradient",
}
"""A part of each of PyTorch's messages that identifies it."""


def main() -> int:
    """Write the page; 0."""
    PAGE.write_text(text(), encoding="utf-8")
    print(PAGE.name)
    return 0


def text() -> str:
    """The page, in GitHub's Markdown, with a final newline."""
    claims = records()
    return page(list(claims.values()), [compact(claims[key]) for key in FAVOURITES])


def records() -> dict[str, ClaimRecord]:
    """All claims by key, with the code and output of PyTorch, as short as a reader would write it."""
    torch = InProcess(load("torch"))
    assert torch.dialect is not None
    short = replace(torch.dialect, tensor="torch.tensor({data}{flags})", empty="torch.zeros({shape}{flags})")
    made = {}
    with warnings.catch_warnings(action="ignore"):  # PyTorch's advice about create_graph
        for key, (claim, article) in claims_by_key().items():
            of_types = any(" f32 " in case.program for case in (*claim.right, *claim.wrong))
            dialect = torch.dialect if of_types else short
            official = record(claim, article, "not run", None).official
            long = record(claim, article, official, dialect, case_runner(torch))
            made[key] = replace(long, programs=tuple(replace(each, code=plain(each.code)) for each in long.programs))
    return made


def compact(claim: ClaimRecord) -> ClaimRecord:
    """The claim with shorter programs: a value that is used only as the next line's root is merged into that line."""
    return replace(claim, programs=tuple(replace(each, code=chained(each.code)) for each in claim.programs))


def chained(code: str) -> str:
    lines = code.split("\n")
    for at in range(len(lines) - 1, 0, -1):
        name, _, made = lines[at - 1].partition(" = ")
        if lines[at].startswith(f"{name}.backward(") and len(re.findall(rf"(?<![\w.]){name}\b(?!=)", code)) == 2:
            value = made if isinstance(ast.parse(made, mode="eval").body, ast.Call | ast.Attribute) else f"({made})"
            lines[at - 1 : at + 1] = [value + lines[at].removeprefix(name)]
    return "\n".join(lines)


def plain(code: str) -> str:
    """PyTorch code without arguments that equal their defaults, with errors in PyTorch's own words."""
    for kind, message in _MESSAGES.items():
        code = code.replace(f"RuntimeError: {kind.value}", f"RuntimeError: ... {message}")
    code = re.sub(r"^if (\w+\.grad) is not None: (?=\1)", "", code, flags=re.MULTILINE)
    code = re.sub(r"\bdim=\((\d+),\)", r"dim=\1", code).replace(", keepdim=False", "")
    code = re.sub(r"\btorch\.(sum|mean)\((\w+), (dim=.*?)\)(?=  #|$)", r"\2.\1(\3)", code, flags=re.MULTILINE)
    for root in set(re.findall(r"\b(\w+)\.backward\((?!torch)", code)) if "non-scalar" not in code else ():
        code = re.sub(rf"^({root} = \w+\.(?:sum|mean))\(dim=.*?\)(?=  #|$)", r"\1()", code, flags=re.MULTILINE)
    return code


FAVOURITES = (
    "controls-losses-need-retain",
    "controls-example-1-late-retain",
    "controls-retain-allows-more",
    "second-time-a-zero-then-walk",
    "two-networks-example-1-raises",
    "two-networks-other-network-raises",
    "controls-example-1-rebuild-last",
    "grus-example-2-works",
    "second-time-b-backward-on-detached",
    "controls-example-3-second-order",
)
"""The claims of the short table, the most useful first."""


if __name__ == "__main__":
    sys.exit(main())
