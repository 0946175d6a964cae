"""Chart of a framework's runs: a bar for each run, with the numbers of rules by verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from xml.etree.ElementTree import Element

import pygal
from pygal.style import Style

from autograd_conformance.reporting.prose import printable, shortened
from autograd_conformance.reporting.site.matrix import SIGNS
from autograd_conformance.reporting.site.runs import Run

BARS = {"pass": "pass", "known": "known difference", "wrong": "defect", "vacuous": "vacuous", "error": "error"}
"""Parts of a bar from bottom to top: style of the verdicts, and name in the legend."""

HEIGHT, MARGIN, BAR = 260, 130, 84
"""Height of a chart, space beside its bars, and width of a bar, in CSS pixels."""


def chart(found: Sequence[Run]) -> str:
    """Chart of some runs of one framework, as an SVG element with a bar for each run."""
    counts = [Counter(SIGNS[each.verdict].colour for each in run.summary.rules) for run in found]
    shown = [style for style in BARS if any(each[style] for each in counts)]
    made = pygal.StackedBar(
        style=_style(shown),
        width=max(340, MARGIN + BAR * len(found)),
        height=HEIGHT,
        explicit_size=True,
        js=(),
        disable_xml_declaration=True,
        legend_at_bottom=True,
        legend_at_bottom_columns=3,
        legend_box_size=10,
    )
    made.uuid = "trend"  # fixed, because a random id would differ in each build
    made.x_labels = [printable(shortened(run.version, 12)) for run in found]
    for style in shown:
        made.add(BARS[style], [each[style] for each in counts])
    label = "; ".join(f"{run.title}: {run.summary.must.ratio} MUST rules passed" for run in found)
    made.add_xml_filter(partial(_still, label=printable(shortened(label, 400))))
    return str(made.render(is_unicode=True))


def _still(root: Element, label: str) -> Element:
    """The chart as one picture with a label, without its script and its comments, which contain the date."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == "script" or not isinstance(child.tag, str):
                parent.remove(child)
    root.attrib |= {"role": "img", "aria-label": label}
    return root


def _style(shown: Sequence[str]) -> Style:
    """Style with the colours of the page around the chart."""
    return Style(
        background="transparent",
        plot_background="transparent",
        foreground="var(--ink)",
        foreground_strong="var(--ink)",
        foreground_subtle="var(--line)",
        colors=tuple(f"var(--{style}-bar)" for style in shown),
        opacity="1",
        opacity_hover="1",
        transition="0s",
        font_family="inherit",
        label_font_size=12,
        major_label_font_size=12,
        legend_font_size=12,
    )
