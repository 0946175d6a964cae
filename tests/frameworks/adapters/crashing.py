"""A suite with one program that crashes PyTorch 2.13 with a segmentation fault: a hook on a view after its base was
written to.

`tests/plugin/test_crashing_program.py` runs it in addition to the suites.
"""

from __future__ import annotations

import pytest

from autograd_conformance.checking.check import Check
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse

PROGRAM = "a = leaf [1, 2]; b = expand_dims a dim=0; no_grad: write a mul_scalar_ scalar=2; k = hook b observe"


@pytest.mark.rule("hooks/called")
def test_hook_on_a_view(check: Check):
    check(parse(PROGRAM, VOCABULARY))
