"""Badges with the conclusion of a run: SVG pictures, and JSON for services that draw badges."""

from __future__ import annotations

import json
from html import escape

from autograd_conformance.reporting.analysis.summary import Summary
from autograd_conformance.reporting.prose import printable
from autograd_conformance.reporting.records.terms import Conclusion

LABEL = "autograd conformance"

COLOURS: dict[Conclusion, str] = {
    "conformant": "#1a7f37",
    "conformant with known differences": "#7d6608",
    "selection passed": "#0b57a8",
    "not conformant": "#c22b2b",
    "no verdict": "#5f6873",
}
"""Colour of each conclusion; white text on it has a contrast of at least 4.5."""

SIGNS: dict[Conclusion, str] = {
    "conformant": "✓",
    "conformant with known differences": "≠",
    "selection passed": "◐",
    "not conformant": "✗",
    "no verdict": "?",
}


def message(summary: Summary) -> str:
    """Text of the badge: a sign and the numbers of kept and applicable MUST rules (``✓ keeps 105 of 118 MUST rules``),
    or a sign and the words *no verdict* or *selection passed*.
    """
    if summary.conclusion == "no verdict":
        return f"{SIGNS[summary.conclusion]} no verdict"
    if summary.conclusion == "selection passed":
        return f"{SIGNS[summary.conclusion]} selection passed"
    return f"{SIGNS[summary.conclusion]} keeps {summary.must.ratio} MUST rules"


def endpoint(summary: Summary) -> str:
    """The badge as JSON for an endpoint badge of shields.io."""
    form = {
        "schemaVersion": 1,
        "label": LABEL,
        "message": message(summary),
        "color": COLOURS[summary.conclusion],
        "isError": False,
    }
    return json.dumps(form, ensure_ascii=False) + "\n"


def svg(summary: Summary, name: str) -> str:
    """The badge as an SVG picture with a text alternative."""
    text = message(summary)
    left, right = _width(LABEL), _width(text)
    width = left + right
    about = escape(printable(f"{LABEL} of {name}: {summary.conclusion}, {text[2:]}"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{about}">'
        f"<title>{about}</title>"
        f'<clipPath id="r"><rect width="{width}" height="20" rx="3"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#3b4148"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{COLOURS[summary.conclusion]}"/></g>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">'
        f'<text x="{left / 2}" y="14" textLength="{left - 12}">{LABEL}</text>'
        f'<text x="{left + right / 2}" y="14" textLength="{right - 12}">{escape(text)}</text></g></svg>\n'
    )


def _width(text: str) -> int:
    return round(len(text) * 6.3) + 12
