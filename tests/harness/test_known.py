"""Expectations files: every known difference has a witness that shows it, and a malformed file says what is wrong and
where.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autograd_conformance.harness.known import MalformedExpectations, known
from autograd_conformance.harness.session import Session

WITNESS = 'witness = "a = leaf [1]; b = sin a; backward b"'


@pytest.mark.parametrize("entry", known("torch"), ids=lambda entry: f"{entry.rule}-{entry.op}")
def test_torch_shows_what_is_listed(entry, tmp_path: Path) -> None:
    assert Session("torch", tmp_path).witnessed(entry)


def test_a_witness_that_shows_nothing_is_told(tmp_path: Path) -> None:
    (tmp_path / "torch.toml").write_text(f'[[known]]\nrule = "gradients/op"\nop = "sin"\nreason = "none"\n{WITNESS}\n')
    (entry,) = known("torch", tmp_path)
    assert not Session("torch", tmp_path).witnessed(entry)


def test_an_entry_may_ask_for_a_message(tmp_path: Path) -> None:
    entry = next(entry for entry in known("torch") if entry.message)
    session = Session("torch", tmp_path)
    assert session.witnessed(entry)
    assert not session.witnessed(replace(entry, message="another message"))


def test_no_file_means_nothing_known(tmp_path: Path) -> None:
    assert known("nothing", tmp_path) == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[known]\n", "x.toml: "),
        (f'[[known]]\nreason = "r"\n{WITNESS}', "'rule' is missing"),
        ('[[known]]\nrule = "gradients/op"\nreason = "r"', "'witness' is missing"),
        (f'[[known]]\nrule = "no/such"\nreason = "r"\n{WITNESS}', "no rule 'no/such'"),
        (f'[[known]]\nrule = "gradients/op"\nop = "frobnicate"\nreason = "r"\n{WITNESS}', "no op 'frobnicate'"),
        ('[[known]]\nrule = "gradients/op"\nreason = "r"\nwitness = "b = sin a"', "witness is malformed: statement 1"),
    ],
)
def test_malformed(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(MalformedExpectations, match=says.replace("[", "\\[")):
        known("x", tmp_path)
