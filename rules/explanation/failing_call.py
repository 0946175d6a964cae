"""Why the failing line has to do what it did not."""

from __future__ import annotations

from autograd_conformance.ops.row import Certainty
from autograd_conformance.programs.language import Backward, BackwardCall, Grad, Ref
from autograd_conformance.programs.observations import Kind
from autograd_conformance.rules.explanation.context import Scene, op_name
from autograd_conformance.rules.explanation.failing_action import effect
from autograd_conformance.rules.prose import joined, lines, shown


def reason(scene: Scene) -> str:
    """The remark on the failing line itself."""
    violation, step = scene.violation, scene.program[scene.violation.at]
    if violation.rule.startswith("memory/"):
        return _alive(scene)
    if isinstance(step, BackwardCall):
        return _call(scene, step)
    return effect(scene)


def _alive(scene: Scene) -> str:
    """How many saved tensors there have to be, and why."""
    violation, step = scene.violation, scene.program[scene.violation.at]
    due = violation.allowed[0][0].replace("tensors are", "tensors have to be").replace("tensor is", "tensor has to be")
    where = {node.at for node in scene.expectation.traversal.nodes}
    why = "what can no longer be reached must not stay"
    if isinstance(step, BackwardCall) and where:
        they = "it" if len(where) == 1 else "they"
        why = f"walks {lines(where)} and keeps what {they} saved, and nothing more"
        if not step.retains:
            why = f"walks {lines(where)} and does not retain the graph, so what {they} saved has to go"
    return f"{why}: {due}, but {violation.observed}."


OBJECTS = {
    "accumulation/own-object": "must give every leaf a gradient of its own; what is later added to one is added to "
    "{subject}'s too.",
    "accumulation/in-place": "{subject} held a gradient already, and no graph is created: that gradient has to be "
    "added to in place, but {subject} holds another object.",
    "accumulation/replaces": "creates a graph, so {subject} has to get a new gradient, but the one that it held was "
    "changed.",
    "accumulation/layout": "gives {subject} its first gradient, laid out as {subject} is where that is dense, and in "
    "row-major order otherwise: it has to have {due}, but {observed}.",
}
"""Why gradients are the objects that they are."""


# -- calls ------------------------------------------------------------------------------------------------------------


def _call(scene: Scene, call: BackwardCall) -> str:
    violation = scene.violation
    subject = scene.name(violation.subject)
    if violation.subject is None:
        if scene.expectation.returns is None:
            return _must_raise(scene, call)
        return _must_return(scene)
    if scene.raised(violation.at) is not None:
        left = f"{subject} held {shown(violation.held)} and is left with {shown(violation.got)}"
        return f"raises, as it may, but then {violation.allowed[0][0]}: {left}."
    if violation.observed.startswith("the hook"):
        return _hook(scene, subject)
    if violation.want is not None:
        return _stale(scene) + (_result(scene, call) if isinstance(call, Grad) else _sum(scene, subject, call))
    if violation.rule in OBJECTS:
        due = violation.allowed[0][0]
        return OBJECTS[violation.rule].format(subject=subject, due=due, observed=violation.observed)
    if isinstance(call, Grad):
        return _shape(scene, call, subject)
    if "holds no gradient" in violation.observed:
        way = _way(scene, violation.subject)
        return f"reaches {subject} {way}, so it has to leave a gradient there, but there is none."
    if (
        violation.got is not None
        or violation.held is not None
        or ("the leaf" in violation.observed and not violation.want)
    ):
        return _unreached(scene, call, subject)
    return f"leaves {subject} a gradient: it has to have {violation.allowed[0][0]}, but it is {violation.observed}."


