"""Writes the notes on lines before the failing line: the effect of a line on the failure, or None if it has none."""

from __future__ import annotations

from typing import assert_never

from autograd_conformance.ops.catalogue import WRITES, row_of
from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Backward,
    BackwardCall,
    Clip,
    DefaultDtype,
    Delete,
    Detach,
    DetachInPlace,
    Grad,
    Hook,
    InPlace,
    Leaf,
    Optimizer,
    ReadGrad,
    Ref,
    RemoveHook,
    RetainGrad,
    SetRequiresGrad,
    Step,
    ZeroGrad,
    is_recorded,
)
from autograd_conformance.programs.observations import Returned, Skipped
from autograd_conformance.programs.operands import operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.explanation.context import Context, op_name
from autograd_conformance.rules.prose import joined, lines, shown
from autograd_conformance.tape.expectation.backward_calls import RAISED_MIDWAY
from autograd_conformance.tape.graph import Node
from autograd_conformance.tape.versions import kept_storages


def note(context: Context, at: int) -> str | None:
    """Returns the note on instruction `at`, which comes before the failing one; None if the instruction has no effect
    on the failure. If the failure is about memory, the note gives the number of live saved tensors, too.
    """
    text = _note(context, at)
    saved, before = context.observation[at].saved, context.observation[at - 1].saved if at else 0
    if RULES[context.violation.rule].family != slugs.MEMORY or saved is None or saved == before:
        return text
    alive = "1 saved tensor is alive after it." if saved == 1 else f"{saved} saved tensors are alive after it."
    return f"{text} {alive}" if text else alive


def _note(context: Context, at: int) -> str | None:
    step = context.program[at]
    if not context.program.stateful and isinstance(context.program[context.violation.at], (Apply, Leaf)):
        return None
    if isinstance(context.observation[at].outcome, Skipped):
        return "is not run: it needs a value that was never made."
    raised = context.raised(at)
    if raised is not None and not isinstance(step, BackwardCall):
        kept = ", and leaves every value as it was." if isinstance(step, InPlace) else "."
        return f"is refused ({raised.kind.value}){kept}"
    match step:
        case Leaf(_, requires_grad):
            matters = Ref(at) == context.violation.subject or _is_written(context, Ref(at))
            return f"{context.name(Ref(at))} requires no grad." if matters and not requires_grad else None
        case Apply():
            return _apply_note(context, at, step)
        case Detach(source):
            return _detach_note(context, at, source)
        case InPlace():
            return _write_note(context, at, step)
        case Backward() | Grad():
            return _call_note(context, at, step)
        case RetainGrad() | Hook() | RemoveHook() | DetachInPlace() | SetRequiresGrad():
            return _value_note(context, step)
        case ZeroGrad() | ReadGrad() | AssignGrad() | Step() | Clip():
            return _gradient_note(context, at, step)
        case Delete(values):
            matters = RULES[context.violation.rule].family == slugs.MEMORY
            return (
                f"deletes {context.named(values)}, and with that the graph that nothing else leads to."
                if matters
                else None
            )
        case DefaultDtype(dtype):
            return f"makes {dtype} the default dtype; every tensor of this program has an explicit dtype."
        case Optimizer():
            return None
        case _:
            assert_never(step)


def _value_note(context: Context, step: RetainGrad | Hook | RemoveHook | DetachInPlace | SetRequiresGrad) -> str:
    """Returns a sentence on the effect of an instruction on later calls through a value."""
    name = context.name
    match step:
        case DetachInPlace(target):
            return f"cuts {name(target)} off from its history: from here on it is a constant."
        case SetRequiresGrad(target, on):
            return f"{name(target)} requires {'' if on else 'no '}grad from here on."
        case RetainGrad(target):
            return f"{name(target)} holds its own gradient from here on, as its hooks leave it."
        case Hook():
            return _hook_note(context, step)
        case RemoveHook(handle):
            return f"removes the hook of line {handle.at + 1}: it is not called any more."
        case _:
            assert_never(step)


def _gradient_note(context: Context, at: int, step: ZeroGrad | ReadGrad | AssignGrad | Step | Clip) -> str | None:
    """Returns a sentence on the effect of an instruction on the gradients that leaves hold; None if the effect does not
    matter.
    """
    name = context.name
    match step:
        case ZeroGrad(leaves, set_to_none):
            if context.violation.subject not in leaves and not context.program.stateful:
                return None
            gradients = joined(f"{name(leaf)}'s gradient" for leaf in leaves)
            return f"clears {gradients} to {'none' if set_to_none else 'zeros'}."
        case ReadGrad(leaf):
            return f"{name(Ref(at))} is the gradient that {name(leaf)} holds, not a copy of it."
        case AssignGrad(leaf, value):
            which = "a copy of {}" if context.reference.traits.copies else "{} itself"
            return f"{name(leaf)} holds {'no gradient' if value is None else which.format(name(value))} from here on."
        case Step(leaves):
            return _step_note(context, at, leaves)
        case Clip(leaves, kind, bound):
            how = f"their common norm to at most {bound:g}" if kind == "norm" else f"each element to within {bound:g}"
            return f"clips the gradients of {context.named(leaves)} in place, {how}."
        case _:
            assert_never(step)


