"""The dialect of PyTorch and of frameworks with its interface: programs as PyTorch code."""

from __future__ import annotations

from autograd_conformance.ops.catalogue import APPLIED, ROWS, WRITES
from autograd_conformance.ops.modules import TABLE
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.printing.dialect import Dialect

PRELUDE = "import torch\nimport torch.nn.functional as F"
"""The imports of PyTorch's code."""


def dialect(device: str = "cpu", prelude: str = PRELUDE) -> Dialect:
    """Returns PyTorch's dialect for a device, with other imports if `prelude` is given."""
    where = "" if device == "cpu" else f", device={device!r}"
    return Dialect(
        prelude=prelude,
        tensor=f"torch.tensor({{data}}, dtype=torch.{{dtype}}{where}{{flags}})",
        empty=f"torch.zeros({{shape}}, dtype=torch.{{dtype}}{where}{{flags}})",
        differentiable=", requires_grad=True",
        ops={name: op.template for name, op in ROWS.items() if name in APPLIED},
        sequences=frozenset(name for name, op in ROWS.items() if op.sequence),
        detach="{source}.detach()",
        backward="{root}.backward({arguments})",
        backward_many="torch.autograd.backward([{roots}], [{cotangents}]{arguments})",
        retain="retain_graph={value}",
        held="{leaf}.grad",
        assign="{leaf}.grad = {value}",
        create="create_graph={value}",
        step="torch.optim.{optimizer}([{leaves}]{settings}).step()",
        optimizer="torch.optim.{optimizer}([{leaves}]{settings})",
        step_again="{name}.step()",
        optimizers={name: row.torch for name, row in OPTIMIZERS.items()},
        clear="{name}.zero_grad(set_to_none={set_to_none})",
        group='{{"params": [{leaves}]{settings}}}',
        clips={
            "norm": "torch.nn.utils.clip_grad_norm_([{leaves}], {bound})",
            "value": "torch.nn.utils.clip_grad_value_([{leaves}], {bound})",
        },
        clear_to_none="{leaf}.grad = None",
        clear_to_zeros="if {leaf}.grad is not None: {leaf}.grad.zero_()",
        clear_to_zeros_briefly="{leaf}.grad is not None and {leaf}.grad.zero_()",
        gradient="{leaf}.grad",
        memory="{value}.untyped_storage().data_ptr()",
        dtype="{value}.dtype",
        flag="{value}.requires_grad",
        in_full="{value}.tolist()",
        error="RuntimeError",
        writes={name: op.torch for name, op in WRITES.items()},
        detach_in_place="{target}.detach_()",
        requires_grad="{target}.requires_grad_({on})",
        inputs="inputs=[{inputs}]",
        grad="torch.autograd.grad({roots}, {inputs}{arguments})",
        cotangents="grad_outputs={cotangents}",
        unused="allow_unused={value}",
        materialize="materialize_grads={value}",
        retain_grad="{target}.retain_grad()",
        default_dtype="torch.set_default_dtype(torch.{dtype})",
        hook="{target}.register_hook({function})",
        accumulated_hook="{target}.register_post_accumulate_grad_hook("
        'lambda leaf: print("{target} now holds:", leaf.grad))',
        effects={
            "observe": 'lambda grad: print("hook on {target}:", grad)',
            "scale": "lambda grad: grad * {factor}",
            "replace": "lambda grad: torch.full_like(grad, {factor})",
            "raise": "lambda grad: 1 / 0",
            "misshape": "lambda grad: grad.new_ones((*grad.shape, 2))",
        },
        remove_hook="{handle}.remove()",
        modules=TABLE,
        parameter="torch.nn.Parameter({tensor})",
        modes={"no_grad": "torch.no_grad()", "enable_grad": "torch.enable_grad()"},
    )
