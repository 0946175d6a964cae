"""The server in C++ passes the kit's check, and its runner agrees with the judge; skipped without a compiler."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.vectors.agreement import agreement

FOLDER = Path(__file__).parents[3] / "examples" / "cpp"
HEADER = Path("/usr/include/nlohmann/json.hpp")


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("g++") and shutil.which("make") and HEADER.exists()), reason="needs g++, make and nlohmann/json"
)
def test_it_builds_speaks_the_protocol_and_runs_vectors(tmp_path: Path):
    pytest.importorskip("torch")
    subprocess.run(["make", "-C", FOLDER, f"PYTHON={sys.executable}"], check=True, timeout=1800)
    kit = [sys.executable, "-m", "autograd_conformance.frameworks.remote", "check", str(FOLDER / "build" / "worker")]
    said = subprocess.run(kit, capture_output=True, text=True, timeout=300, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "libtorch" in said.stdout
    assert "not ok" not in said.stdout
    agreement(tmp_path, [str(FOLDER / "build" / "vectors")])
