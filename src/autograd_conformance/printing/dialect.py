"""Dialects: templates from which programs are printed as code of a framework.

Each instruction is one line, so that line n + 1 of the code is instruction n of the program. Programs of a framework
without a dialect are printed in the suite's text form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from autograd_conformance.ops.modules.module import Module
from autograd_conformance.printing.literals import as_literals, literal
from autograd_conformance.programs.formats.text import lines, names
from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Attrs,
    Backward,
    Clip,
    DefaultDtype,
    Delete,
    Detach,
    DetachInPlace,
    Grad,
    Hook,
    InPlace,
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
from autograd_conformance.programs.operands import clearing_optimizer, results, same_optimizer

Template = str | Callable[[Sequence[str], Mapping[str, Any]], str]
"""An op's code with fields to fill in (``"{0} * {1}"``), or a function that writes the code from the operands' names
and the attributes.
"""


@dataclass(frozen=True)
class Dialect:
    """The code of a framework, as templates with named fields.

    The templates of instructions that a framework does not claim are empty.
    """

    prelude: str
    """The lines of code before every program, such as imports."""
    tensor: str
    """Template of a tensor, from {data} (nested lists), {dtype} and {flags}."""
    empty: str
    """Template of a tensor without elements, from {shape}, {dtype} and {flags}."""
    differentiable: str
    """The code that fills the field {flags} for a leaf that requires grad: ``, requires_grad=True``."""
    ops: Mapping[str, Template]
    """The template of each op's code, by the op's name."""
    detach: str
    """Template of a detached value: ``{source}.detach()``."""
    backward: str
    """Template of a backward call from one {root}, with {arguments}."""
    backward_many: str
    """Template of a backward call from several {roots}, with {cotangents} and {arguments}."""
    retain: str
    """Template of the argument that sets whether a backward call keeps the graph: ``retain_graph={value}``."""
    clear_to_none: str
    """Template of the statement that sets the gradient of {leaf} to None."""
    clear_to_zeros: str
    """Template of the statement that sets the gradient of {leaf} to zeros."""
    gradient: str
    """Template of the expression that reads the gradient of {leaf}: ``{leaf}.grad``."""
    number: str = ""
    """Template of a tensor of shape ``()``, from {data}, {dtype} and {flags}; empty if such a tensor is written like
    all others.
    """
    constant: str = ""
    """The code that fills the field {flags} for leaves that require no grad, and for cotangents."""
    cotangent: str = ""
    """Template of a cotangent, from {data} and {dtype}, where a call takes an array; empty if it is written like all
    other tensors. The data of one without elements are `numpy.zeros`, or `np.zeros` if the prelude imports that name.
    """
    sequences: frozenset[str] = frozenset()
    """Names of ops whose code returns a sequence, even for one result."""
    error: str = "Exception"
    """Name of the exception that a script catches if an error is expected."""
    saved: str = ""
    """The expression that reads the number of saved tensors that are alive."""
    memory: str = ""
    """Template of the expression that reads a number which identifies the memory of {value}, such as
    ``{value}.data_ptr()``.
    """
    shape: str = "{value}.shape"
    """Template of the expression that reads the shape of {value}; empty if there is none."""
    dtype: str = ""
    """Template of the expression that reads the dtype of {value}, such as ``{value}.dtype``; empty if there is none."""
    flag: str = ""
    """Template of the expression that reads whether {value} requires grad, such as ``{value}.requires_grad``."""
    elements: str = "{value}"
    """Template of the expression that is printed to show the elements of {value}, for frameworks whose values print
    without them.
    """
    gradient_elements: str = ""
    """Template of the expression that is printed to show the elements of the gradient {value}; empty if they are read
    like those of a value.
    """
    in_full: str = ""
    """Template of the expression that reads the elements of {value} with all digits, if printing the value leaves some
    out.
    """
    clear_to_zeros_briefly: str = ""
    """Template of a simple statement, which may follow another one or a `with` on the same line, that sets the gradient
    of {leaf} to zeros.
    """
    held: str = ""
    """Template of the expression that makes the gradient of {leaf} a value of the program."""
    assign: str = ""
    """Template of the statement that sets the gradient of {leaf} to {value}."""
    create: str = ""
    """Template of the argument that makes gradients differentiable: ``create_graph={value}``."""
    step: str = ""
    """Template of one step of an optimizer that the program uses only once, from {optimizer}, {leaves} and
    {settings}.
    """
    optimizer: str = ""
    """Template of the construction of an optimizer that several lines use, from {optimizer}, {leaves} and
    {settings}.
    """
    step_again: str = ""
    """Template of one step of the constructed optimizer {name}: ``{name}.step()``."""
    clear: str = ""
    """Template of the call that clears the gradients of all leaves of the optimizer {name}, with {set_to_none}."""
    group: str = ""
    """Template of one of several parameter groups, from {leaves} and {settings}; the groups fill the field {leaves} of
    `optimizer`.
    """
    clips: Mapping[str, str] = field(default_factory=dict)
    """The template of the statement for each way to clip gradients, from {leaves} and {bound}."""
    optimizers: Mapping[str, str] = field(default_factory=dict)
    """The code that fills the field {optimizer} for each optimizer: ``{"sgd": "SGD"}``."""
    always_given: Mapping[str, str] = field(default_factory=dict)
    """The code of settings that are written even where a program leaves them out, since the framework's defaults are
    not those of `ops.optimizers`: ``{"adamw.weight_decay": "0.01"}``.
    """
    writes: Mapping[str, Template] = field(default_factory=dict)
    """The template of the statement for each in-place op; {0} is the target."""
    detach_in_place: str = ""
    """Template of the statement that detaches {target} in place."""
    requires_grad: str = ""
    """Template of the statement that sets `requires_grad` of {target} to {on}."""
    inputs: str = ""
    """Template of the argument that restricts a backward call to {inputs}."""
    grad: str = ""
    """Template of the call that returns gradients as a sequence, like `torch.autograd.grad`, from {roots}, {inputs} and
    {arguments}.
    """
    cotangents: str = ""
    """Template of the argument of `grad` that gives {cotangents}."""
    vjp: str = ""
    """Template of the expression for the gradients of {function} as a sequence, for frameworks that differentiate
    functions instead of having `grad`. The fields are {inputs}, {places} (their positions), {cotangents}, and
    {cotangent} (the same, in parentheses if there are several).
    """
    ones: str = ""
    """Template of the cotangent of {root}, all ones, that `vjp` requires if the program omits the cotangent."""
    together: str = "{values}"
    """Template of the return value of a differentiated function with several results, from {values} (names separated by
    commas).
    """
    unused: str = ""
    """Template of the argument of `grad` that allows unused inputs: ``allow_unused={value}``."""
    materialize: str = ""
    """Template of the argument of `grad` that returns zeros for unused inputs: ``materialize_grads={value}``."""
    retain_grad: str = ""
    """Template of the statement that makes {target}, which is not a leaf, retain a gradient."""
    hook: str = ""
    """Template of the statement that registers a hook on {target}. The printer replaces {function} by the function in
    `effects` for the hook's effect.
    """
    accumulated_hook: str = ""
    """Template of the registration of a hook that is called after a gradient was accumulated in {target}, and changes
    nothing.
    """
    effects: Mapping[str, str] = field(default_factory=dict)
    """For each effect of a hook (``scale``, ``observe``, ...), the template of a function of a gradient, from {factor}
    and {target}.
    """
    remove_hook: str = ""
    """Template of the statement that removes the hook with the handle {handle}."""
    drop: str = "del {values}"
    """Template of the statement that deletes the names {values}."""
    default_dtype: str = ""
    """Template of the statement that sets the default dtype to {dtype}."""
    under: str = "with {modes}: {line}"
    """Template that puts a {line} of code under grad {modes}, separated by commas."""
    modes: Mapping[str, str] = field(default_factory=dict)
    """The code of the context manager for each grad mode: ``torch.no_grad()``."""
    modules: Mapping[str, Module] = field(default_factory=dict)
    """The network modules (such as ``nn_linear``) that can be printed as objects that own their parameters, by the name
    of the op that calls the module.
    """
    parameter: str = ""
    """Template of a parameter of a network module, made from {tensor}: ``torch.nn.Parameter({tensor})``."""
    unit_head: str = ""
    """The line, such as a decorator, before the definition of a region's function; a region is instructions that run as
    one compiled or checkpointed function.
    """
    unit: str = "{function}({inputs})"
    """Template of the call of a region's function (a region is instructions that run as one compiled or checkpointed
    function), from {function} and {inputs}, or from {arguments}, which contains both.
    """
    openings: tuple[str, ...] = ()
    """Statements after the prelude that enter modes for the whole script, such as ``mode.__enter__()``; in a run, the
    adapter's `prepare` enters them. Of several, each program gets one (`openings.chosen`).
    """


def fill(template: Template, args: Iterable[str], attrs: Attrs) -> str:
    """Fills in an op's template with the operands' names and the attributes' values: ``"{0} * {1}"`` becomes
    ``a * b``.
    """
    given = as_literals(attrs)
    return template(tuple(args), given) if callable(template) else template.format(*args, **given)


def code(program: Program, dialect: Dialect | None) -> list[str]:
    """Writes a program in the framework's code, one line per instruction, or in the suite's text form if there is no
    dialect.
    """
    if dialect is None:
        return list(lines(program))
    name = names(program)
    return [under(program.mode(at), line(at, program, name, dialect), dialect) for at in range(len(program))]


def under(modes: Modes, line: str, dialect: Dialect) -> str:
    """Puts a line of code under modes: ``with torch.no_grad(): y = x * 2``."""
    if not modes:
        return line
    return dialect.under.format(modes=", ".join(dialect.modes[mode] for mode in modes), line=line)


def line(at: int, program: Program, name: Mapping[Ref, str], dialect: Dialect) -> str:
    """Writes the instruction with number `at` as code, with the values' names in `name`, and without the instruction's
    grad modes.
    """
    step = program[at]
    made = [name[Ref(at, k)] for k in range(results(step))]
    match step:
        case Leaf(value, requires_grad):
            text = tensor(value, dialect, requires_grad)
        case Apply(op, args, attrs):
            text = fill(dialect.ops[op], (name[r] for r in args), attrs)
            made = _unpacked(made) if op in dialect.sequences else made
        case Detach(source):
            text = dialect.detach.format(source=name[source])
        case ReadGrad(leaf):
            text = dialect.held.format(leaf=name[leaf])
        case Grad(_, inputs) if dialect.vjp:
            text = vjp(step, function_name(at), name, dialect)
            made = _unpacked(made)
        case Grad(roots, inputs):
            arguments = _further([*_weights(step, dialect), *_flags(step, name, dialect)])
            text = dialect.grad.format(
                roots=_bracketed(roots, name), inputs=_bracketed(inputs, name), arguments=arguments
            )
            made = _unpacked(made)
        case Hook():
            text = _hook(step, name, dialect)
        case InPlace(op, target, args, attrs):
            text = fill(dialect.writes[op], (name[r] for r in (target, *args)), attrs)
        case DetachInPlace(target):
            text = dialect.detach_in_place.format(target=name[target])
        case SetRequiresGrad(target, on):
            text = dialect.requires_grad.format(target=name[target], on=on)
        case Backward():
            text = _backward(step, name, dialect)
        case RetainGrad(target):
            text = dialect.retain_grad.format(target=name[target])
        case RemoveHook(handle):
            text = dialect.remove_hook.format(handle=name[handle])
        case ZeroGrad():
            text = _clear(at, step, program, name, dialect)
        case AssignGrad(leaf, given):
            text = dialect.assign.format(leaf=name[leaf], value="None" if given is None else name[given])
        case Step() | Optimizer():
            text = _optimizer(at, step, program, name, dialect)
        case Clip(leaves, kind, bound):
            text = dialect.clips[kind].format(leaves=_listed(leaves, name), bound=_number(bound))
        case Delete(values):
            text = dialect.drop.format(values=_listed(values, name))
        case DefaultDtype(dtype):
            text = dialect.default_dtype.format(dtype=dtype)
        case _:
            assert_never(step)
    return f"{', '.join(made)} = {text}" if made else text


def function_name(at: int) -> str:
    """The name of the function that instruction `at` (from 0) differentiates: ``function4`` for instruction 3."""
    return f"function{at + 1}"


def vjp(call: Grad, function: str, name: Mapping[Ref, str], dialect: Dialect) -> str:
    """Writes the call that computes the gradients of a function whose definition `printing.functional` prints."""
    weights = zip(call.roots, call.cotangents, strict=True)
    given = ", ".join(dialect.ones.format(root=name[r]) if c is None else tensor(c, dialect) for r, c in weights)
    return dialect.vjp.format(
        function=function,
        inputs=_listed(call.inputs, name),
        places=", ".join(map(str, range(len(call.inputs)))),
        cotangents=given,
        cotangent=given if len(call.roots) == 1 else f"({given})",
    )


def _unpacked(made: list[str]) -> list[str]:
    """Returns the names on the left-hand side of an assignment of a sequence; a single name is written ``(a,)``."""
    return [f"({made[0]},)"] if len(made) == 1 else made


def _hook(step: Hook, name: Mapping[Ref, str], dialect: Dialect) -> str:
    target = name[step.target]
    if step.accumulated:
        return dialect.accumulated_hook.format(target=target)
    function = dialect.effects[step.effect].format(factor=_number(step.factor), target=target)
    return dialect.hook.format(target=target, function=function)


def _clear(at: int, step: ZeroGrad, program: Program, name: Mapping[Ref, str], dialect: Dialect) -> str:
    maker = clearing_optimizer(step, program.instructions[:at])
    if maker is not None and dialect.clear:
        its = _its_name(program.instructions.index(maker), maker)
        return dialect.clear.format(name=its, set_to_none=step.set_to_none)
    alone = not program.mode(at) and len(step.leaves) == 1
    to_zeros = dialect.clear_to_zeros if alone else dialect.clear_to_zeros_briefly or dialect.clear_to_zeros
    template = dialect.clear_to_none if step.set_to_none else to_zeros
    return "; ".join(template.format(leaf=name[leaf]) for leaf in step.leaves)


def _optimizer(at: int, step: Step | Optimizer, program: Program, name: Mapping[Ref, str], dialect: Dialect) -> str:
    """Writes an optimizer step, or the construction of an optimizer. An optimizer's name contains the number of the
    first line that uses it: ``sgd4``.
    """
    fields = {
        "optimizer": dialect.optimizers.get(step.optimizer, step.optimizer),
        "leaves": _leaves_of(step, name, dialect),
        "settings": _settings(step.settings) + _always_given(step, dialect),
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
    return _further([f"{k}={literal(v)!r}" for k, v in settings])


def _always_given(step: Step | Optimizer, dialect: Dialect) -> str:
    named = {key.partition(".")[2]: code for key, code in dialect.always_given.items() if _is_of(key, step)}
    return _further([f"{name}={code}" for name, code in named.items() if name not in dict(step.settings)])


def _is_of(key: str, step: Step | Optimizer) -> bool:
    return key.partition(".")[0] == step.optimizer


def _pairs(settings: Attrs) -> str:
    return _further([f"{k!r}: {literal(v)!r}" for k, v in settings])


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
    return ["None" if c is None else cotangent(c, dialect) for c in call.cotangents]


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


def cotangent(value: Literal, dialect: Dialect) -> str:
    """Writes a cotangent as code."""
    if not dialect.cotangent:
        return tensor(value, dialect)
    numpy = "np" if "import numpy as np" in dialect.prelude else "numpy"
    data = f"{numpy}.zeros({value.shape})" if 0 in value.shape else _nested(value)
    return dialect.cotangent.format(data=data, dtype=value.dtype)


def tensor(value: Literal, dialect: Dialect, requires_grad: bool = False) -> str:
    """Writes a tensor with known data as code."""
    flags = dialect.differentiable if requires_grad else dialect.constant
    if 0 in value.shape:
        return dialect.empty.format(shape=value.shape, dtype=value.dtype, flags=flags)
    template = dialect.tensor if value.shape else dialect.number or dialect.tensor
    return template.format(data=_nested(value), dtype=value.dtype, flags=flags)


def _nested(value: Literal) -> str:
    """Writes the numbers of a tensor that is not empty as nested lists."""
    flat = iter(value.data)

    def nest(shape: Shape) -> str:
        return "[" + ", ".join(nest(shape[1:]) for _ in range(shape[0])) + "]" if shape else _number(next(flat))

    return nest(value.shape)
