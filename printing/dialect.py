"""How a program is written in some framework's own code: templates, and the one function that fills them in.

One line per instruction, so that line n + 1 of the code is instruction n of the program. A framework without a
dialect is printed in the suite's text form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Attrs,
    Backward,
    Clip,
    Delete,
    Detach,
    DetachInPlace,
    Grad,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Literal,
    Modes,
    Optimizer,
    Program,
    ReadGrad,
    Ref,
    RemoveHook,
    RetainGrad,
    SetRequiresGrad,
    Shape,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.operands import made_for, results, same_optimizer
from autograd_conformance.programs.text import lines, names

Template = str | Callable[[Sequence[str], Mapping[str, Any]], str]
"""An op's code with fields to be filled in, or a function that writes it from the operands' names and the attributes.
"""


@dataclass(frozen=True)
class Dialect:
    """Templates with named fields.

    `tensor` has {data} (nested lists), {dtype} and {flags}; `empty`, for tensors without elements, {shape}, {dtype}
    and {flags}; `differentiable` is what {flags} becomes for a leaf that requires grad. `ops` maps an op to its code
    with {0}, {1} for operands and attributes by name. `backward` has {root} and {arguments}; `backward_many` {roots},
    {cotangents} and {arguments}; `retain` has {value}. `clear_to_none` and `clear_to_zeros` have {leaf}; `gradient`
    reads what a leaf holds. `error` is the exception to catch where an error is expected. `saved` reads how many saved
    tensors are alive.

    `step` has {optimizer}, {leaves} and {settings}; where an optimizer does more than one thing, it has a name:
    `optimizer` makes it, with the same fields, and with {name}, `step_again` is a step and `clear` clears to
    {set_to_none}. `group` is one of several parameter groups, which stand in {leaves}; it has {leaves} and {settings}.
    `clips` maps a way to clip to a statement with {leaves} and {bound}.

    The rest is for frameworks that claim those instructions; each template has the fields of its instruction.
    `clear_to_zeros_briefly` is `clear_to_zeros` as a simple statement, which may stand behind another or a `with`.
    `writes` maps a write to a statement, {0} being the target; `effects` an effect to a function of a gradient, which
    has {factor} and {target} and is {function} in `hook`; `accumulated_hook` observes. `modes` maps a grad mode to the
    context that `under` enters as {modes} for {line}. `grad`, which gives a sequence, has {roots}, {inputs} and
    {arguments}; `cotangents` has {cotangents}, `inputs` {inputs}; `create`, `unused` and `materialize` have {value}.
    """

    prelude: str
    tensor: str
    empty: str
    differentiable: str
    ops: Mapping[str, Template]
    detach: str
    backward: str
    backward_many: str
    retain: str
    clear_to_none: str
    clear_to_zeros: str
    gradient: str
    error: str = "Exception"
    saved: str = ""
    clear_to_zeros_briefly: str = ""
    held: str = ""
    assign: str = ""
    create: str = ""
    step: str = ""
    optimizer: str = ""
    step_again: str = ""
    clear: str = ""
    group: str = ""
    clips: Mapping[str, str] = field(default_factory=dict)
    optimizers: Mapping[str, str] = field(default_factory=dict)
    writes: Mapping[str, str] = field(default_factory=dict)
    detach_in_place: str = ""
    requires_grad: str = ""
    inputs: str = ""
    grad: str = ""
    cotangents: str = ""
    unused: str = ""
    materialize: str = ""
    retain_grad: str = ""
    hook: str = ""
    accumulated_hook: str = ""
    effects: Mapping[str, str] = field(default_factory=dict)
    remove_hook: str = ""
    drop: str = "del {values}"
    under: str = "with {modes}: {line}"
    modes: Mapping[str, str] = field(default_factory=dict)


def fill(template: Template, args: Iterable[str], attrs: Attrs) -> str:
    """An op's code: `template` with the operands' names and the attributes' values."""
    if callable(template):
        return template(tuple(args), dict(attrs))
    return template.format(*args, **{name: repr(value) for name, value in attrs})


