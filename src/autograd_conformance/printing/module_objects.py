"""Module objects: modules that are constructed once with their parameters, and called by name.

A module's call is one instruction, which is printed as a functional call with all parameters as arguments. If the
parameters are leaves that no other module uses, a person would instead construct the module, assign its parameters and
call it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.printing.literals import as_literals
from autograd_conformance.printing.loop_nodes import Line, ModuleObject, Rerolled, Value, all_nodes
from autograd_conformance.programs.language import Apply, Delete, Leaf


def module_objects(rerolled: Rerolled, dialect: Dialect) -> tuple[ModuleObject, ...]:
    """Returns the modules of a program that can be printed as objects: their parameters are leaves that are made
    outside loops, require grad, are never deleted and are used by no other module.
    """
    lines = [node for node in all_nodes(rerolled.nodes) if isinstance(node, Line)]
    literals = {line.made[0]: line.step.value for line in lines if isinstance(line.step, Leaf)}
    free = set(_leaves_before_loops(rerolled)) - {
        r for line in lines if isinstance(line.step, Delete) for r in line.reads
    }
    users: dict[Value, set[tuple[object, ...]]] = {}
    found: dict[tuple[object, ...], ModuleObject] = {}
    for line in lines:
        step = line.step
        if not isinstance(step, Apply) or step.op not in dialect.modules:
            continue
        module, settings = dialect.modules[step.op], as_literals(step.attrs)
        inputs, names = module.operands(settings)
        parameters = tuple(zip(line.reads[len(inputs) :], names, strict=True))
        key = (step.op, repr(step.attrs), *parameters)  # as text, because 1 == True
        for ref, _ in parameters:
            users.setdefault(ref, set()).add(key)
        distinct = {ref for ref, _ in parameters}
        if key in found or not 0 < len(distinct) == len(names) or not distinct <= free:
            continue
        operands = (*inputs, *names)
        known = {name: literals[ref] for name, ref in zip(operands, line.reads, strict=True) if ref in literals}
        call = module.call({name: name for name in operands}, settings)
        made = call.made.code_for(known, known.get("x", known[names[0]]).dtype)
        if made is not None:
            found[key] = ModuleObject(step.op, step.attrs, made, parameters)
    return tuple(each for each in found.values() if all(len(users[ref]) == 1 for ref, _ in each.parameters))


def _leaves_before_loops(rerolled: Rerolled) -> Iterator[Value]:
    for node in rerolled.nodes:
        if isinstance(node, Line) and isinstance(node.step, Leaf) and node.step.requires_grad:
            yield node.made[0]


def called(line: Line, of: ModuleObject, name: Mapping[Value | ModuleObject, str], dialect: Dialect) -> str:
    """Writes the statement that calls a module object by name and assigns the results: ``out, (h, c) = lstm(x)``."""
    module, settings = dialect.modules[of.op], as_literals(of.attrs)
    operands = chain(*module.operands(settings))
    call = module.call(dict(zip(operands, (name[ref] for ref in line.reads), strict=True)), settings)
    first, *further = (name[ref] for ref in line.made)
    made = f"{first}, ({', '.join(further)})" if call.nested else ", ".join((first, *further))
    return f"{made} = {call.by_name(name[of])}"
