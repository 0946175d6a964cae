"""A file of known differences with old slugs of rules applies to the renamed rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograd_conformance.known_differences import known
from autograd_conformance.known_differences.limits import Limits

FOLDER = Path(__file__).with_name("known")


@pytest.mark.parametrize(
    ("number", "rule"),
    [
        (0, "errors/atomic"),
        (1, "errors/recovers"),
        (2, "lifetime/traversed-only"),
        (3, "modes/toggle-refused"),
        (4, "gradients/op"),
        (5, "optimizers/formula"),
    ],
)
def test_an_entry_is_about_todays_rule(number: int, rule: str) -> None:
    assert known("old", [FOLDER])[number].rule == rule


def test_an_entrys_limits_are_read() -> None:
    *_, entry, error = known("old", [FOLDER])
    assert entry.limits == Limits(1e-3, 1e-9, nan=True)
    one, other = ({each.key: each.value for each in read.conditions} for read in (entry, error))
    assert one.items() >= {"op": "sin", "elements": 1, "zero_operand": 0, "makes_view": True, "after": "cos"}.items()
    assert other.items() >= {"raised": "unknown", "message": "not implemented", "step": "sgd lr=0.1"}.items()
