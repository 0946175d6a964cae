"""Notes on a failing backward call: the reason for the outcome that the rules expect."""

from __future__ import annotations

from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import Backward, BackwardCall, Grad, Ref
from autograd_conformance.programs.observations import Kind
from autograd_conformance.rules.explanation.context import Context, op_name
from autograd_conformance.rules.prose import joined, lines, saved_tensors, shown, shown_distinct, shown_with_distance
from autograd_conformance.rules.violations.expected import SavedTensorBounds, ZeroResult
from autograd_conformance.rules.violations.observed import (
    CotangentWritten,
    GradientChanged,
    HookOrder,
    OtherGradient,
    RaisedError,
)
from autograd_conformance.rules.violations.shared import (
    Flag,
    GradientResult,
    HookCalledTimes,
    HookNotCalled,
    NoGradient,
    NoResult,
)
from autograd_conformance.tape.versions import kept_storages, version_mismatch


def saved_tensor_note(context: Context) -> str:
    """Returns a sentence on the number of saved tensors that must be alive after the failing line, with the reason."""
    violation, step = context.violation, context.program[context.violation.at]
    expected = violation.allowed[0].expected
    assert isinstance(expected, SavedTensorBounds)
    where = {node.at for node in context.expectation.traversal.nodes}
    why = "saved tensors that nothing leads to any more have to be freed"
    if isinstance(step, BackwardCall) and where:
        they = "it" if len(where) == 1 else "they"
        why = f"walks {lines(where)}, keeps the tensors that {they} saved, and saves no more"
        if not step.retains:
            why = (
                f"walks {lines(where)} and does not retain the graph, so the tensors that {they} saved have to be freed"
            )
    return f"{why}: {saved_tensors(expected.least, expected.most, required=True)}, but {violation.observed_text()}."


OBJECTS = {
    slugs.ACCUMULATION_OWN_OBJECT: "must give every leaf a separate gradient; an addition to one would otherwise "
    "change {subject}'s, too.",
    slugs.ACCUMULATION_IN_PLACE: "{subject} held a gradient already, and no graph is created: that gradient has to be "
    "added to in place, but {subject} holds another object.",
    slugs.ACCUMULATION_REPLACES: "creates a graph, so {subject} has to get a new gradient, but the one that it held "
    "was changed.",
    slugs.ACCUMULATION_LAYOUT: "gives {subject} its first gradient, with the strides of {subject} if that is dense, "
    "and with row-major ones otherwise: it has to have {expected}, but {observed}.",
    slugs.GRADIENTS_KINKS: "gives {subject} a gradient where the op has no derivative, so that any number is a "
    "convention, but each run has to keep it: {expected}; but {observed}.",
    slugs.GRADIENTS_ELEMENTS: "gives {subject} a gradient. The op treats each element alike, so {expected}; but "
    "{observed}.",
}
"""For each rule about gradient objects or places in them, a template of the reason for what the call must do."""


# -- calls ------------------------------------------------------------------------------------------------------------


def call_note(context: Context, call: BackwardCall) -> str:
    """Returns the note on a failing backward call: what the rules expect of the call, why, and what was observed."""
    violation = context.violation
    if isinstance(violation.observed, CotangentWritten):
        return "must not change the cotangent that the caller passed, but it wrote into it."
    if violation.subject is None:
        return _must_raise(context, call) if context.expectation.returns is None else _must_return(context)
    subject, expected = context.name(violation.subject), violation.allowed[0].expected.expected_text()
    if context.raised(violation.at) is not None:
        held, got = shown_distinct(violation.grad_before, violation.got)
        left = f"{subject} held {held} and is left with {got}"
        return f"raises, as it may. After an error, {expected}, but {left}."
    if violation.observed.is_about_hook():
        return _hook(context, subject)
    if violation.want is not None:
        changed = _version_mismatches(context)
        return changed + (_result(context, call) if isinstance(call, Grad) else _sum(context, subject, call))
    if violation.rule in OBJECTS:
        return OBJECTS[violation.rule].format(subject=subject, expected=expected, observed=violation.observed_text())
    if isinstance(call, Grad):
        return _functional(context, call, subject)
    if isinstance(violation.observed, NoGradient):
        way = _way(context, violation.subject)
        return f"reaches {subject} {way}, so it has to leave a gradient there, but there is none."
    if isinstance(violation.observed, GradientChanged):
        return _unreached(context, call, subject)
    return f"leaves {subject} a gradient: it has to have {expected}, but it is {violation.observed_text()}."


