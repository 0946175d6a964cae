"""The claims of the five articles, with the programs that decide each claim."""

from __future__ import annotations

from autograd_conformance.claims.articles import buffers, controls, grus, second_time, two_networks
from autograd_conformance.claims.articles.claim import Article, Claim

_FILES = (controls, two_networks, grus, buffers, second_time)

ARTICLES: tuple[Article, ...] = tuple(file.ARTICLE for file in _FILES)
"""The five articles about autograd, in the order of their file names."""

CLAIMS: tuple[Claim, ...] = tuple(
    claim for file in _FILES for section in file.ARTICLE.sections for claim in file.CLAIMS if claim.section == section
)
"""All claims, article by article, in reading order."""
