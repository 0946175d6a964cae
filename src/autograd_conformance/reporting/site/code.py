"""Programs as HTML with syntax colours."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from pygments.token import Error

from autograd_conformance.reporting.prose import printable


def coloured(text: str, bad: Sequence[int] = ()) -> Markup:
    """A program as HTML, coloured if it is Python. Lines are marked by number (`bad`), or if they end in an arrow."""
    shown = printable(text).rstrip("\n")
    lines = shown.split("\n")
    marked = {*bad, *(at for at, line in enumerate(lines, 1) if re.search(r"# \d+ <--$", line))}
    lexer = PythonLexer(stripnl=False)
    if len(shown) > 20_000 or any(token is Error for token, _ in lexer.get_tokens(shown)):
        html = [str(Markup.escape(line)) for line in lines]
    else:
        html = highlight(shown, lexer, HtmlFormatter(nowrap=True)).rstrip("\n").split("\n")
    spans = (f'<span class="line bad">{line}</span>' if at in marked else line for at, line in enumerate(html, 1))
    return Markup("\n".join(spans))  # every line is escaped by the formatter, or just above
