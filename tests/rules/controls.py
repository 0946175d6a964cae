"""Negative controls: correct programs that look wrong. A checker that reports one of them raises a false alarm.

`python -m tests.rules.controls` writes them to docs/results/controls.md, in PyTorch's own code.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autograd_conformance.claims.records import own_names, with_own_names
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.printing.dialect import code
from autograd_conformance.programs.formats.text import parse

PAGE = Path(__file__).parents[2] / "docs" / "results" / "controls.md"


@dataclass(frozen=True, slots=True)
class Control:
    """The suspicious part of a program, the program, and the reason why every call returns."""

    looks: str
    program: str
    why: str


A, C = "a = leaf [1, 2]", "c = leaf [3, 4] const"

CONTROLS = (
    Control(
        "A result is written to before it is walked.",
        f"{A}; b = negative a; write b mul_scalar_ scalar=3.0; backward b with [1, 1]",
        "Nothing saved b, and the write is recorded: the gradient is -3.",
    ),
    Control(
        "An operand is overwritten before the backward call.",
        f"{A}; {C}; b = add a c; write c zero_; backward b with [1, 1]",
        "The derivative of a sum needs neither operand.",
    ),
    Control(
        "A write changes one factor of a product, but not the factor that was saved.",
        f"{A}; {C}; b = multiply a c; no_grad: write a zero_; backward b with [1, 1]",
        "Only a requires grad, so only c is saved.",
    ),
    Control(
        "A parameter is stepped between two backward calls on one graph.",
        f"{A}; {C}; b = multiply a c; backward b with [1, 1] retain=True; step a sgd lr=0.5; backward b with [1, 1]",
        "The graph saved c, not the parameter.",
    ),
    Control(
        "A value is changed in place repeatedly.",
        f"{A}; b = negative a; write b add_scalar_ scalar=1.0; write b mul_scalar_ scalar=2.0; c = square b;"
        " backward c with [1, 1]",
        "The square saved b after the last write.",
    ),
    Control(
        "A saved result is written to through the op's own in-place form.",
        f"{A}; b = negative a; write b exp_; backward b with [1, 1]",
        "exp_ saves what it wrote, and nothing writes to that afterwards.",
    ),
    Control(
        "A leaf is overwritten under no_grad.",
        f"{A}; no_grad: write a mul_scalar_ scalar=2.0; b = square a; backward b with [1, 1]",
        "The write comes before the square, which saves the new value.",
    ),
    Control(
        "A detached alias is written to.",
        f"{A}; b = negative a; d = detach b; write d zero_; backward b with [1, 1]",
        "b is zero from then on, but its derivative needs no value.",
    ),
    Control(
        "A freed graph's leaf is used again.",
        f"{A}; b = square a; backward b with [1, 1]; c = square a; backward c with [1, 1]",
        "The call freed the first square's graph; the second square has a separate graph.",
    ),
    Control(
        "Two networks that share their input are walked one after the other.",
        "x = leaf [1, 2] const; v = leaf [1, 2]; w = leaf [3, 4]; p = multiply v x; q = multiply w x;"
        " backward p with [1, 1]; backward q with [1, 1]",
        "The input has no graph, and each network saved separate tensors.",
    ),
    Control(
        "A graph is walked again, from another root, after a call that does not retain it.",
        f"{A}; b = negative a; c = square b; d = sin b; backward c with [1, 1]; backward d with [1, 1]",
        "The shared op, the negative, saved nothing; the two ops that do save tensors are walked once each.",
    ),
    Control(
        "The gradient is cleared to None between two calls on one graph.",
        f"{A}; b = square a; backward b with [1, 1] retain=True; zero a; backward b with [1, 1]",
        "Clearing a gradient has nothing to do with the graph.",
    ),
    Control(
        "backward is called on a leaf.",
        "a = leaf 3; backward a; backward a",
        "A leaf is its own root: its gradient is 1 each time, and there is no graph to free.",
    ),
    Control(
        "An optimizer steps before there is any gradient.",
        f"{A}; step a adam lr=0.125; b = square a; backward b with [1, 1]; step a adam lr=0.125",
        "Leaves without a gradient are skipped.",
    ),
    Control(
        "A call fails, and the program continues with the same graph.",
        f"{A}; b = square a; backward b; backward b with [1, 1]",
        "A refused call leaves the graph as it was. (The first call has to raise.)",
    ),
    Control(
        "A loss is walked twice with create_graph and no retain_graph.",
        "a = leaf 3; b = square a; backward b create=True; backward b",
        "create_graph keeps the graph.",
    ),
    Control(
        "A gradient is used as a value, and its leaf's gradient is cleared.",
        "a = leaf 3; b = exp a; backward b create=True; g = held a; zero a; backward g",
        "Clearing to None removes the gradient from the leaf; the value g stays.",
    ),
    Control(
        "The generator's batch is detached for one loss and walked by the other.",
        "w = leaf 2; v = leaf 3; z = leaf 1 const; f = multiply w z; d = detach f; p = multiply v d; backward p;"
        " q = multiply v f; backward q",
        "The first call stops at the detached batch, so the generator's graph is still there.",
    ),
    Control(
        "A recurrent state is carried over.",
        "w = leaf 2; x = leaf 1 const; h = multiply w x; backward h; d = detach h; k = multiply w d; backward k",
        "It is detached first.",
    ),
    Control(
        "A frozen parameter gets no gradient.",
        f"{A}; e = leaf [3, 4]; requires e False; b = multiply a e; backward b with [1, 1]",
        "It requires none.",
    ),
    Control(
        "A view is written to, and its base is walked.",
        f"{A}; b = negative a; v = slice b start=0 stop=1 step=1; write v mul_scalar_ scalar=5.0;"
        " backward b with [1, 1]",
        "The write becomes a part of b's history: the gradient is -5 and -1.",
    ),
    Control(
        "The graph is retained, and its root is deleted.",
        f"{A}; b = square a; backward b with [1, 1] retain=True; drop b; c = square a; backward c with [1, 1]",
        "No call has to free the graph: it is released with its root.",
    ),
    Control(
        "Gradients are clipped to a bound that they do not reach.",
        f"{A}; b = negative a; backward b with [1, 1]; clip_grad a norm 100.0; step a sgd lr=0.5",
        "Clipping leaves gradients that are within the bound.",
    ),
    Control(
        "One tensor is both factors of a product, and is then summed with itself.",
        f"{A}; b = multiply a a; c = add b b; backward c with [1, 1]",
        "Each use counts: the gradient is 4a.",
    ),
)


def page() -> str:
    """The table as Markdown."""
    dialect = Torch().dialect
    parts = [
        "<!-- Made by `python -m tests.rules.controls`; edit tests/rules/controls.py, not this page. -->\n",
        "# Negative controls\n",
        "Programs that look wrong and are right. A framework, a checker or a rule that complains about one of them"
        " raises a false alarm. The suite's own tests run them all.\n",
    ]
    for number, control in enumerate(CONTROLS, 1):
        program = parse(control.program, VOCABULARY)
        own = own_names(control.program, program)
        lines = "\n".join(with_own_names(line, own) for line in code(program, dialect))
        parts.append(f"**{number}. {control.looks}** {control.why}\n\n```python\n{lines}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
