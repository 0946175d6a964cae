"""What an earlier line has to do with a failure: one remark, or none."""

from __future__ import annotations

from autograd_conformance.ops.catalogue import WRITES, row_of
from autograd_conformance.ops.row import Certainty
from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Backward,
    BackwardCall,
    Clip,
    Delete,
    Detach,
    DetachInPlace,
    Grad,
    Hook,
    InPlace,
    Leaf,
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
from autograd_conformance.rules.explanation.context import Scene, op_name
from autograd_conformance.rules.prose import joined, lines, shown
from autograd_conformance.rules.tape.backward_calls import RAISED_MIDWAY
from autograd_conformance.rules.tape.graph import Node


def remark(scene: Scene, at: int) -> str | None:
    """What to say of instruction `at`, which comes before the failing one."""
    said = _said(scene, at)
    saved, before = scene.observation[at].saved, scene.observation[at - 1].saved if at else 0
    if not scene.violation.rule.startswith("memory/") or saved is None or saved == before:
        return said
    alive = "1 saved tensor is alive after it." if saved == 1 else f"{saved} saved tensors are alive after it."
    return f"{said} {alive}" if said else alive


def _said(scene: Scene, at: int) -> str | None:
    step, plain = scene.program[at], not scene.program.stateful
    if plain and isinstance(scene.program[scene.violation.at], (Apply, Leaf)):
        return None
    if isinstance(scene.observation[at].outcome, Skipped):
        return "is not run: it needs a value that was never made."
    if not isinstance(step, BackwardCall) and scene.raised(at) is not None:
        kind = scene.raised(at).kind.value  # type: ignore[union-attr]
        return f"is refused ({kind})" + (", and leaves every value as it was." if isinstance(step, InPlace) else ".")
    match step:
        case Leaf(_, requires_grad):
            told = Ref(at) == scene.violation.subject or _is_written(scene, Ref(at))
            return f"{scene.name(Ref(at))} requires no grad." if told and not requires_grad else None
        case Apply():
            return _applied(scene, at, step)
        case Detach(source):
            return _detached(scene, at, source)
        case InPlace():
            return _written(scene, at, step)
        case Backward() | Grad():
            return _called(scene, at, step)
        case _:
            return _done(scene, at)


def _done(scene: Scene, at: int) -> str | None:
    """A remark on what changes the state of values and gradients otherwise."""
    step, name = scene.program[at], scene.name
    match step:
        case DetachInPlace(target):
            return f"cuts {name(target)} off from its history: from here on it is a constant."
        case SetRequiresGrad(target, on):
            return f"{name(target)} requires {'' if on else 'no '}grad from here on."
        case RetainGrad(target):
            return f"{name(target)} holds its own gradient from here on, as its hooks leave it."
        case Hook():
            return _hooked(scene, step)
        case RemoveHook(handle):
            return f"takes the hook of line {handle.at + 1} away: it is not called any more."
        case ZeroGrad(leaves, set_to_none) if scene.violation.subject in leaves or scene.program.stateful:
            gradients = joined(f"{name(leaf)}'s gradient" for leaf in leaves)
            return f"clears {gradients} to {'none' if set_to_none else 'zeros'}."
        case ReadGrad(leaf):
            return f"{name(Ref(at))} is the gradient that {name(leaf)} holds, not a copy of it."
        case AssignGrad(leaf, value):
            return f"{name(leaf)} holds {'no gradient' if value is None else f'{name(value)} itself'} from here on."
        case Step(leaves):
            return _stepped(scene, at, leaves)
        case Clip(leaves, kind, bound):
            how = f"their common norm to at most {bound:g}" if kind == "norm" else f"each element to within {bound:g}"
            return f"clips the gradients of {scene.named(leaves)} in place, {how}."
        case Delete(values) if scene.violation.rule.startswith("memory/"):
            return f"lets go of {scene.named(values)}, and of the graph that nothing else leads to."
    return None


# -- computing --------------------------------------------------------------------------------------------------------