def _unreached(scene: Scene, call: Backward | Grad, subject: str) -> str:
    """Why a call must leave a gradient alone."""
    ref, violation = scene.violation.subject, scene.violation
    assert ref is not None
    held, got = shown(violation.held), shown(violation.got)
    if isinstance(call, Backward) and call.inputs is not None and ref not in call.inputs:
        why = f"adds to {scene.named(call.inputs)} alone"
    elif not scene.reference.requires_grad.get(ref, True):
        why = f"{subject} requires no grad"
    elif _cut(scene):
        why = f"{_cut(scene)}, so it does not reach {subject}"
    else:
        why = f"does not reach {subject}"
    return f"{why}: {subject}'s gradient has to stay {held}, but it is {got}."


def _cut(scene: Scene) -> str | None:
    """Where the way to a leaf ends, told from the rule that was broken."""
    if scene.violation.rule == "modes/constant":
        return "nothing flows through what was computed under no_grad"
    return "nothing flows through what was detached" if scene.violation.rule == "detach/blocks" else None


def _way(scene: Scene, ref: Ref) -> str:
    path = scene.path(ref)
    return f"through {lines(path)}" if path else "itself"


def _stale(scene: Scene) -> str:
    """Which of the values that the call needs were written to since."""
    nodes = [node for node in scene.walked if node.at < scene.violation.at and scene.tape.version_mismatch(node)]
    kept = {storage for node in nodes for storage in scene.tape.kept(node)}
    since = {w for storage in kept for w in scene.written.get(storage, ()) if any(w > node.at for node in nodes)}
    if not since:
        return ""
    which = joined(dict.fromkeys(f"{op_name(n)} on line {n.at + 1}" for n in sorted(nodes, key=lambda n: n.at)))
    was, they = ("was", "it") if len(nodes) == 1 else ("were", "they")
    return (
        f"{which} {was} recorded before {lines(since)} wrote to what {they} may have kept: this call must raise, or "
        "take the values as they were recorded. It "
    )


def _sum(scene: Scene, subject: str, call: Backward) -> str:
    violation = scene.violation
    assert violation.subject is not None
    due = scene.reference.pullback(call).get(scene.reference.edge(violation.subject))
    path = scene.path(violation.subject)
    way = f"through {lines(path)} " if path else ""
    before = "held no gradient" if violation.held is None else f"held {shown(violation.held)}"
    return (
        f"reaches {subject} {way}and contributes {shown(due)}{_with_hooks(scene)}; {subject} {before}, "
        f"so it has to hold {shown(violation.want)}, but it holds {shown(violation.got)}."
    )


def _with_hooks(scene: Scene) -> str:
    """Which hooks have a part in what a call contributes."""
    hooks = [
        handle.at
        for handle, hook in scene.tape.hooks_on(scene.expectation.traversal.must_fire)
        if hook.effect != "observe"
    ]
    return f" (with the hook{'s' if len(hooks) > 1 else ''} of {lines(hooks)})" if hooks else ""


def _result(scene: Scene, call: Grad) -> str:
    violation = scene.violation
    assert violation.subject is not None
    source = call.inputs[violation.subject.output]
    return (
        f"asks for the gradient with respect to {scene.name(source)}, which it reaches {_way(scene, source)}"
        f"{_with_hooks(scene)}: {scene.name(violation.subject)} has to be {shown(violation.want)}, "
        f"but it is {shown(violation.got)}."
    )


def _shape(scene: Scene, call: Grad, subject: str) -> str:
    """What a result of the functional form has to be, besides its value."""
    violation = scene.violation
    assert violation.subject is not None
    if violation.subject.at != violation.at:
        return f"returns gradients and adds to none: what {subject} holds has to stay as it was, but it changed."
    source = scene.name(call.inputs[violation.subject.output])
    if "none" in violation.observed:
        why = f"is asked for zeros where an input is not used, and {source} is not"
        why = (
            why
            if violation.rule == "functional/materialized"
            else f"reaches {source} {_way(scene, call.inputs[violation.subject.output])}"
        )
    elif violation.rule == "functional/unused-none":
        why = f"does not reach {source}"
    elif "requires" in violation.observed:
        with_, is_ = ("with", "is") if call.create_graph else ("without", "is not")
        why = f"{with_} create_graph the call {is_} recorded"
    else:
        why = f"the gradient has the shape of {source}"
    due = violation.allowed[0][0].replace("the result is", f"{subject} has to be")
    due = due.replace("the result requires no grad", f"{subject} must not require grad")
    due = due.replace("the result requires grad", f"{subject} has to require grad")
    return f"{why}: {due}, but {violation.observed.replace('the result', 'it')}."


