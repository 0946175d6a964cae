"""Servers in JavaScript; skipped without Node.js and the frameworks' packages."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from autograd_conformance.checking.check import violation_of
from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.frameworks.remote.command import Command
from autograd_conformance.frameworks.remote.connection import Connection
from autograd_conformance.known_differences import Known, is_known, read
from autograd_conformance.ops.catalogue import APPLIED
from autograd_conformance.programs.observations import Returned
from tests.frameworks.test_functional import program_of
from tests.plugin.test_cli import ROOT
from tests.vectors.agreement import agreement

FOLDER = ROOT / "examples" / "javascript"
NODE = shutil.which("node")

NEEDS = {"tfjs": 20, "jaxjs": 24}
"""Oldest version of Node.js for each framework."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NODE is None or not (FOLDER / "node_modules").is_dir(), reason="npm install was not run there"),
]

ENTRIES = [(name, entry) for name in NEEDS for entry in read(FOLDER / f"{name}.toml")]

RIGHT = (
    "a = leaf f32 [1, 2]; b = sin a; c = grad b wrt a with f32 [1, 10] materialize=True",
    "a = leaf f32 3; b = pow_integer a exponent=3; c = grad b wrt a with f32 1 create=True materialize=True; "
    "d = grad c wrt a with f32 1 create=True materialize=True; e = grad d wrt a with f32 1 materialize=True",
    "a = leaf f32 3; b = sin a; c = grad b wrt a with f32 1 create=True materialize=True; d = multiply b c; "
    "e = grad d wrt a with f32 1 materialize=True",
    "a = leaf f32 3; b = sin a; c = leaf f32 2; d = multiply c c; drop d; "
    "e = grad b wrt a, c with f32 1 materialize=True",
)
"""Programs of first and higher order, with results of several orders, and with an unused input."""

DETACHED_OR_SEVERAL = (
    "a = leaf f32 [1, 2]; b = detach a; c = multiply a b; d = grad c wrt a with f32 [1, 10] materialize=True",
    "a = leaf f32 [1, 2]; b = detach a; c = sin b; d = grad c wrt a with f32 [1, 10] materialize=True",
    "a = leaf f32 [1, 2]; b = sin a; c = cos a; d = grad b, c wrt a with f32 [1, 10], f32 [3, 4] materialize=True",
)
"""Programs with detached values, and with several roots."""


@cache
def node_version() -> int:
    """Major version of the installed Node.js."""
    told = subprocess.run([NODE or "node", "--version"], capture_output=True, text=True, check=True).stdout
    return int(told.removeprefix("v").split(".")[0])


@pytest.fixture(scope="module")
def target(request: pytest.FixtureRequest):
    """A framework by its name."""
    if node_version() < NEEDS[request.param]:
        pytest.skip(f"{request.param} needs Node.js {NEEDS[request.param]}")
    connection = Connection(Command((NODE or "node", str(FOLDER / "worker.mjs"), request.param)))
    yield Remote(connection)
    connection.close()


@pytest.mark.parametrize("target", NEEDS, indirect=True)
def test_it_claims_ops_of_the_catalogue(target: Remote):
    assert target.name in NEEDS
    assert len(target.ops) >= 50
    assert set(target.ops) <= set(APPLIED)


@pytest.mark.parametrize("text", RIGHT)
@pytest.mark.parametrize("target", NEEDS, indirect=True)
def test_derivatives_of_every_order_are_right(target: Remote, text: str):
    program = program_of(text)
    assert all(isinstance(seen.outcome, Returned) for seen in target.observe(program))
    assert violation_of(program, target) is None


@pytest.mark.parametrize("target", ["jaxjs"], indirect=True)
@pytest.mark.parametrize("text", DETACHED_OR_SEVERAL)
def test_what_only_one_of_them_claims_is_right(target: Remote, text: str):
    program = program_of(text)
    assert all(isinstance(seen.outcome, Returned) for seen in target.observe(program))
    assert violation_of(program, target) is None


@pytest.mark.parametrize(
    ("target", "entry"),
    ENTRIES,
    ids=lambda of: f"{of.rule} {of.op}" if isinstance(of, Known) else of,
    indirect=["target"],
)
def test_each_difference_shows_in_its_witness(target: Remote, entry: Known):
    violation = violation_of(entry.witness, target)
    assert violation is not None
    assert is_known(entry, entry.witness, violation)


@pytest.mark.parametrize("name", NEEDS)
def test_the_runner_of_vectors_agrees_with_the_judge(name: str, tmp_path: Path):
    if node_version() < NEEDS[name]:
        pytest.skip(f"needs Node.js {NEEDS[name]}")
    agreement(tmp_path, [NODE or "node", str(FOLDER / "vectors.mjs"), name])
