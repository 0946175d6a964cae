"""The checkout's pytest loads the suite's plugin; without the package it says what to type."""

from importlib.util import find_spec

import pytest

if find_spec("autograd_conformance") is None:
    pytest.exit('the suite is not installed; type: python -m pip install -e ".[torch]"', returncode=4)

pytest_plugins = ["autograd_conformance.harness.plugin"]