# -- computing --------------------------------------------------------------------------------------------------------


def _is_written(context: Context, ref: Ref) -> bool:
    """Whether an in-place change alters a value, before the failing line or on it."""
    storages, failing = context.reference.storages, context.program[context.violation.at]
    storage = storages.storage(ref)
    return storage in context.writes or (isinstance(failing, InPlace) and storages.storage(failing.target) == storage)


def _apply_note(context: Context, at: int, step: Apply) -> str | None:
    outs = [Ref(at, k) for k in range(step.results)]
    made = context.named(outs)
    are, modes = ("is" if len(outs) == 1 else "are"), context.program.mode(at)
    requires = any(context.reference.requires_grad.get(r) for r in step.args)
    found = []
    if modes and requires and not is_recorded(modes):
        found.append(f"is not recorded, because it runs under no_grad: {made} {are} a constant from here on.")
    elif modes and requires:
        found.append("is recorded, because enable_grad is the innermost mode.")
    storages = context.reference.storages
    sources = {storages.derived[out].source for out in outs if out in storages.derived}
    if sources and (_is_written(context, outs[0]) or RULES[context.violation.rule].family == slugs.VIEWS):
        (source, *_) = sorted(sources)
        views = "a view of" if len(outs) == 1 else "views of"
        found.append(f"{made} {are} {views} {context.name(source)}: they share memory.")
    elif context.violation.rule == slugs.VIEWS_OWN_MEMORY and row_of(step.op).aliases is Certainty.NEVER:
        found.append(f"{made} has separate memory.")
    nodes = [node for node in context.nodes if node.at == at]
    if nodes and not found:
        found += [text for text in (_saving_note(context, nodes[0]),) if text]
    return " ".join(found) or None


def _saving_note(context: Context, node: Node) -> str | None:
    """Returns a note on the tensors that an op saved for its derivative; None if the failure does not depend on these
    tensors.
    """
    storages = context.reference.storages
    hit = {c for c in kept_storages(node) if any(w > node.at for w in context.writes.get(c, ()))}
    if hit and node.saves is not Certainty.NEVER:
        needed = context.needs(node)
        if any(storages.storage(r) in hit for r in needed):
            they_are = "it is" if len(set(needed)) == 1 else "they are"
            return f"{op_name(node)}'s derivative needs {context.named(needed)} as {they_are} here."
        made = context.named(r for r in node.entry.outs if r in context.names)
        return f"{op_name(node)} may save {made} as it is here: its derivative may be computed from it."
    if not context.lifetime:
        return None
    if node.saves is Certainty.ALWAYS:
        return f"{node.op} saves values that its derivative needs."
    return f"{node.op} needs nothing saved." if node.saves is Certainty.NEVER else None


def _detach_note(context: Context, at: int, source: Ref) -> str | None:
    made, shared = Ref(at), _is_written(context, source)
    if "detach" not in context.violation.rule and not shared:
        return None
    memory = " It shares the memory, too." if shared else ""
    return f"{context.name(made)} has the values of {context.name(source)} and no history.{memory}"


# -- writing ----------------------------------------------------------------------------------------------------------


def _write_note(context: Context, at: int, step: InPlace) -> str:
    target, others = context.name(step.target), _alive(context, step.target, at)
    changed = f"changes {target}" + (f", and with it {context.named(others)}, in the same memory" if others else "")
    mine = [r for r in context.reference.tape.entries if r.at == at and r.op in WRITES]
    recorded = bool(mine) and any(mine[0].needs_input_grad)
    if recorded:
        from_now = f"; it is recorded: from here on {target} is its result"
    elif not is_recorded(context.program.mode(at)):
        from_now = f"; it is not recorded, because it runs under no_grad: the history of {target} stays as it was"
    else:
        from_now = ""
    return f"{changed}{from_now}.{_overwritten_note(context, step.target, at)}"


def _alive(context: Context, ref: Ref, at: int) -> list[Ref]:
    return [r for r in context.aliases(ref) if r.at < at]


def _overwritten_note(context: Context, target: Ref, at: int) -> str:
    """Returns a sentence, after a space, on the ops that may have saved the tensor that an in-place change overwrote;
    empty if there are no such ops.
    """
    keepers = context.keepers(context.reference.storages.storage(target), at)
    # a call may have recorded several derivatives of one op
    named = dict.fromkeys(f"{op_name(node)} on line {node.at + 1}" for node in keepers)
    return f" The value that {joined(named)} may have saved is overwritten here." if named else ""