def _unreached(context: Context, call: BackwardCall, subject: str) -> str:
    """Returns the reason why a call must leave a gradient unchanged."""
    ref, violation = context.violation.subject, context.violation
    assert ref is not None
    held, got = shown_distinct(violation.grad_before, violation.got)
    if isinstance(call, Backward) and call.inputs is not None and ref not in call.inputs:
        why = f"adds only to {context.named(call.inputs)}"
    elif not context.reference.requires_grad.get(ref, True):
        why = f"{subject} requires no grad"
    elif _cut(context):
        why = f"{_cut(context)}, so it does not reach {subject}"
    else:
        why = f"does not reach {subject}"
    return f"{why}: {subject}'s gradient has to stay {held}, but it is {got}."


def _cut(context: Context) -> str | None:
    """Returns the reason why the path to a leaf ends, if the broken rule gives one, such as "no gradient flows through
    a detached value"; else None.
    """
    if context.violation.rule == slugs.MODES_CONSTANT:
        return "no gradient flows through values that were computed under no_grad"
    return "no gradient flows through a detached value" if context.violation.rule == slugs.DETACH_BLOCKS else None


def _way(context: Context, ref: Ref) -> str:
    path = context.path(ref)
    return f"through {lines(path)}" if path else "as its root"


def _version_mismatches(context: Context) -> str:
    """Returns the start of a note, which names the ops whose saved tensors were overwritten; empty if there are no such
    ops.
    """
    nodes = [node for node in context.nodes if node.at < context.violation.at and version_mismatch(context.tape, node)]
    kept = {storage for node in nodes for storage in kept_storages(node)}
    since = {w for storage in kept for w in context.writes.get(storage, ()) if any(w > node.at for node in nodes)}
    if not since:
        return ""
    which = joined(dict.fromkeys(f"{op_name(n)} on line {n.at + 1}" for n in sorted(nodes, key=lambda n: n.at)))
    was, they = ("was", "it") if len(nodes) == 1 else ("were", "they")
    return (
        f"{which} {was} recorded before {lines(since)} wrote to tensors that {they} may have saved: this call must "
        "raise, or use the values as they were recorded. It "
    )


def _sum(context: Context, subject: str, call: Backward) -> str:
    violation = context.violation
    assert violation.subject is not None
    expected = context.reference.pullbacks.of(call).get(context.reference.tape.edge(violation.subject))
    path = context.path(violation.subject)
    way = f" through {lines(path)}" if path else ""
    if violation.grad_before is None:
        does, before = _with_hooks(context), "held no gradient"
    else:
        does = f" and contributes {shown(expected)}{_with_hooks(context)}"
        before = f"held {shown(violation.grad_before)}"
    want, got, by = shown_with_distance(violation.want, violation.got)
    return f"reaches {subject}{way}{does}; {subject} {before}, so it has to hold {want}, but it holds {got}{by}."


def _with_hooks(context: Context) -> str:
    """Returns a text in parentheses that names the hooks which change the call's contribution; empty if there are
    none.
    """
    hooks = [
        handle.at
        for handle, hook in context.tape.hooks_on(context.expectation.traversal.must_fire)
        if hook.effect != "observe"
    ]
    return f" (with the hook{'s' if len(hooks) > 1 else ''} of {lines(hooks)})" if hooks else ""


def _result(context: Context, call: Grad) -> str:
    violation = context.violation
    assert violation.subject is not None
    source = call.inputs[violation.subject.output]
    want, got, by = shown_with_distance(violation.want, violation.got)
    return (
        f"computes the gradient with respect to {context.name(source)}, which it reaches {_way(context, source)}"
        f"{_with_hooks(context)}: {context.name(violation.subject)} has to be {want}, but it is {got}{by}."
    )


def _functional(context: Context, call: Grad, subject: str) -> str:
    """Returns the note on a result of the functional form that is wrong in something other than its elements, such as
    the shape or the flag.
    """
    violation = context.violation
    assert violation.subject is not None
    observed, expected = violation.observed, violation.allowed[0].expected
    if isinstance(observed, GradientChanged):
        return f"returns gradients and adds to none: {subject}'s gradient has to stay as it was, but it changed."
    source = call.inputs[violation.subject.output]
    if isinstance(expected, ZeroResult):
        why = f"must return zeros for unused inputs, and {context.name(source)} is unused"
    elif isinstance(observed, NoResult):
        why = f"reaches {context.name(source)} {_way(context, source)}"
    elif isinstance(observed, GradientResult):
        why = f"does not reach {context.name(source)}"
    elif isinstance(observed, Flag):
        with_, is_ = ("with", "is") if call.create_graph else ("without", "is not")
        why = f"{with_} create_graph the call {is_} recorded"
    else:
        why = f"the gradient has the shape of {context.name(source)}"
    return f"{why}: {expected.required_text(subject)}, but {observed.subject_text()}."


