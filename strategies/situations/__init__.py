"""One strategy for each situation that a rule is about: what makes the rule bite is built in, the rest is drawn.

A situation is a few lines over the builder. Ops, shapes, values, depths and the noise between the calls vary; that
the root was walked before, that the graph was retained, that two leaves are equal, does not.
"""

from __future__ import annotations

from strategies.situations.accumulation import (
    accumulations,
    cleared_to_none,
    cleared_to_zeros,
    constant_leaves,
    unreached_leaves,
)
from strategies.situations.detach import detached_operands, detached_roots, detached_sources
from strategies.situations.errors import (
    failing_walks,
    implicit_cotangents,
    no_grad_roots,
    refused,
    refused_after_gradients,
    wrong_cotangents,
)
from strategies.situations.gradients import (
    chains,
    equal_leaves,
    fan_outs,
    forms,
    same_arguments,
    several_results,
    several_roots,
    shared_contributions,
    single_ops,
    weighted_roots,
    whole_graphs,
)
from strategies.situations.lifetime import (
    branches,
    default_frees,
    independent_graphs,
    last_calls,
    late_retains,
    new_root_on_freed,
    nothing_saved,
    rebuilt,
    retained,
    walked_twice,
)
from strategies.situations.stateful import (
    assigned_gradients,
    plain_gradients,
    second_derivatives,
    steps,
    written_between,
    written_unsaved,
)

__all__ = [
    "accumulations",
    "assigned_gradients",
    "branches",
    "chains",
    "cleared_to_none",
    "cleared_to_zeros",
    "constant_leaves",
    "default_frees",
    "detached_operands",
    "detached_roots",
    "detached_sources",
    "equal_leaves",
    "failing_walks",
    "fan_outs",
    "forms",
    "implicit_cotangents",
    "independent_graphs",
    "last_calls",
    "late_retains",
    "new_root_on_freed",
    "no_grad_roots",
    "nothing_saved",
    "plain_gradients",
    "rebuilt",
    "refused",
    "refused_after_gradients",
    "retained",
    "same_arguments",
    "second_derivatives",
    "several_results",
    "several_roots",
    "shared_contributions",
    "single_ops",
    "steps",
    "unreached_leaves",
    "walked_twice",
    "weighted_roots",
    "whole_graphs",
    "written_between",
    "written_unsaved",
    "wrong_cotangents",
]
