"""The table of dtypes: sizes and ranges, promotion, lists of names, and numbers of few digits in programs."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from autograd_conformance.programs.dtypes import COARSE, DTYPES, USUAL, dtypes_in, narrowest, widest
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import parse, render
from autograd_conformance.programs.language import Leaf


def test_numpy_agrees():
    for name in ("float16", *USUAL):
        info = np.finfo(name)
        row = DTYPES[name]
        assert (row.bits, row.epsilon, row.tiny) == (info.bits, info.eps, info.tiny)
        assert (row.smallest, row.largest) == (info.smallest_subnormal, info.max)


def test_bfloat16_has_the_range_of_float32_and_eight_bits():
    row, info = DTYPES["bfloat16"], ml_dtypes.finfo("bfloat16")
    assert (row.epsilon, row.smallest, row.largest) == (info.eps, info.smallest_subnormal, info.max)
    assert (row.bits, row.epsilon, row.tiny) == (16, 2.0**-7, DTYPES["float32"].tiny)
    assert 3.3e38 < row.largest < DTYPES["float32"].largest


@pytest.mark.parametrize(
    ("given", "wide", "narrow"),
    [
        (("float16", "bfloat16"), "float32", "bfloat16"),  # neither represents the numbers of the other
        (("bfloat16",), "bfloat16", "bfloat16"),
        (("float16", "float16"), "float16", "float16"),
        (("float16", "float32"), "float32", "float16"),
        (("float64", "bfloat16", "float32"), "float64", "bfloat16"),
    ],
)
def test_promotion(given, wide, narrow):
    assert (widest(given), narrowest(given)) == (wide, narrow)


def test_lists():
    assert dtypes_in("both") == USUAL
    assert dtypes_in("bfloat16, float32") == ("bfloat16", "float32")
    assert dtypes_in("both,float32,float16") == (*USUAL, "float16")
    with pytest.raises(ValueError, match="'float8' is not one of float32, float64, float16, bfloat16, both"):
        dtypes_in("float32,float8")


@pytest.mark.parametrize("name", DTYPES)
def test_programs_keep_the_dtype(name):
    program = parse(
        f"a = leaf {DTYPES[name].short} [1.5, 2]; b = multiply a a; backward b with {DTYPES[name].short} [1, 0.25]"
    )
    assert isinstance(program[0], Leaf)
    assert program[0].value.dtype == name
    assert parse(render(program)) == program
    assert codec.loads(codec.dumps(program)) == program
    assert program.stateful is (name in COARSE)