def _is_written(scene: Scene, ref: Ref) -> bool:
    """Whether a write changes a value, before the failing line or there."""
    storages, failing = scene.reference.storages, scene.program[scene.violation.at]
    owner = storages.storage(ref)
    return owner in scene.written or (isinstance(failing, InPlace) and storages.storage(failing.target) == owner)


def _applied(scene: Scene, at: int, step: Apply) -> str | None:
    outs = [Ref(at, k) for k in range(step.results)]
    made = scene.named(outs)
    are, modes = ("is" if len(outs) == 1 else "are"), scene.program.mode(at)
    requires = any(scene.reference.requires_grad.get(r) for r in step.args)
    said = []
    if modes and requires and not is_recorded(modes):
        said.append(f"is not recorded, for it stands under no_grad: {made} {are} a constant to what follows.")
    elif modes and requires:
        said.append("is recorded, for enable_grad is the innermost mode.")
    storages = scene.reference.storages
    sources = {storages.derived[out].source for out in outs if out in storages.derived}
    if sources and (_is_written(scene, outs[0]) or scene.violation.rule.startswith("views/")):
        (source, *_) = sorted(sources)
        views = "a view of" if len(outs) == 1 else "views of"
        said.append(f"{made} {are} {views} {scene.name(source)}: they share memory.")
    elif scene.violation.rule == "views/own-memory" and row_of(step.op).aliases is Certainty.NEVER:
        said.append(f"{made} has memory of its own.")
    nodes = [node for node in scene.walked if node.at == at]
    if nodes and not said:
        said += [text for text in (_saved(scene, nodes[0]),) if text]
    return " ".join(said) or None


def _saved(scene: Scene, node: Node) -> str | None:
    """What an op kept for its derivative, where that matters."""
    storages = scene.reference.storages
    hit = {c for c in scene.tape.kept(node) if any(w > node.at for w in scene.written.get(c, ()))}
    if hit and node.saves is not Certainty.NEVER:
        needed = scene.needs(node)
        if any(storages.storage(r) in hit for r in needed):
            return f"{op_name(node)}'s derivative needs {scene.named(needed)} as it is here."
        made = scene.named(r for r in node.entry.outs if r in scene.names)
        return f"{op_name(node)} may keep {made} as it is here: its derivative may be computed from it."
    if not scene.lifetime:
        return None
    if node.saves is Certainty.ALWAYS:
        return f"{node.op} saves values that its derivative needs."
    return f"{node.op} needs nothing saved." if node.saves is Certainty.NEVER else None


def _detached(scene: Scene, at: int, source: Ref) -> str | None:
    made, shared = Ref(at), _is_written(scene, source)
    if "detach" not in scene.violation.rule and not shared:
        return None
    memory = " It shares the memory, too." if shared else ""
    return f"{scene.name(made)} has the values of {scene.name(source)} and no history.{memory}"


# -- writing ----------------------------------------------------------------------------------------------------------


def _written(scene: Scene, at: int, step: InPlace) -> str:
    target, others = scene.name(step.target), _alive(scene, step.target, at)
    changed = f"changes {target}" + (f", and with it {scene.named(others)}, in the same memory" if others else "")
    mine = [r for r in scene.reference.entries if r.at == at and r.op in WRITES]
    recorded = bool(mine) and any(mine[0].needs_input_grad)
    if recorded:
        from_now = f"; it is recorded: from here on {target} is its result"
    elif not is_recorded(scene.program.mode(at)):
        from_now = f"; it is not recorded, for it stands under no_grad: the history of {target} stays as it was"
    else:
        from_now = ""
    return f"{changed}{from_now}.{_harm(scene, step.target, at)}"


def _alive(scene: Scene, ref: Ref, at: int) -> list[Ref]:
    return [r for r in scene.aliases(ref) if r.at < at]


def _harm(scene: Scene, target: Ref, at: int) -> str:
    """Who may have kept what a write changed."""
    keepers = scene.keepers(scene.reference.storages.storage(target), at)
    if not keepers:
        return ""
    return f" What {joined(f'{op_name(n)} on line {n.at + 1}' for n in keepers)} may have kept is another value now."


