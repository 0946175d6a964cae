"""Frameworks in JavaScript at the far end of the wire, where Node.js and their packages are installed."""

from __future__ import annotations

import shutil

import pytest

from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.frameworks.remote.command import Command
from autograd_conformance.frameworks.remote.link import Link
from autograd_conformance.harness.check import violation_of
from autograd_conformance.harness.known import is_known, read
from autograd_conformance.ops.catalogue import APPLIED
from autograd_conformance.programs.observations import Returned
from tests.frameworks.test_functional import program_of
from tests.harness.test_cli import ROOT

FOLDER = ROOT / "examples" / "javascript"
NODE = shutil.which("node")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NODE is None or not (FOLDER / "node_modules").is_dir(), reason="npm install was not run there"),
]

ENTRIES = read(FOLDER / "tfjs.toml")

RIGHT = (
    "a = leaf f32 [1, 2]; b = sin a; c = grad b wrt a with f32 [1, 10] materialize=True",
    "a = leaf f32 3; b = pow_integer a exponent=3; c = grad b wrt a with f32 1 create=True materialize=True; "
    "d = grad c wrt a with f32 1 create=True materialize=True; e = grad d wrt a with f32 1 materialize=True",
    "a = leaf f32 3; b = sin a; c = grad b wrt a with f32 1 create=True materialize=True; d = multiply b c; "
    "e = grad d wrt a with f32 1 materialize=True",
    "a = leaf f32 3; b = sin a; c = leaf f32 2; d = multiply c c; drop d; "
    "e = grad b wrt a, c with f32 1 materialize=True",
)
"""Programs of first and higher order, of results of several orders, and with an input that nothing leads from."""


@pytest.fixture(scope="module")
def tfjs():
    """The target."""
    link = Link(Command((NODE or "node", str(FOLDER / "worker.mjs"), "tfjs")))
    yield Remote(link)
    link.close()


def test_it_claims_ops_of_the_catalogue(tfjs: Remote):
    assert tfjs.name == "tfjs"
    assert len(tfjs.ops) >= 50
    assert set(tfjs.ops) <= set(APPLIED)


@pytest.mark.parametrize("text", RIGHT)
def test_derivatives_of_every_order_are_right(tfjs: Remote, text: str):
    program = program_of(text)
    assert all(isinstance(seen.outcome, Returned) for seen in tfjs.observe(program))
    assert violation_of(program, tfjs) is None


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.rule} {entry.op}")
def test_each_difference_shows_in_its_witness(tfjs: Remote, entry):
    violation = violation_of(entry.witness, tfjs)
    assert violation is not None
    assert is_known(entry, entry.witness, violation)