def code(program: Program, dialect: Dialect | None) -> list[str]:
    """A program as code, a line per instruction."""
    if dialect is None:
        return list(lines(program))
    name = names(program)
    return [_under(program.mode(at), line(at, program, name, dialect), dialect) for at in range(len(program))]


def _under(modes: Modes, line: str, dialect: Dialect) -> str:
    if not modes:
        return line
    return dialect.under.format(modes=", ".join(dialect.modes[mode] for mode in modes), line=line)


def line(at: int, program: Program, name: Mapping[Ref, str], dialect: Dialect) -> str:
    """One instruction as code, its values being called as `name` says; its grad modes are left out."""
    step = program[at]
    made = ", ".join(name[Ref(at, k)] for k in range(results(step)))
    match step:
        case ZeroGrad():
            maker = made_for(step, program.instructions[:at])
            if maker is not None and dialect.clear:
                its = _its_name(program.instructions.index(maker), maker)
                return dialect.clear.format(name=its, set_to_none=step.set_to_none)
            return _clear(step, name, dialect, alone=not program.mode(at))
        case Step() | Optimizer():
            return _optimizer(at, step, program, name, dialect)
        case Grad(inputs=(_,)):
            return f"({made},) = {_value(step, name, dialect)}"
        case _ if made:
            return f"{made} = {_value(step, name, dialect)}"
        case _:
            return _action(step, name, dialect)


def _value(step: Instruction, name: Mapping[Ref, str], dialect: Dialect) -> str:
    """An instruction that makes values, as an expression."""
    match step:
        case Leaf(value, requires_grad):
            return tensor(value, dialect, requires_grad)
        case Apply(op, args, attrs):
            return fill(dialect.ops[op], (name[r] for r in args), attrs)
        case Detach(source):
            return dialect.detach.format(source=name[source])
        case ReadGrad(leaf):
            return dialect.held.format(leaf=name[leaf])
        case Grad(roots, inputs):
            arguments = [*_weights(step, dialect), *_flags(step, name, dialect)]
            return dialect.grad.format(
                roots=_bracketed(roots, name), inputs=_bracketed(inputs, name), arguments=_further(arguments)
            )
        case Hook(target, effect, factor, accumulated):
            if accumulated:
                return dialect.accumulated_hook.format(target=name[target])
            function = dialect.effects[effect].format(factor=_number(factor), target=name[target])
            return dialect.hook.format(target=name[target], function=function)
    raise TypeError(f"{type(step).__name__} makes no value")


def _action(step: Instruction, name: Mapping[Ref, str], dialect: Dialect) -> str:
    """An instruction that makes no value, as a statement."""
    match step:
        case InPlace(op, target, args, attrs):
            return fill(dialect.writes[op], (name[r] for r in (target, *args)), attrs)
        case DetachInPlace(target):
            return dialect.detach_in_place.format(target=name[target])
        case SetRequiresGrad(target, on):
            return dialect.requires_grad.format(target=name[target], on=on)
        case Backward():
            return _backward(step, name, dialect)
        case RetainGrad(target):
            return dialect.retain_grad.format(target=name[target])
        case RemoveHook(handle):
            return dialect.remove_hook.format(handle=name[handle])
        case AssignGrad(leaf, given):
            return dialect.assign.format(leaf=name[leaf], value="None" if given is None else name[given])
        case Clip(leaves, kind, bound):
            return dialect.clips[kind].format(leaves=_listed(leaves, name), bound=_number(bound))
        case Delete(values):
            return dialect.drop.format(values=_listed(values, name))
    raise TypeError(f"{type(step).__name__} is no action")


def _clear(step: ZeroGrad, name: Mapping[Ref, str], dialect: Dialect, alone: bool) -> str:
    simple = dialect.clear_to_zeros if alone and len(step.leaves) == 1 else dialect.clear_to_zeros_briefly
    template = dialect.clear_to_none if step.set_to_none else simple or dialect.clear_to_zeros
    return "; ".join(template.format(leaf=name[leaf]) for leaf in step.leaves)