def _stepped(scene: Scene, at: int, leaves: tuple[Ref, ...]) -> str:
    without = [leaf for leaf in leaves if scene.observation[at].gradients.get(leaf) is None]
    moved = [leaf for leaf in leaves if leaf not in without]
    text = f"moves {scene.named(moved)} in place, which is not recorded." if moved else "moves nothing."
    if without:
        text += f" {scene.named(without)} {'has' if len(without) == 1 else 'have'} no gradient, and are passed over."
    return text.replace("has no gradient, and are", "has no gradient, and is") + "".join(
        dict.fromkeys(_harm(scene, leaf, at) for leaf in moved)
    )


# -- calling ----------------------------------------------------------------------------------------------------------


def _hooked(scene: Scene, step: Hook) -> str:
    target = scene.name(step.target)
    if step.accumulated:
        return f"the hook is called when {target} holds its new gradient."
    does = {
        "observe": "and changes nothing",
        "scale": f"and multiplies it by {step.factor:g}",
        "replace": f"and puts {step.factor:g} in the place of each element",
        "raise": "and raises an exception",
        "misshape": "and returns one of another shape",
    }
    return f"the hook is called with {target}'s gradient, {does[step.effect]}."


def _called(scene: Scene, at: int, call: Backward | Grad) -> str | None:
    """An earlier call: what it freed, kept, made or added."""
    raised = scene.raised(at)
    if raised is not None:
        if raised.kind not in RAISED_MIDWAY:
            return (
                "is refused, and leaves the graph and the gradients as they were."
                if scene.lifetime
                else f"is refused ({raised.kind.value})."
            )
        return f"raises ({raised.kind.value}) on its way: what it went through may be freed."
    parts = [*_freed(scene, at, call), *_made(scene, at, call)]
    subject = scene.violation.subject
    gradient = None if subject is None else scene.observation[at].gradients.get(subject)
    if gradient is not None and _holds_matter(scene):
        parts.append(f"leaves {scene.name(subject)}'s gradient at {shown(gradient.value)}.")
    return " ".join(parts) or None


def _holds_matter(scene: Scene) -> bool:
    failing, violation = scene.program[scene.violation.at], scene.violation
    return violation.held is not None or isinstance(failing, (ReadGrad, AssignGrad, Step, ZeroGrad))


def _freed(scene: Scene, at: int, call: BackwardCall) -> list[str]:
    """What a call freed or kept of what the failing one needs."""
    shared = [n for n in scene.tape.traverse(call).nodes if n.at in scene.lines_walked]
    if not shared or not scene.lifetime:
        return []
    where = {n.at for n in shared}
    they = "it" if len(where) == 1 else "they"
    if any(n.freed_by == at for n in shared):
        why = "retain_graph is False" if call.create_graph else "it does not retain the graph"
        return [f"walks {lines(where)}; {why}, so what {they} saved is freed."]
    flag = "create_graph=True" if call.retain_graph is None else "retain_graph=True"
    return [f"walks {lines(where)}; {flag} keeps what {they} saved."]


def _made(scene: Scene, at: int, call: BackwardCall) -> list[str]:
    """What a call returned, restricted itself to, or recorded."""
    said = []
    if isinstance(call, Backward) and call.inputs is not None:
        said.append(f"adds to the gradient of {scene.named(call.inputs)} alone.")
    if isinstance(call, Grad):
        outcome = scene.observation[at].outcome
        values = outcome.values if isinstance(outcome, Returned) else ()
        for k, (ref, value) in enumerate(zip(call.inputs, values, strict=False)):
            of = f"{scene.name(Ref(at, k))} is the gradient with respect to {scene.name(ref)}"
            said.append(f"{of}: none, for it is not used." if value is None else f"{of}.")
    if call.create_graph:
        it = "what it returns" if isinstance(call, Grad) else "the gradient that a leaf gets"
        said.append(f"create_graph=True records the call itself, so {it} is differentiable.")
    elif isinstance(call, Grad) and said and not scene.lifetime and _is_used(scene, at):
        said.append("Without create_graph it has no history.")
    return said


def _is_used(scene: Scene, at: int) -> bool:
    return any(ref.at == at for step in scene.program.instructions[at + 1 :] for ref in operands(step))
