"""Programs in which facts meet that no other program has: PyTorch keeps the rules in each. Crossed programs found
them, as false alarms.
"""

from __future__ import annotations

import pytest

from autograd_conformance.checking.check import violation_of
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.formats.text import parse

PROGRAMS = {
    "a call with inputs passes by a derivative that does not depend on them": (
        "a = leaf [1.5, 2]; b = leaf [3, 3.5]; c = multiply a b; backward c with [4.5, 5] create=True; d = held a; "
        "retain d; e = held a; f = multiply a e; backward f inputs a with [6, 6.5]"
    ),
    "a functional call leaves a differentiable gradient in a value that retains it": (
        "a = leaf [1, 2]; b = multiply a a; retain b; c = sin b; d = grad c wrt a with [1, 2] create=True; e = held b"
    ),
    "a constant gradient becomes a leaf": (
        "a = leaf [[1, 2], [3, 5]]; b = kthvalue a k=1 dim=1 keepdim=False; c = permute_dims b dims=(0,); "
        "d, e = grad c wrt a, b with [4, 5] create=True; requires e True; backward e with [6, 7]"
    ),
    "a constant gradient becomes a leaf of a call that fails": (
        "a = leaf [1, 2]; b = add a a; c = grad b wrt a with [4, 5] create=True; requires c True; d = hook a raise; "
        "e = sin a; f = multiply a c; backward e, f with [1, 2], [3, 4]"
    ),
    "the gradient of an input that is listed twice is detached in place": (
        "a = leaf [[1, 2], [3, 4]]; b, c = unstack a dim=0; d, e = grad c wrt a, a with [5, 6]; detach_ e"
    ),
    "zeros are written into a gradient that became a leaf": (
        "a = leaf [1.5]; backward a with [2]; b = held a; requires b True; zero a to zeros"
    ),
    "a leaf that was detached in place gets a history": (
        "a = leaf [1, 2]; b = multiply_scalar a scalar=2; detach_ a; c = leaf [3, 4]; write a copy_ c; "
        "backward b with [5, 6]"
    ),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_no_rule_is_broken(program: str) -> None:
    assert violation_of(parse(program), InProcess(Torch())) is None
