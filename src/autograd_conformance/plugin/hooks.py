"""The hooks and fixtures of the suite's pytest plugin, where pytest finds them by name.

In the checkout, `pytest -n auto --framework NAME` runs `suites/` against NAME and writes a report. Elsewhere the
command `autograd-conformance` does that (`cli`).
"""

from autograd_conformance.plugin.configuration import (
    pytest_addoption,
    pytest_configure,
    pytest_configure_node,
    pytest_unconfigure,
    pytest_xdist_setupnodes,
)
from autograd_conformance.plugin.processes.main_process import pytest_cmdline_main
from autograd_conformance.plugin.results import pytest_runtest_makereport, pytest_warning_recorded
from autograd_conformance.plugin.second_round import pytest_runtest_protocol
from autograd_conformance.plugin.tests import (
    check,
    journal,
    prepared,
    pytest_collection_finish,
    pytest_collection_modifyitems,
    pytest_deselected,
    pytest_generate_tests,
    pytest_itemcollected,
    pytest_pyfunc_call,
)

__all__ = [
    "check",
    "journal",
    "prepared",
    "pytest_addoption",
    "pytest_cmdline_main",
    "pytest_collection_finish",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_configure_node",
    "pytest_deselected",
    "pytest_generate_tests",
    "pytest_itemcollected",
    "pytest_pyfunc_call",
    "pytest_runtest_makereport",
    "pytest_runtest_protocol",
    "pytest_unconfigure",
    "pytest_warning_recorded",
    "pytest_xdist_setupnodes",
]
