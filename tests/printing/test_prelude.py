"""A script contains the part of its prelude that it uses."""

from __future__ import annotations

import pytest

from autograd_conformance.printing.prelude import needed

PRELUDE = """\
import math
import operator as op
from functools import partial, reduce
from itertools import count

numbers = count()
op.start()
print("each script needs this")


def helper(x):
    return op.neg(x)


# Its comment.
@partial
def f(x):
    return helper(x)


@f.register
def of_numbers(x):
    return f"this word is no name: unused"


class unused:
    pass


def g(x):
    return reduce(max, x)


h = partial(g, [1])
install(g, h)
f.end("f")
"""


@pytest.mark.parametrize(
    ("code", "there", "absent"),
    [
        (
            "",
            ["import math", "numbers = count()", "print(", "op.start()", "import count"],
            ["def ", "class ", "reduce"],
        ),
        ("f(1)", ["def helper", "# Its comment.\n@partial\ndef f", "f.end"], ["def g", "h ="]),
        ("f(1)", ["@f.register\ndef of_numbers"], ["class unused"]),
        ("of_numbers(1)", ["def of_numbers", "def f(x)", "f.end"], ["def g"]),
        ("print(h)", ["def g", "h = partial(g, [1])", "install(g, h)", "import partial, reduce"], ["def f", "f.end"]),
        ("unused()", ["class unused:\n    pass"], ["def f", "def g"]),
    ],
)
def test_what_a_script_uses_is_there(code: str, there: list[str], absent: list[str]) -> None:
    text = needed(PRELUDE, code)
    assert [part for part in there if part not in text] == []
    assert [part for part in absent if part in text] == []


def test_the_order_and_the_empty_lines_stay() -> None:
    everything = "f, g, h, of_numbers, unused, op"
    assert needed(PRELUDE, everything) == PRELUDE.strip("\n")


def test_a_prelude_that_this_python_does_not_read_stays() -> None:
    assert needed("import op as o\nlazy import numpy", "") == "import op as o\nlazy import numpy"
