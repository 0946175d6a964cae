"""`python -m evaluation.pages.functions`: writes docs/functions.md and docs/functions_*.md, which say for each
differentiable function of a framework which ops call it, or why none does. The page of a framework that is not
installed stays as it is.
"""

from __future__ import annotations

import sys

from evaluation.pages.functions.frameworks import PAGES


def main() -> int:
    """Write the pages; 0."""
    for page in PAGES.values():
        try:
            text = page.text()
        except ImportError as error:
            print(f"{page.path.name} stays as it is: {error}")
            continue
        page.path.write_text(text, encoding="utf-8")
        print(page.path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
