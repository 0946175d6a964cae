"""Situations in which PyTorch ends the process: the generator knows them where they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.capabilities import PYTORCH
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Ref
from autograd_conformance.reference.reference import Reference
from autograd_conformance.strategies.building.spared import is_kept_result


@pytest.mark.parametrize(
    ("text", "target", "in_eager", "in_one_node"),
    [
        ("a = leaf [1, 2]; b, c = aminmax a dim=0 keepdim=True; retain c", Ref(1, 1), True, True),
        ("a = leaf [1, 2]; b, c = aminmax a dim=0 keepdim=True; retain b", Ref(1, 0), False, True),
        ("a = leaf [1, 2]; b = square a; retain b; c = reshape b shape=(2,1)", Ref(3), False, True),
        ("a = leaf [1, 2]; b = square a; c = reshape b shape=(2,1)", Ref(2), False, False),
    ],
)
def test_a_region_that_is_one_node_has_later_results(text: str, target: Ref, in_eager: bool, in_one_node: bool):
    program = parse(text, VOCABULARY)
    traits = (PYTORCH, replace(PYTORCH, one_node=True))
    assert [is_kept_result(Reference(program, each), target) for each in traits] == [in_eager, in_one_node]