def _optimizer(at: int, step: Step | Optimizer, program: Program, name: Mapping[Ref, str], dialect: Dialect) -> str:
    """A step, or the making of an optimizer, which is named by the first line that has to do with it."""
    fields = {
        "optimizer": dialect.optimizers.get(step.optimizer, step.optimizer),
        "leaves": _leaves_of(step, name, dialect),
        "settings": _settings(step.settings),
    }
    its = [k for k, other in enumerate(program) if isinstance(other, (Step, Optimizer)) and same_optimizer(step, other)]
    if not dialect.step_again or (len(its) == 1 and isinstance(step, Step)):
        return dialect.step.format(**fields)
    named = _its_name(its[0], step)
    lines = [f"{named} = {dialect.optimizer.format(**fields)}"] if at == its[0] else []
    lines += [dialect.step_again.format(name=named)] if isinstance(step, Step) else []
    return "; ".join(lines) or f"{named}  # it is made already"


def _leaves_of(step: Step | Optimizer, name: Mapping[Ref, str], dialect: Dialect) -> str:
    if not step.groups:
        return _listed(step.leaves, name)
    groups, first = [], 0
    for count, own in step.groups:
        leaves = _listed(step.leaves[first : first + count], name)
        groups.append(dialect.group.format(leaves=leaves, settings=_pairs(own)))
        first += count
    return ", ".join(groups)


def _settings(settings: Attrs) -> str:
    return _further([f"{k}={v!r}" for k, v in settings])


def _pairs(settings: Attrs) -> str:
    return _further([f"{k!r}: {v!r}" for k, v in settings])


def _its_name(first: int, step: Step | Optimizer) -> str:
    return f"{step.optimizer}{first + 1}"


def _backward(call: Backward, name: Mapping[Ref, str], dialect: Dialect) -> str:
    given, flags = _given(call, dialect), _flags(call, name, dialect)
    if len(call.roots) == 1:
        arguments = ", ".join([*(given if call.cotangents[0] is not None else []), *flags])
        return dialect.backward.format(root=name[call.roots[0]], arguments=arguments)
    return dialect.backward_many.format(
        roots=_listed(call.roots, name), cotangents=", ".join(given), arguments=_further(flags)
    )


def _given(call: Backward | Grad, dialect: Dialect) -> list[str]:
    return ["None" if c is None else tensor(c, dialect) for c in call.cotangents]


def _weights(call: Grad, dialect: Dialect) -> list[str]:
    if all(c is None for c in call.cotangents):
        return []
    given = ", ".join(_given(call, dialect))
    return [dialect.cotangents.format(cotangents=given if len(call.roots) == 1 else f"[{given}]")]


def _flags(call: Backward | Grad, name: Mapping[Ref, str], dialect: Dialect) -> list[str]:
    flags = [] if call.retain_graph is None else [dialect.retain.format(value=call.retain_graph)]
    if call.create_graph:
        flags.append(dialect.create.format(value=True))
    if isinstance(call, Grad):
        flags += [] if call.allow_unused is None else [dialect.unused.format(value=call.allow_unused)]
        flags += [dialect.materialize.format(value=True)] if call.materialize_grads else []
    elif call.inputs is not None:
        flags.append(dialect.inputs.format(inputs=_listed(call.inputs, name)))
    return flags


def _listed(refs: Iterable[Ref], name: Mapping[Ref, str]) -> str:
    return ", ".join(name[r] for r in refs)


def _bracketed(refs: tuple[Ref, ...], name: Mapping[Ref, str]) -> str:
    return name[refs[0]] if len(refs) == 1 else f"[{_listed(refs, name)}]"


def _further(arguments: list[str]) -> str:
    return "".join(f", {argument}" for argument in arguments)


def _number(x: float) -> str:
    return repr(x) if x - x == 0 else f"float('{x}')"


def tensor(value: Literal, dialect: Dialect, requires_grad: bool = False) -> str:
    """A literal as code."""
    flags = dialect.differentiable if requires_grad else ""
    if 0 in value.shape:
        return dialect.empty.format(shape=value.shape, dtype=value.dtype, flags=flags)
    flat = iter(value.data)

    def nest(shape: Shape) -> str:
        return "[" + ", ".join(nest(shape[1:]) for _ in range(shape[0])) + "]" if shape else _number(next(flat))

    return dialect.tensor.format(data=nest(value.shape), dtype=value.dtype, flags=flags)