def _hook(context: Context, subject: str) -> str:
    """Returns the reason why a hook must be called, or must not, and with which gradient."""
    violation = context.violation
    observed, expected = violation.observed, violation.allowed[0].expected
    if violation.want is not None:
        want, got, by = shown_with_distance(violation.want, violation.got)
        comparison = f"{want}, but it was called with {got}{by}."
        return f"the gradient of {subject} is complete when its hook is called: {comparison}"
    reached = context.expectation.traversal.must_reach
    computed = violation.subject is not None and context.reference.tape.edge(violation.subject) in reached
    why = f"computes {subject}'s gradient" if computed else f"does not compute {subject}'s gradient"
    if isinstance(observed, HookOrder):
        return f"{why}: its hooks have to be called {expected.expected_text()}, but they were called in another order."
    if isinstance(observed, OtherGradient):
        return f"adds to {subject}'s gradient: the hook has to get the sum, but it got another gradient."
    why = f"the hook on {subject} was removed" if violation.rule == slugs.HOOKS_REMOVED else why
    must = "it must not be called" if isinstance(expected, HookNotCalled) else "its hook has to be called"
    once = " once" if isinstance(expected, HookCalledTimes) else ""
    return f"{why}: {must}{once}, but {observed.subject_text()}."


def _must_raise(context: Context, call: BackwardCall) -> str:
    freed = [
        n for n in context.expectation.traversal.nodes if n.freed is Certainty.ALWAYS and n.saves is Certainty.ALWAYS
    ]
    if freed and all(kind is Kind.GRAPH_FREED for kind in context.expectation.raises):
        by = lines(n.freed_by for n in freed if n.freed_by is not None)
        late = " retain_graph=True keeps a graph, but it cannot bring a freed one back." if call.retain_graph else ""
        where = {n.at for n in freed}
        they = "they" if len(where) > 1 else "it"
        return f"has to walk {lines(where)} again, but {by} freed the tensors that {they} saved: it must raise.{late}"
    whys = {
        Kind.NO_GRAD: f"{joined(_rootless(context, call))} requires no grad",
        Kind.HOOK_RAISED: "a hook on the way raises, and that ends the call",
        Kind.HOOK_SHAPE: "a hook on the way returns a gradient of another shape",
        Kind.UNUSED_INPUT: f"the outputs do not depend on {context.named(_unused(context, call))}",
        Kind.NO_INPUTS: "the list of inputs is empty",
        Kind.OPTIONS: "unused inputs cannot both be forbidden and get zeros",
        Kind.INPUT_NO_GRAD: f"{context.named(r for r in call.inputs or () if not context.reference.requires_grad[r])}"
        " requires no grad",
    }
    why = next((whys[kind] for kind in context.expectation.raises if kind in whys), None)
    return f"{why}: it must raise ({context.kinds})." if why else f"must be refused ({context.kinds})."


def _rootless(context: Context, call: BackwardCall) -> list[str]:
    return [context.name(r) for r in dict.fromkeys(call.roots) if not context.reference.requires_grad[r]]


def _unused(context: Context, call: BackwardCall) -> list[Ref]:
    traversal, edge = context.expectation.traversal, context.reference.tape.edge
    return [r for r in call.inputs or () if edge(r) not in traversal.must_reach and edge(r) not in traversal.may_fire]


def _must_return(context: Context) -> str:
    nodes = context.expectation.traversal.nodes
    if not nodes:
        return "is legal: it must return."
    freed = {n.freed_by for n in nodes if n.freed is not Certainty.NEVER and n.freed_by is not None}
    if freed and Kind.GRAPH_FREED in context.expectation.raises:
        return (
            f"walks {lines(n.at for n in nodes)} again after {lines(freed)}, which did not retain the graph. The "
            "framework decides what an op saves: the call may return or raise "
            f"({context.kinds}), but it raises another error."
        )
    observed = context.violation.observed
    if isinstance(observed, RaisedError) and observed.kind is Kind.UNKNOWN and not freed:
        return f"walks {lines(n.at for n in nodes)}: it must return."
    again = any(n.traversals for n in nodes)
    state = "every earlier call retained the graph" if again else "no earlier call did"
    text = f"walks {lines(n.at for n in nodes)}; {state}, so no tensor that it needs is freed"
    written = {w for writes in context.writes.values() for w in writes}
    if written and isinstance(observed, RaisedError) and observed.kind is Kind.MODIFIED:
        text += f", and no derivative needs the values that {lines(written)} wrote to"
    return f"{text}: it must return."
