"""The benchmark's base line: saved measurements, and ratios to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

PATH = Path(__file__).with_name("baseline.json")


def read(path: Path = PATH) -> dict[str, float]:
    """The saved figures by name; empty if nothing was saved."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def save(figures: Mapping[str, float], path: Path = PATH) -> None:
    """Save figures as the base line, rounded to three digits."""
    rounded = {name: float(f"{value:.3g}") for name, value in sorted(figures.items())}
    path.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")


def ratio(name: str, value: float, base: Mapping[str, float]) -> str:
    """A figure divided by its base line; a dash without base line."""
    return f"{value / base[name]:.2f}" if base.get(name) else "-"
