"""``python -m harness.articles``: write docs/articles.md and the README's short table from the ledger of claims."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

from frameworks.registry import load
from frameworks.runner import run
from harness.claims import ledger, record
from reports.articles import inserted, page, table
from reports.claims import ClaimRecord, Observed
from rules.documents.claim import Verdict

ROOT = Path(__file__).parents[1]
PAGE, README = ROOT / "docs" / "articles.md", ROOT / "README.md"

_OFFICIAL: dict[Verdict, Observed] = {
    Verdict.HOLDS: "right",
    Verdict.CONDITION: "mixed",
    Verdict.FALSE: "wrong",
    Verdict.NOT_TESTABLE: "not run",
}


def main() -> int:
    """Write both; 0."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
    return 0


def pages() -> dict[Path, str]:
    """Each file that is made from the ledger, with the text that it has to hold."""
    claims = records()
    chosen = [claims[key] for key in FAVOURITES]
    return {
        PAGE: page(list(claims.values())),
        README: inserted(README.read_text(encoding="utf-8"), table(chosen)),
    }


def records() -> dict[str, ClaimRecord]:
    """Every claim by its key, as PyTorch shows it, in code that is as short as a reader would write it."""
    torch = load("torch")
    assert torch.dialect is not None
    dialect = replace(torch.dialect, tensor="torch.tensor({data}{flags})", empty="torch.zeros({shape}{flags})")
    made = {}
    for key, (claim, article) in ledger().items():
        long = record(claim, article, _OFFICIAL[claim.verdict], dialect, lambda program: run(program, torch))
        made[key] = replace(long, programs=tuple(replace(each, code=plain(each.code)) for each in long.programs))
    return made


def plain(code: str) -> str:
    """PyTorch code without the arguments that say what is so anyway."""
    code = re.sub(r"\bdim=\((\d+),\)", r"dim=\1", code).replace(", keepdim=False", "")
    return re.sub(r"\btorch\.(sum|mean)\((\w+)(?:, )?(.*?)\)(?=  #|$)", r"\2.\1(\3)", code, flags=re.MULTILINE)


FAVOURITES: tuple[str, ...] = ()
"""The claims of the README's table, most useful first."""


if __name__ == "__main__":
    sys.exit(main())
