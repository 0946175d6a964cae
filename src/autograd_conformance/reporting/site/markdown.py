"""Markdown documents as HTML in the site's form: cut at their headings, with links to the site's own pages."""

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

from autograd_conformance.reporting.site.code import coloured
from autograd_conformance.reporting.site.runs import unique


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what stands below it, up to the next heading."""

    level: int
    """1 for the title of the document."""
    slug: str
    title: str
    """The heading without markup."""
    heading: Markup
    tokens: tuple[Token, ...]

    @property
    def code(self) -> frozenset[str]:
        """All that stands below the heading as code within a line, such as the names of rules."""
        children = (child for token in self.tokens for child in token.children or ())
        return frozenset(child.content for child in children if child.type == "code_inline")

    def html(self, root: str, rules: Mapping[str, str]) -> Markup:
        """What stands below the heading, on a page from which `root` leads to the site's; `rules` are pages by rule."""
        return Markup(_MARKDOWN.renderer.render(self.tokens, _MARKDOWN.options, {"root": root, "rules": rules}))


def sections(text: str, place: str, places: Mapping[str, str]) -> tuple[Section, ...]:
    """The sections of a document at `place` among the documents; `places` are the site's pages by their documents.

    A relative link to a document that has no page is left out, its words stay.
    """
    tokens = _MARKDOWN.parse(text)
    for token in tokens:
        if token.children:
            token.children = _linked(token.children, place, places)
    starts = [at for at, token in enumerate(tokens) if token.type == "heading_open" and token.level == 0]
    slugs = unique(_plain(tokens[at + 1]) for at in starts)
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
    """The tokens with relative links turned into links to pages; without those that lead to no page."""
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
    """HTML as the site's own templates write it."""

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """A program with a button that copies it."""
        button = '<button type="button" class="copy" hidden>Copy<span class="hidden"> the program</span></button>'
        code = coloured(tokens[idx].content)
        return (
            f'<div class="program">{button}<pre tabindex="0" aria-label="The program"><code>{code}</code></pre></div>\n'
        )

    def code_inline(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Code; the name of a rule leads to its page."""
        text = tokens[idx].content
        code = f"<code>{escape(text)}</code>"
        return f'<a href="{env["root"]}rule/{env["rules"][text]}.html">{code}</a>' if text in env["rules"] else code

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """A link to a page, or to another site."""
        page = tokens[idx].meta.get("page")
        if page is not None:
            return f'<a href="{env["root"]}{page}">'
        return f'<a href="{escape(str(tokens[idx].attrGet("href")))}" rel="noreferrer noopener">'

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """A table that scrolls by itself."""
        return _TABLE[0]

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """The end of what `table_open` began."""
        return _TABLE[1]

    def th_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """The head of a column."""
        return f'<th scope="col"{_number(tokens[idx])}>'

    def td_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """A cell."""
        return f"<td{_number(tokens[idx])}>"

    def html_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """HTML as it stands, its tables like the others; comments are for those who edit the document."""
        text = tokens[idx].content
        if text.lstrip().startswith("<!--"):
            return ""
        return text.replace("<table>", _TABLE[0]).replace("</table>", _TABLE[1]).replace("<th ", '<th scope="col" ')


_TABLE = '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table class="plain">', "</table></div>\n"


def _number(token: Token) -> str:
    return ' class="num"' if "right" in str(token.attrGet("style")) else ""


_MARKDOWN = MarkdownIt("commonmark", {"html": True}, renderer_cls=_Renderer).enable("table")
"""HTML in a document stays HTML: the documents are the suite's own."""
