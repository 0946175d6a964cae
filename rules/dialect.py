"""How a program is written in some framework's own code: templates, and the one function that fills them in.

One line per instruction, so that line n + 1 of the code is instruction n of the program. A framework without a
dialect is printed in the suite's text form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rules.language import (
    Apply,
    AssignGrad,
    Attrs,
    Backward,
    Detach,
    Held,
    Instruction,
    Leaf,
    Literal,
    Program,
    Ref,
    Shape,
    Step,
    ZeroGrad,
    results,
)
from rules.text import lines, names


@dataclass(frozen=True)
class Dialect:
    """Templates with named fields.

    `tensor` has {data} (nested lists), {dtype} and {flags}; `empty`, for tensors without elements, {shape}, {dtype}
    and {flags}; `differentiable` is what {flags} becomes for a leaf that requires grad. `ops` maps an op to its code
    with {0}, {1} for operands and attributes by name. `backward` has {root} and {arguments}; `backward_many` {roots},
    {cotangents} and {arguments}; `retain` has {value}. `clear_to_none` and `clear_to_zeros` have {leaf}; `gradient`
    reads what a leaf holds. `error` is the exception to catch where an error is expected. `held` ({leaf}), `assign`
    ({leaf}, {value}), `create` ({value}) and `step` ({optimizer}, {leaves}, {settings}) are for frameworks that claim
    those instructions.
    """

    prelude: str
    tensor: str
    empty: str
    differentiable: str
    ops: Mapping[str, str]
    detach: str
    backward: str
    backward_many: str
    retain: str
    clear_to_none: str
    clear_to_zeros: str
    gradient: str
    error: str = "Exception"
    held: str = ""
    assign: str = ""
    create: str = ""
    step: str = ""
    optimizers: Mapping[str, str] = field(default_factory=dict)


def fill(template: str, args: Iterable[str], attrs: Attrs) -> str:
    """An op's code: `template` with the operands' names and the attributes' values."""
    return template.format(*args, **{name: repr(value) for name, value in attrs})


def code(program: Program, dialect: Dialect | None) -> list[str]:
    """A program as code, a line per instruction."""
    if dialect is None:
        return list(lines(program))
    name = names(program)
    return [_line(at, step, name, dialect) for at, step in enumerate(program)]


def _line(at: int, step: Instruction, name: Mapping[Ref, str], dialect: Dialect) -> str:
    made = ", ".join(name[Ref(at, k)] for k in range(results(step)))
    match step:
        case Leaf(value, requires_grad):
            return f"{made} = {tensor(value, dialect, requires_grad)}"
        case Apply(op, args, attrs):
            return f"{made} = {fill(dialect.ops[op], (name[r] for r in args), attrs)}"
        case Detach(source):
            return f"{made} = {dialect.detach.format(source=name[source])}"
        case Held(leaf):
            return f"{made} = {dialect.held.format(leaf=name[leaf])}"
        case AssignGrad(leaf, given):
            return dialect.assign.format(leaf=name[leaf], value="None" if given is None else name[given])
        case Step(leaves, optimizer, settings):
            return dialect.step.format(
                optimizer=dialect.optimizers.get(optimizer, optimizer),
                leaves=", ".join(name[r] for r in leaves),
                settings="".join(f", {k}={v!r}" for k, v in settings),
            )
        case ZeroGrad(leaves, set_to_none):
            template = dialect.clear_to_none if set_to_none else dialect.clear_to_zeros
            return "; ".join(template.format(leaf=name[leaf]) for leaf in leaves)
        case Backward():
            return _backward(step, name, dialect)


def _backward(call: Backward, name: Mapping[Ref, str], dialect: Dialect) -> str:
    flags = [] if call.retain_graph is None else [dialect.retain.format(value=call.retain_graph)]
    if call.create_graph:
        flags.append(dialect.create.format(value=True))
    retain = ", ".join(flags)
    given = ["None" if c is None else tensor(c, dialect) for c in call.cotangents]
    if len(call.roots) == 1:
        arguments = ", ".join([*(given if call.cotangents[0] is not None else []), *([retain] if retain else [])])
        return dialect.backward.format(root=name[call.roots[0]], arguments=arguments)
    return dialect.backward_many.format(
        roots=", ".join(name[r] for r in call.roots),
        cotangents=", ".join(given),
        arguments=f", {retain}" if retain else "",
    )


def tensor(value: Literal, dialect: Dialect, requires_grad: bool = False) -> str:
    """A literal as code."""
    flags = dialect.differentiable if requires_grad else ""
    if 0 in value.shape:
        return dialect.empty.format(shape=value.shape, dtype=value.dtype, flags=flags)
    flat = iter(value.data)

    def nest(shape: Shape) -> str:
        return "[" + ", ".join(nest(shape[1:]) for _ in range(shape[0])) + "]" if shape else repr(next(flat))

    return dialect.tensor.format(data=nest(value.shape), dtype=value.dtype, flags=flags)
