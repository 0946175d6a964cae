"""Markdown documents as HTML: split at their headings, with links to the pages of the site."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from autograd_conformance.reporting.prose import unique_slugs
from autograd_conformance.reporting.site.code import coloured


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the text up to the next heading."""

    level: int
    """1 for the title of the document."""
    slug: str
    title: str
    """The heading without markup."""
    heading: Markup
    tokens: tuple[Token, ...]

    @property
    def code(self) -> frozenset[str]:
        """All inline code of the section, such as slugs of rules."""
        children = (child for token in self.tokens for child in token.children or ())
        return frozenset(child.content for child in children if child.type == "code_inline")

    def html(self, root: str, rules: Mapping[str, str]) -> Markup:
        """Text of the section as HTML.

        `root` is the relative path from the page to the site's root; `rules` maps the slug of each rule to the file
        name of the rule's page, without extension.
        """
        return Markup(_MARKDOWN.renderer.render(self.tokens, _MARKDOWN.options, {"root": root, "rules": rules}))


def sections(text: str, place: str, places: Mapping[str, str]) -> tuple[Section, ...]:
    """Sections of a document; `place` is its path, and `places` has the page of each document of the site.

    Relative links to documents without a page are replaced by their text.
    """
    tokens = _MARKDOWN.parse(text)
    for token in tokens:
        if token.children:
            token.children = _linked(token.children, place, places)
    starts = [at for at, token in enumerate(tokens) if token.type == "heading_open" and token.level == 0]
    slugs = unique_slugs(_plain(tokens[at + 1]) for at in starts)
    return tuple(
        _section(tokens[start:end], slug)
        for start, end, slug in zip(starts, [*starts[1:], len(tokens)], slugs, strict=True)
    )


def _section(tokens: Sequence[Token], slug: str) -> Section:
    opened, words = tokens[:2]
    heading = Markup(_MARKDOWN.renderer.render([words], _MARKDOWN.options, {"root": "", "rules": {}}))
    return Section(int(opened.tag[1:]), slug, _plain(words), heading, tuple(tokens[3:]))


def _plain(words: Token) -> str:
    return "".join(each.content for each in words.children or ())


def _linked(children: Sequence[Token], place: str, places: Mapping[str, str]) -> list[Token]:
    """The tokens with relative links replaced by links to pages, or by their text if there is no page."""
    made: list[Token] = []
    kept: list[bool] = []
    for token in children:
        if token.type == "link_open":
            address = urlsplit(str(token.attrGet("href")))
            page = places.get(posixpath.normpath(posixpath.join(posixpath.dirname(place), address.path)))
            if not address.scheme and page is not None:
                token.meta["page"] = page
            kept.append(address.scheme in ("http", "https") or page is not None)
        if token.type not in ("link_open", "link_close") or kept[-1]:
            made.append(token)
        if token.type == "link_close":
            kept.pop()
    return made


class _Renderer(RendererHTML):
    """Renderer that writes the same HTML as the site's templates."""

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Writes a block of code as a coloured program with a copy button."""
        button = '<button type="button" class="copy" hidden>Copy<span class="hidden"> the program</span></button>'
        code = coloured(tokens[idx].content)
        return (
            f'<div class="program">{button}<pre tabindex="0" aria-label="The program"><code>{code}</code></pre></div>\n'
        )

    def code_inline(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Writes inline code; the slug of a rule becomes a link to the rule's page."""
        text = tokens[idx].content
        code = f"<code>{escape(text)}</code>"
        return f'<a href="{env["root"]}rule/{env["rules"][text]}.html">{code}</a>' if text in env["rules"] else code

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Writes the start of a link to a page of the site, or to another site."""
        page = tokens[idx].meta.get("page")
        if page is not None:
            return f'<a href="{env["root"]}{page}">'
        return f'<a href="{escape(str(tokens[idx].attrGet("href")))}" rel="noreferrer noopener">'

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Writes the start of a table that scrolls sideways independently of the page."""
        return _TABLE[0]

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Writes the end of a table."""
        return _TABLE[1]

    def th_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Writes the start of a column's header."""
        return f'<th scope="col"{_number(tokens[idx])}>'

    def td_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Writes the start of a table cell."""
        return f"<td{_number(tokens[idx])}>"

    def html_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Writes HTML that a document contains, with tables that scroll like all others; comments are left out."""
        text = tokens[idx].content
        if text.lstrip().startswith("<!--"):
            return ""
        return text.replace("<table>", _TABLE[0]).replace("</table>", _TABLE[1]).replace("<th ", '<th scope="col" ')


_TABLE = '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table class="plain">', "</table></div>\n"


def _number(token: Token) -> str:
    return ' class="num"' if "right" in str(token.attrGet("style")) else ""


_MARKDOWN = MarkdownIt("commonmark", {"html": True}, renderer_cls=_Renderer).enable("table")
"""Parser and renderer. HTML in documents is kept, because the documents are part of the suite."""
