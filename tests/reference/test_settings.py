"""The reference uses JAX's own defaults, whatever the user's environment says."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = "a = leaf [1, -2]; b = leaf 3; c = add a b; d = log c; e = sum d dim=(0,) keepdim=False; backward e"
CODE = f"""
import sys
if sys.argv[1] == "loaded before":
    import jax
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.reference import whole_program
from autograd_conformance.reference.reference import Reference
program = parse({PROGRAM!r})
Reference(program)
print(sorted((str(ref), value.tolist()) for ref, value in whole_program.gradients(program, program[5]).items()))
"""

STRICT = {
    "JAX_NUMPY_RANK_PROMOTION": "raise",
    "JAX_NUMPY_DTYPE_PROMOTION": "strict",
    "JAX_DEBUG_NANS": "true",
    "JAX_DEBUG_INFS": "true",
    "JAX_DISABLE_JIT": "true",
    "JAX_CHECK_TRACER_LEAKS": "true",
    "JAX_ENABLE_X64": "false",
}


def printed(when: str, folder: str, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")} | variables
    command = [sys.executable, "-c", CODE, when]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("when", ["loaded late", "loaded before"])
def test_settings_of_the_environment_change_nothing(when, tmp_path):
    assert printed(when, str(tmp_path), **STRICT) == printed(when, str(tmp_path))
