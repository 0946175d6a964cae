"""Autocast: blocks in which listed ops cast their operands. Each program is compared with the same program with its
casts written out, which needs no reference.
"""

from __future__ import annotations

import pytest
from hypothesis import given

from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.relations import autocast

rule = pytest.mark.rule


@rule("autocast/gradient")
@given(related=autocast.blocks())
def test_blocks(check, related: Related):
    check(related)


@rule("autocast/nested")
@given(related=autocast.nested())
def test_nested(check, related: Related):
    check(related)


@rule("autocast/unrecorded")
@given(related=autocast.unrecorded())
def test_unrecorded(check, related: Related):
    check(related)


@rule("autocast/higher")
@given(related=autocast.penalised())
def test_penalised(check, related: Related):
    check(related)


@rule("autocast/written")
@given(related=autocast.written())
def test_written(check, related: Related):
    check(related)