def _step_note(context: Context, at: int, leaves: tuple[Ref, ...]) -> str:
    without = [leaf for leaf in leaves if context.observation[at].gradients.get(leaf) is None]
    moved = [leaf for leaf in leaves if leaf not in without]
    text = f"moves {context.named(moved)} in place, which is not recorded." if moved else "moves nothing."
    if without:
        have, are = ("has", "is") if len(without) == 1 else ("have", "are")
        text += f" {context.named(without)} {have} no gradient, and {are} skipped."
    return text + "".join(dict.fromkeys(_overwritten_note(context, leaf, at) for leaf in moved))


# -- calling ----------------------------------------------------------------------------------------------------------


def _hook_note(context: Context, step: Hook) -> str:
    target = context.name(step.target)
    if step.accumulated:
        return f"the hook is called when {target} holds its new gradient."
    does = {
        "observe": "and changes nothing",
        "scale": f"and multiplies it by {step.factor:g}",
        "replace": f"and replaces each element by {step.factor:g}",
        "raise": "and raises an exception",
        "misshape": "and returns a gradient of another shape",
    }
    return f"the hook is called with {target}'s gradient, {does[step.effect]}."


def _call_note(context: Context, at: int, call: Backward | Grad) -> str | None:
    """Returns a note on an earlier call: the tensors that the call freed or kept, and the gradients that it returned or
    added.
    """
    raised = context.raised(at)
    if raised is not None:
        if raised.kind not in RAISED_MIDWAY:
            return (
                "is refused, and leaves the graph and the gradients as they were."
                if context.lifetime
                else f"is refused ({raised.kind.value})."
            )
        return f"raises ({raised.kind.value}) during its traversal: the part of the graph that it walked may be freed."
    parts = [*_freeing_notes(context, at, call), *_result_notes(context, at, call)]
    if _gradients_matter(context):
        left = [f"{context.name(ref)}'s gradient at {shown(value)}" for ref, value in _changed_gradients(context, at)]
        parts += [f"{'It leaves' if parts else 'leaves'} {joined(left)}."] if left else []
    return " ".join(parts) or None


def _changed_gradients(context: Context, at: int) -> list[tuple[Ref, np.ndarray]]:
    """Returns those leaves that the failure is about and whose gradient a call changed, each with the new gradient."""
    failing, subject = context.program[context.violation.at], context.violation.subject
    about = failing.leaves if isinstance(failing, Clip) else () if subject is None else (subject,)
    held = context.observation[at - 1].gradients if at else {}
    found = []
    for ref in about:
        old, new = held.get(ref), context.observation[at].gradients.get(ref)
        if new is not None and (old is None or not np.array_equal(old.value, new.value, equal_nan=True)):
            found.append((ref, new.value))
    return found


def _gradients_matter(context: Context) -> bool:
    """Whether the failure involves a gradient that a leaf held before."""
    failing, violation = context.program[context.violation.at], context.violation
    return violation.grad_before is not None or isinstance(failing, (ReadGrad, AssignGrad, Step, ZeroGrad))


def _freeing_notes(context: Context, at: int, call: BackwardCall) -> list[str]:
    """Returns a note on whether a call freed or kept tensors that the failing call needs; empty if that does not
    matter.
    """
    shared = [n for n in context.tape.traverse(call).nodes if n.at in context.lines_traversed]
    if not shared or not context.lifetime:
        return []
    where = {n.at for n in shared}
    they = "it" if len(where) == 1 else "they"
    if any(n.freed_by == at for n in shared):
        why = "retain_graph is False" if call.create_graph else "it does not retain the graph"
        return [f"walks {lines(where)}; {why}, so the tensors that {they} saved are freed."]
    flag = "create_graph=True" if call.retain_graph is None else "retain_graph=True"
    return [f"walks {lines(where)}; {flag} keeps the tensors that {they} saved."]


def _result_notes(context: Context, at: int, call: BackwardCall) -> list[str]:
    """Returns notes on a call's results, on its inputs, and on whether the call was recorded with create_graph."""
    found = []
    if isinstance(call, Backward) and call.inputs is not None:
        found.append(f"adds to the gradient of {context.named(call.inputs)} alone.")
    if isinstance(call, Grad):
        outcome = context.observation[at].outcome
        values = outcome.values if isinstance(outcome, Returned) else ()
        for k, (ref, value) in enumerate(zip(call.inputs, values, strict=False)):
            of = f"{context.name(Ref(at, k))} is the gradient with respect to {context.name(ref)}"
            found.append(f"{of}: none, because it is not used." if value is None else f"{of}.")
    if call.create_graph:
        it = "its result" if isinstance(call, Grad) else "the gradient that a leaf gets"
        found.append(f"create_graph=True records the call itself, so {it} is differentiable.")
    elif isinstance(call, Grad) and found and not context.lifetime and _is_used(context, at):
        found.append("Without create_graph it has no history.")
    return found


def _is_used(context: Context, at: int) -> bool:
    return any(ref.at == at for step in context.program.instructions[at + 1 :] for ref in operands(step))
