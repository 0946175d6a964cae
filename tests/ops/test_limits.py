"""Limits of a framework on an op: their description, and the row of the op inside the limit."""

from __future__ import annotations

import pytest

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.limits import ALL, Limit, limited, outside
from autograd_conformance.ops.rows.row import choices_of, rest_of, takes
from autograd_conformance.programs.language import Attrs, Shape


@pytest.mark.parametrize(
    ("limit", "shapes", "attrs", "said"),
    [
        (Limit(), ((2, 3), (3,)), (("dim", 1),), None),
        (Limit({"dim": (0,)}), ((2,),), (("dim", 0),), None),
        (Limit({"dim": (0,)}), ((2,),), (("dim", 1),), "dim=1"),
        (Limit({"dim": (ALL,)}), ((2, 3),), (("dim", (0, 1)),), None),
        (Limit({"dim": (ALL,)}), ((2, 3),), (("dim", (-2, -1)),), None),
        (Limit({"dim": (ALL,)}), ((),), (("dim", ()),), None),
        (Limit({"dim": (ALL, (0,))}), ((2, 3),), (("dim", (0,)),), None),
        (Limit({"dim": (ALL,)}), ((2, 3),), (("dim", (1,)),), "dim=(1,)"),
        (Limit({"dim": (ALL,)}), ((2, 3),), (("dim", (1, 1)),), "dim=(1, 1)"),
        (Limit({"dim": (ALL,)}), ((2, 3),), (("dim", 1),), "dim=1"),
        (Limit(dimensions=(1, 2)), ((2,), (2, 3)), (), None),
        (Limit(dimensions=(1, 2)), ((2,), ()), (), "0 dimensions"),
        (Limit(empty=False), ((2,), (0, 3)), (), "no elements"),
        (Limit(broadcasts=False), ((2,), (2,)), (), None),
        (Limit(broadcasts=False), ((2,), (1,)), (), "operands of several shapes"),
    ],
)
def test_what_is_beyond_a_limit_is_said(limit: Limit, shapes: tuple[Shape, ...], attrs: Attrs, said: str | None):
    assert limit.outside(shapes, attrs) == said
    assert outside({"sum": limit}, "sum", shapes, attrs) == (None if said is None else f"sum with {said}")
    assert outside({"sum": limit}, "mean", shapes, attrs) is None, "other ops have no limit"


def test_a_limited_row_has_no_shape_beyond_the_limit():
    row = limited(row_of("sum"), Limit(dimensions=(2,)))
    assert row.fresh and {len(shape) for shape in row.fresh} == {2}
    assert takes(row, (2, 3)) and not takes(row, (3,))


def test_a_limited_row_has_no_attribute_beyond_the_limit():
    row = limited(row_of("sum"), Limit({"keepdim": (False,)}))
    found = choices_of(row, ((2, 3),))
    assert found and {dict(attrs)["keepdim"] for attrs in found} == {False}
    assert {dict(attrs)["keepdim"] for attrs in choices_of(row_of("sum"), ((2, 3),))} == {False, True}


def test_further_operands_keep_within_the_limit_too():
    row = limited(row_of("add"), Limit(broadcasts=False))
    assert rest_of(row, (2, 3)) == (((2, 3),),)
    assert len(rest_of(row_of("add"), (2, 3))) > 1


def test_a_limit_leaves_no_shape_without_attributes():
    row = limited(row_of("chunk"), Limit({"chunks": (2, 3)}))
    assert row.fresh and all(takes(row, shape) for shape in row.fresh)
