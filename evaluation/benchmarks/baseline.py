"""The benchmark's own base line: what was measured before, and by how many times it is another now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

PATH = Path(__file__).with_name("baseline.json")


def read(path: Path = PATH) -> dict[str, float]:
    """The saved figures by name; none where nothing was saved."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def save(figures: Mapping[str, float], path: Path = PATH) -> None:
    """Make these the base line."""
    rounded = {name: float(f"{value:.3g}") for name, value in sorted(figures.items())}
    path.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")


def ratio(name: str, value: float, base: Mapping[str, float]) -> str:
    """How many times the base line a figure is; a dash where there is none."""
    return f"{value / base[name]:.2f}" if base.get(name) else "-"
