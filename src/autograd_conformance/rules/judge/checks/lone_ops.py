"""Programs that are one op on leaves, and a call, and nothing else."""

from __future__ import annotations

from autograd_conformance.ops.catalogue import LONG
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import Apply, BackwardCall, Leaf, Program, Ref


def is_lone_op(program: Program) -> bool:
    """Whether a program is one op on distinct leaves of one dtype, and a call on its results."""
    *leaves, step, call = program.instructions if len(program) > 2 else (None,) * 3
    if not isinstance(step, Apply) or step.op not in OPS or not isinstance(call, BackwardCall):
        return False
    if OPS[step.op].family in LONG or OPS[step.op].dtype is not None or {ref.at for ref in call.roots} != {len(leaves)}:
        return False
    dtypes = {leaf.value.dtype if isinstance(leaf, Leaf) else None for leaf in leaves}
    return len(dtypes) == 1 and step.args == tuple(Ref(at) for at in range(len(leaves)))
