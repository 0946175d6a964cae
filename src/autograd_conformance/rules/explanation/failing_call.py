"""Why the failing line has to do what it did not."""

from __future__ import annotations

from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs.language import Backward, BackwardCall, Grad, Ref
from autograd_conformance.programs.observations import Kind
from autograd_conformance.rules.explanation.context import Context, op_name
from autograd_conformance.rules.explanation.expected_words import expected_text, must_text, saved_tensors_text
from autograd_conformance.rules.explanation.observed_words import it_text
from autograd_conformance.rules.explanation.words import observed_text
from autograd_conformance.rules.prose import joined, lines, shown, shown_distinct, shown_with_distance
from autograd_conformance.rules.violations.expected import SavedTensorBounds, ZeroResult
from autograd_conformance.rules.violations.observed import (
    CotangentWritten,
    Flag,
    GradientChanged,
    GradientResult,
    HookCalledTimes,
    HookNotCalled,
    HookOrder,
    NoGradient,
    NoResult,
    OtherGradient,
    RaisedError,
    is_about_hook,
)
from autograd_conformance.tape.versions import kept_storages, version_mismatch


def saved_tensor_note(context: Context) -> str:
    """How many saved tensors there have to be after the failing line, and why."""
    violation, step = context.violation, context.program[context.violation.at]
    expected = violation.allowed[0].expected
    assert isinstance(expected, SavedTensorBounds)
    where = {node.at for node in context.expectation.traversal.nodes}
    why = "what can no longer be reached must not stay"
    if isinstance(step, BackwardCall) and where:
        they = "it" if len(where) == 1 else "they"
        why = f"walks {lines(where)} and keeps what {they} saved, and nothing more"
        if not step.retains:
            why = f"walks {lines(where)} and does not retain the graph, so what {they} saved has to go"
    return f"{why}: {saved_tensors_text(expected.least, expected.most, must=True)}, but {observed_text(violation)}."


OBJECTS = {
    "accumulation/own-object": "must give every leaf a gradient of its own; what is later added to one is added to "
    "{subject}'s too.",
    "accumulation/in-place": "{subject} held a gradient already, and no graph is created: that gradient has to be "
    "added to in place, but {subject} holds another object.",
    "accumulation/replaces": "creates a graph, so {subject} has to get a new gradient, but the one that it held was "
    "changed.",
    "accumulation/layout": "gives {subject} its first gradient, laid out as {subject} is where that is dense, and in "
    "row-major order otherwise: it has to have {expected}, but {observed}.",
}
"""Why gradients have to be the objects that they have to be, by rule."""


# -- calls ------------------------------------------------------------------------------------------------------------


def call_note(context: Context, call: BackwardCall) -> str:
    """The note on a failing call."""
    violation = context.violation
    if isinstance(violation.observed, CotangentWritten):
        return "is given a cotangent, which is the caller's: it has to stay as it was, but the call wrote into it."
    if violation.subject is None:
        return _must_raise(context, call) if context.expectation.returns is None else _must_return(context)
    subject, expected = context.name(violation.subject), expected_text(violation.allowed[0].expected)
    if context.raised(violation.at) is not None:
        held, got = shown_distinct(violation.grad_before, violation.got)
        left = f"{subject} held {held} and is left with {got}"
        return f"raises, as it may, but then {expected}: {left}."
    if is_about_hook(violation.observed):
        return _hook(context, subject)
    if violation.want is not None:
        changed = _version_mismatches(context)
        return changed + (_result(context, call) if isinstance(call, Grad) else _sum(context, subject, call))
    if violation.rule in OBJECTS:
        return OBJECTS[violation.rule].format(subject=subject, expected=expected, observed=observed_text(violation))
    if isinstance(call, Grad):
        return _functional(context, call, subject)
    if isinstance(violation.observed, NoGradient):
        way = _way(context, violation.subject)
        return f"reaches {subject} {way}, so it has to leave a gradient there, but there is none."
    if isinstance(violation.observed, GradientChanged):
        return _unreached(context, call, subject)
    return f"leaves {subject} a gradient: it has to have {expected}, but it is {observed_text(violation)}."


def _unreached(context: Context, call: BackwardCall, subject: str) -> str:
    """Why a call must leave a gradient alone."""
    ref, violation = context.violation.subject, context.violation
    assert ref is not None
    held, got = shown_distinct(violation.grad_before, violation.got)
    if isinstance(call, Backward) and call.inputs is not None and ref not in call.inputs:
        why = f"adds to {context.named(call.inputs)} alone"
    elif not context.reference.requires_grad.get(ref, True):
        why = f"{subject} requires no grad"
    elif _cut(context):
        why = f"{_cut(context)}, so it does not reach {subject}"
    else:
        why = f"does not reach {subject}"
    return f"{why}: {subject}'s gradient has to stay {held}, but it is {got}."


def _cut(context: Context) -> str | None:
    """Where the way to a leaf ends, told from the rule that was broken."""
    if context.violation.rule == "modes/constant":
        return "nothing flows through what was computed under no_grad"
    return "nothing flows through what was detached" if context.violation.rule == "detach/blocks" else None


def _way(context: Context, ref: Ref) -> str:
    path = context.path(ref)
    return f"through {lines(path)}" if path else "as its root"


def _version_mismatches(context: Context) -> str:
    """The values that the call needs and that were written to since they were recorded."""
    nodes = [node for node in context.nodes if node.at < context.violation.at and version_mismatch(context.tape, node)]
    kept = {storage for node in nodes for storage in kept_storages(node)}
    since = {w for storage in kept for w in context.writes.get(storage, ()) if any(w > node.at for node in nodes)}
    if not since:
        return ""
    which = joined(dict.fromkeys(f"{op_name(n)} on line {n.at + 1}" for n in sorted(nodes, key=lambda n: n.at)))
    was, they = ("was", "it") if len(nodes) == 1 else ("were", "they")
    return (
        f"{which} {was} recorded before {lines(since)} wrote to what {they} may have kept: this call must raise, or "
        "take the values as they were recorded. It "
    )


