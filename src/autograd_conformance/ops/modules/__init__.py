"""A framework's own network modules as ops: one table, by name, of rows like those of the op catalogue.

A call of a module is one instruction. Its operands are the input, the further inputs that its settings require (the
initial states of a recurrent module, the memory of attention) and then its parameters, in the order of `parameters`.
The settings are the instruction's attributes. All of them are given; a module's `whole` names them. `nn_batch_norm`
normalises by the batch's own statistics, `nn_batch_norm_eval` by running statistics, which are operands and never
require grad.

`lengths` is None or a tuple of the lengths of a batch's sequences, the longest of which is as long as the input. `mask`
is None, "causal" or rows of booleans, and `padding` is None or a row of booleans for each sample; True hides a key.
Every query must have a visible key.

To add a module, add a row to the file of its kind. Modules are not in `ops.tables.OPS`, from which programs are drawn
op by op, but `ops.catalogue.row_of` returns their rows by name.
"""

from __future__ import annotations

from autograd_conformance.ops.modules.attention import ATTENTION
from autograd_conformance.ops.modules.layers import LAYERS
from autograd_conformance.ops.modules.module import Module, Named, Sizes
from autograd_conformance.ops.modules.recurrent import RECURRENT
from autograd_conformance.ops.rows.row import Op
from autograd_conformance.programs.language import Attrs, Shape

TABLE: dict[str, Module] = {m.name: m for m in (*RECURRENT, *LAYERS, *ATTENTION)}

MODULES: dict[str, Op] = {name: m.row for name, m in TABLE.items()}


def parameters(op: str, attrs: Attrs, sizes: Sizes) -> Named:
    """The names and shapes of a module's parameters, in the order of its operands.

    The names are those of its `state_dict`. `TABLE[op].sizes` lists the sizes that have to be given.
    """
    return TABLE[op].parameters(dict(attrs), sizes)


def inputs(op: str, attrs: Attrs, sizes: Sizes, first: Shape) -> Named:
    """The names and shapes of the operands before the parameters, beginning with the input, which has the shape
    `first`.

    If attention has a memory, `sizes` contains its number of `keys`.
    """
    return (("x", first), *TABLE[op].further(dict(attrs), sizes, first))


def results(op: str, attrs: Attrs) -> int:
    """Returns the number of results of a module with these settings."""
    return TABLE[op].results(dict(attrs))


__all__ = ["MODULES", "TABLE", "Module", "inputs", "parameters", "results"]
