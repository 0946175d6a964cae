"""Capabilities that a program requires because of its dtypes."""

import pytest

from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.ops.needs import needs
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats.text import parse

MIXED = "a = leaf [1, 2]; b = leaf f32 [3, 4]; "


@pytest.mark.parametrize(
    ("text", "promotes"),
    [
        ("a = leaf [1, 2]; b = leaf [3, 4]; c = multiply a b", False),
        (MIXED + "c = multiply a b", True),
        (MIXED + "c = exp b; d = multiply a a; e = detach c", False),
        (MIXED + "c = exp b; d = detach c; e = add d a", True),
        (MIXED + "c = multiply a a; write c copy_ b", True),
        (MIXED + "c = multiply a a; write c mul_ a", False),
        (MIXED + "c, d = grad b, a wrt b, a with [1, 1], [1, 1]; e = multiply c b", False),
        (MIXED + "c, d = grad b, a wrt b, a with [1, 1], [1, 1]; e = multiply c d", True),
    ],
)
def test_operands_of_several_dtypes_ask_for_promotion(text: str, promotes: bool) -> None:
    assert (Capability.PROMOTES in needs(parse(text, VOCABULARY))) == promotes