def _sum(context: Context, subject: str, call: Backward) -> str:
    violation = context.violation
    assert violation.subject is not None
    expected = context.reference.pullback(call).get(context.reference.edge(violation.subject))
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
    """The hooks that have a part in what a call contributes."""
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
        f"asks for the gradient with respect to {context.name(source)}, which it reaches {_way(context, source)}"
        f"{_with_hooks(context)}: {context.name(violation.subject)} has to be {want}, but it is {got}{by}."
    )


def _functional(context: Context, call: Grad, subject: str) -> str:
    """What a result of the functional form has to be, besides its elements."""
    violation = context.violation
    assert violation.subject is not None
    observed, expected = violation.observed, violation.allowed[0].expected
    if isinstance(observed, GradientChanged):
        return f"returns gradients and adds to none: what {subject} holds has to stay as it was, but it changed."
    source = call.inputs[violation.subject.output]
    if isinstance(expected, ZeroResult):
        why = f"is asked for zeros where an input is not used, and {context.name(source)} is not"
    elif isinstance(observed, NoResult):
        why = f"reaches {context.name(source)} {_way(context, source)}"
    elif isinstance(observed, GradientResult):
        why = f"does not reach {context.name(source)}"
    elif isinstance(observed, Flag):
        with_, is_ = ("with", "is") if call.create_graph else ("without", "is not")
        why = f"{with_} create_graph the call {is_} recorded"
    else:
        why = f"the gradient has the shape of {context.name(source)}"
    return f"{why}: {must_text(expected, subject)}, but {it_text(observed)}."


def _hook(context: Context, subject: str) -> str:
    """Why a hook has to be called, or not, and with what."""
    violation = context.violation
    observed, expected = violation.observed, violation.allowed[0].expected
    if violation.want is not None:
        want, got, by = shown_with_distance(violation.want, violation.got)
        comparison = f"{want}, but it was called with {got}{by}."
        return f"the gradient of {subject} is complete when its hook is called: {comparison}"
    reached = context.expectation.traversal.must_reach
    computed = violation.subject is not None and context.reference.edge(violation.subject) in reached
    why = f"computes {subject}'s gradient" if computed else f"does not compute {subject}'s gradient"
    if isinstance(observed, HookOrder):
        return f"{why}: its hooks have to be called {expected_text(expected)}, but they were called in another one."
    if isinstance(observed, OtherGradient):
        return f"adds to what {subject} holds: the hook has to see all of it, but it saw another gradient."
    why = f"the hook on {subject} was removed" if violation.rule == "hooks/removed" else why
    must = "it must not be called" if isinstance(expected, HookNotCalled) else "its hook has to be called"
    once = " once" if isinstance(expected, HookCalledTimes) else ""
    return f"{why}: {must}{once}, but {it_text(observed)}."


def _must_raise(context: Context, call: BackwardCall) -> str:
    freed = [
        n for n in context.expectation.traversal.nodes if n.freed is Certainty.ALWAYS and n.saves is Certainty.ALWAYS
    ]
    if freed and all(kind is Kind.GRAPH_FREED for kind in context.expectation.raises):
        by = lines(n.freed_by for n in freed if n.freed_by is not None)
        late = " retain_graph=True asks to keep the graph, it cannot bring it back." if call.retain_graph else ""
        where = {n.at for n in freed}
        they = "they" if len(where) > 1 else "it"
        return f"has to walk {lines(where)} again, but {by} freed what {they} saved: it must raise.{late}"
    whys = {
        Kind.NO_GRAD: f"{joined(_rootless(context, call))} requires no grad",
        Kind.HOOK_RAISED: "a hook on the way raises, and that ends the call",
        Kind.HOOK_SHAPE: "a hook on the way returns a gradient of another shape",
        Kind.UNUSED_INPUT: f"the outputs do not depend on {context.named(_unused(context, call))}",
        Kind.NO_INPUTS: "there is nothing to add to",
        Kind.OPTIONS: "unused inputs cannot be forbidden and get zeros at once",
        Kind.INPUT_NO_GRAD: f"{context.named(r for r in call.inputs or () if not context.reference.requires_grad[r])}"
        " requires no grad",
    }
    why = next((whys[kind] for kind in context.expectation.raises if kind in whys), None)
    return f"{why}: it must raise ({context.kinds})." if why else f"must be refused ({context.kinds})."


def _rootless(context: Context, call: BackwardCall) -> list[str]:
    return [context.name(r) for r in dict.fromkeys(call.roots) if not context.reference.requires_grad[r]]


def _unused(context: Context, call: BackwardCall) -> list[Ref]:
    traversal, edge = context.expectation.traversal, context.reference.edge
    return [r for r in call.inputs or () if edge(r) not in traversal.must_reach and edge(r) not in traversal.may_fire]


def _must_return(context: Context) -> str:
    nodes = context.expectation.traversal.nodes
    if not nodes:
        return "is legal: it must return."
    again = any(n.traversals for n in nodes)
    state = "every call so far retained it" if again else "no call walked it before"
    text = f"walks {lines(n.at for n in nodes)}; {state}, so nothing that it needs is freed"
    written = {w for writes in context.writes.values() for w in writes}
    observed = context.violation.observed
    if written and isinstance(observed, RaisedError) and observed.kind is Kind.MODIFIED:
        text += f", and what {lines(written)} wrote to is nothing that a derivative needs"
    return f"{text}: it must return."