def _hook(scene: Scene, subject: str) -> str:
    violation = scene.violation
    due = violation.allowed[0][0]
    if violation.want is not None:
        seen = f"{shown(violation.want)}, but it was called with {shown(violation.got)}."
        return f"the gradient of {subject} is complete when its hook is called: {seen}"
    reached = scene.expectation.traversal.must_reach
    surely = violation.subject is not None and scene.reference.edge(violation.subject) in reached
    why = f"computes {subject}'s gradient" if surely else f"does not compute {subject}'s gradient"
    if violation.rule == "hooks/order":
        return f"{why}: its hooks have to be called {due}, but they were called in another one."
    if violation.rule == "hooks/accumulated" and "saw" in violation.observed:
        return f"adds to what {subject} holds: the hook has to see all of it, but it saw another gradient."
    why = f"the hook on {subject} was removed" if violation.rule == "hooks/removed" else why
    must = due.replace("the hook is not", "it must not be").replace("the hook is", "its hook has to be")
    return f"{why}: {must}, but {violation.observed.replace('the hook', 'it')}."


def _must_raise(scene: Scene, call: BackwardCall) -> str:
    gone = [n for n in scene.expectation.traversal.nodes if n.freed is Certainty.ALWAYS and n.saves is Certainty.ALWAYS]
    if gone and all("freed" in kind.value for kind in scene.expectation.raises):
        by = lines(n.freed_by for n in gone if n.freed_by is not None)
        late = " retain_graph=True asks to keep the graph, it cannot bring it back." if call.retain_graph else ""
        where = {n.at for n in gone}
        they = "they" if len(where) > 1 else "it"
        return f"has to walk {lines(where)} again, but {by} freed what {they} saved: it must raise.{late}"
    whys = {
        Kind.NO_GRAD: f"{joined(_rootless(scene, call))} requires no grad",
        Kind.HOOK_RAISED: "a hook on the way raises, and that ends the call",
        Kind.HOOK_SHAPE: "a hook on the way returns a gradient of another shape",
        Kind.UNUSED_INPUT: f"the outputs do not depend on {scene.named(_unused(scene, call))}",
        Kind.NO_INPUTS: "there is nothing to add to",
        Kind.OPTIONS: "unused inputs cannot be forbidden and get zeros at once",
        Kind.INPUT_NO_GRAD: f"{scene.named(r for r in call.inputs or () if not scene.reference.requires_grad[r])}"
        " requires no grad",
    }
    why = next((whys[kind] for kind in scene.expectation.raises if kind in whys), None)
    return f"{why}: it must raise ({scene.kinds})." if why else f"must be refused ({scene.kinds})."


def _rootless(scene: Scene, call: BackwardCall) -> list[str]:
    return [scene.name(r) for r in dict.fromkeys(call.roots) if not scene.reference.requires_grad[r]]


def _unused(scene: Scene, call: BackwardCall) -> list[Ref]:
    traversal, edge = scene.expectation.traversal, scene.reference.edge
    return [r for r in call.inputs or () if edge(r) not in traversal.must_reach and edge(r) not in traversal.may_fire]


def _must_return(scene: Scene) -> str:
    nodes = scene.expectation.traversal.nodes
    if not nodes:
        return "is legal: it must return."
    again = any(n.traversals for n in nodes)
    state = "every call so far retained it" if again else "no call walked it before"
    text = f"walks {lines(n.at for n in nodes)}; {state}, so nothing that it needs is freed"
    touched = {w for writes in scene.written.values() for w in writes}
    if touched and "modified" in scene.violation.observed:
        text += f", and what {lines(touched)} wrote to is nothing that a derivative needs"
    return f"{text}: it must return."
