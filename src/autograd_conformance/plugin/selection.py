"""The ops that the tests on a command line need, if each is named with its op."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from autograd_conformance.ops.tables import OPS
from autograd_conformance.strategies.higher_order import WEIGHT_OP

HELPERS = frozenset({WEIGHT_OP, "multiply", "add", "sum"})
"""Ops that the programs of another op may have besides it."""

NAMED = re.compile(r"::test_(?:op|op_samples|third|third_samples)\[(\w+)\]$")
"""The end of the name of a test that exists once for each op."""


def needed_ops(arguments: Iterable[str]) -> Collection[str]:
    """Returns the ops that have to run alone before the tests: those of the tests that the arguments name, with those
    that their programs have besides. All ops, unless each argument names a test of one op: drawn programs have any op,
    and one seed has to draw the same programs whichever tests are selected.
    """
    matches = [NAMED.search(word) for word in arguments]
    named = {match[1] for match in matches if match is not None}
    return {*named, *HELPERS} if named and all(matches) and named <= {*OPS} else OPS
