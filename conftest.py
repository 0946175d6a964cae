"""The checkout's pytest loads the suite's plugin; without the package it says what to type."""

import sys
from importlib.util import find_spec

import pytest

if sys.version_info < (3, 11):  # noqa: UP036 - pip is not there to say so in a clone
    version = ".".join(map(str, sys.version_info[:2]))
    pytest.exit("the suite needs Python 3.11 or newer, and this is " + version, returncode=4)
if find_spec("autograd_conformance") is None:
    pytest.exit('the suite is not installed; type: python -m pip install -e ".[torch]"', returncode=4)

pytest_plugins = ["autograd_conformance.harness.plugin"]
