"""The ops that run alone before selected tests."""

from __future__ import annotations

import pytest

from autograd_conformance.ops.tables import OPS
from autograd_conformance.plugin.selection import HELPERS, needed_ops

GRADIENTS = "suites/test_gradients.py"


def test_tests_that_are_named_with_their_ops_need_only_these() -> None:
    named = (f"{GRADIENTS}::test_op[sin]", "suites/test_higher_ops.py::test_third_samples[exp]")
    assert needed_ops(named) == {"sin", "exp", *HELPERS}
    assert {*HELPERS} <= {*OPS}


@pytest.mark.parametrize(
    "arguments",
    [(), (GRADIENTS,), (f"{GRADIENTS}::test_op[sin]", "suites/test_hooks.py"), (f"{GRADIENTS}::test_op[nothing]",)],
)
def test_other_tests_need_all_ops(arguments: tuple[str, ...]) -> None:
    assert needed_ops(arguments) == OPS
