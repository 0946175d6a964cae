"""`python -m evaluation.address https://github.com/NAME/autograd-conformance`: set the address of the repository, in
`pyproject.toml` and in the pages that show it or the action.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SETTINGS = ROOT / "pyproject.toml"
SHOWN = (SETTINGS, ROOT / "README.md", ROOT / "docs" / "report_site.md")
"""The files with the address."""
HOST = "https://github.com/"


def address() -> str:
    """The address as it is set now."""
    return str(tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["project"]["urls"]["Repository"])


def changed(text: str, before: str, after: str) -> str:
    """A text with another address; an action is named without the host."""
    old, new = (f"uses: {each.removeprefix(HOST)}@" for each in (before, after))
    return text.replace(before, after).replace(old, new)


def main() -> int:
    """Set the address; 0, or 4 for wrong usage."""
    if len(sys.argv) != 2 or not sys.argv[1].startswith(HOST):
        print(f"write: python -m evaluation.address {HOST}NAME/autograd-conformance", file=sys.stderr)
        return 4
    before = address()
    for path in SHOWN:
        path.write_text(changed(path.read_text(encoding="utf-8"), before, sys.argv[1].rstrip("/")), encoding="utf-8")
    print(f"{before} is {address()} now; install the package again, so that new-adapter writes it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
