"""Why an instruction that is no call has to do what it did not: raise, return, make a value, leave others alone."""

from __future__ import annotations

from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Clip,
    Detach,
    DetachInPlace,
    Hook,
    InPlace,
    Leaf,
    ReadGrad,
    RetainGrad,
    SetRequiresGrad,
    Step,
    ZeroGrad,
    is_recorded,
)
from autograd_conformance.programs.operands import operands
from autograd_conformance.rules.explanation.context import Scene
from autograd_conformance.rules.prose import joined, shown


def effect(scene: Scene) -> str:
    """The remark on a failing line that is no call."""
    if scene.violation.observed == "returned" and scene.expectation.returns is None:
        return _refused(scene)
    if scene.violation.observed.startswith("raised") and scene.violation.subject is None:
        return _legal(scene)
    return _state(scene)


def _refused(scene: Scene) -> str:
    """Why an instruction that is no call must raise."""
    step, name = scene.program[scene.violation.at], scene.name
    match step:
        case InPlace(_, target):
            base = scene.reference.storages.base(target)
            leaf = f"{name(target)} is a view of {name(base)}, which" if base != target else f"{name(target)}"
            why = f"{leaf} is a leaf that requires grad, and the write would be recorded"
        case DetachInPlace(target):
            base = scene.reference.storages.base(target)
            why = f"{name(target)} is a view of {name(base)}, and a view cannot be cut off from its base"
        case SetRequiresGrad(target):
            why = f"{name(target)} is no leaf: it requires grad because of what it was computed from"
        case RetainGrad(target):
            why = f"{name(target)} requires no grad, so there will be no gradient to retain"
        case Hook(target, accumulated=accumulated):
            requires = scene.reference.requires_grad[target]
            why = f"{name(target)} requires no grad" if not requires else f"{name(target)} is no leaf"
            why += (
                ", so nothing is ever accumulated" if accumulated else ", so there will be no gradient to call it with"
            )
        case AssignGrad(leaf, value):
            why = f"a gradient has the shape of its leaf, and {name(value)} has not that of {name(leaf)}"
        case _:
            why = "it must be refused"
    return f"{why}: it must raise ({scene.kinds})."


def _legal(scene: Scene) -> str:
    """Why an instruction that is no call must not raise, or not so."""
    if scene.expectation.returns is None:
        return f"must raise another error ({scene.kinds})."
    step = scene.program[scene.violation.at]
    if isinstance(step, InPlace):
        target = step.target
        if not scene.reference.requires_grad[target]:
            why = f"{scene.name(target)} requires no grad, so it may be written to"
        elif not is_recorded(scene.program.mode(scene.violation.at)):
            why = "under no_grad every value may be written to"
        else:
            why = f"{scene.name(target)} is no leaf, so it may be written to"
        return f"{why}: it must return."
    return "is legal: it must return."


def _state(scene: Scene) -> str:
    """What a value, a flag, or what is held must be after an instruction that is no call."""
    violation, step = scene.violation, scene.program[scene.violation.at]
    subject, due = scene.name(violation.subject), violation.allowed[0][0]
    if violation.want is not None:
        return _value(scene, subject)
    match step:
        case InPlace() if violation.rule == "writes/refused-keeps-values":
            return f"raises, as it may, but then {due}: {subject} was changed all the same."
        case InPlace() | Step() if violation.rule == "writes/nothing-else":
            targets = step.leaves if isinstance(step, Step) else (step.target,)
            return f"{subject} shares no memory with {scene.named(targets)}: it has to stay as it was, but it changed."
        case InPlace() if violation.rule in ("writes/requires-grad", "modes/unrecorded-write"):
            return _flag_of_write(scene, step, subject)
        case DetachInPlace():
            return f"{subject} is cut off from its history here, so it must not require grad; it does."
        case Apply() | ReadGrad() | Leaf() | Detach() if "requires" in violation.observed:
            return f"{_flag(scene, step, subject)}, but it {'does' if 'no grad' in due else 'does not'}."
        case Apply() | Detach() if violation.rule.startswith("views/"):
            source = scene.named(operands(step))
            own = violation.rule == "views/own-memory"
            return (
                f"computes something new: {subject} needs memory of its own, but it shares that of {source}."
                if own
                else f"{subject} is {source} seen in another way: they share memory, but {subject} has its own."
            )
        case ZeroGrad() | AssignGrad() | Step() | Clip() if violation.subject is not None:
            must = due.replace("the leaf holds", f"{subject} has to hold").replace(
                "gradients stay", "gradients have to stay"
            )
            seen = violation.observed.replace("the leaf's", "its").replace("the leaf", "it")
            return f"{must}, but {seen}."
    return f"must give: {due}."


def _value(scene: Scene, subject: str) -> str:
    violation, step = scene.violation, scene.program[scene.violation.at]
    seen = f"{shown(violation.want)}, but it is {shown(violation.got)}."
    match step:
        case InPlace(_, target) if violation.subject != target:
            return f"{subject} shares {scene.name(target)}'s memory, so the write shows in it: it has to be {seen}"
        case InPlace():
            return f"by definition {subject} becomes {seen}"
        case Step(_, optimizer):
            return f"by {optimizer}'s formula {subject} moves to {seen}"
        case Clip(_, kind, bound):
            how = f"all norms together are at most {bound:g}" if kind == "norm" else f"it lies within {bound:g} of zero"
            return f"{subject}'s gradient is clipped, so that {how}: it has to be {seen}"
        case Detach(source):
            return f"{subject} has the values of {scene.name(source)}: {seen}"
        case DetachInPlace():
            return f"{subject} loses its history and keeps its value: {seen}"
        case ReadGrad(leaf):
            return f"{subject} is the gradient that {scene.name(leaf)} holds: {seen}"
    return f"by definition {subject} is {seen}"


def _flag(scene: Scene, step: Apply | ReadGrad | Leaf | Detach, subject: str) -> str:
    """Why a result requires grad, or not."""
    flagged = [r for r in operands(step) if scene.reference.requires_grad[r]]
    modes = scene.program.mode(scene.violation.at)
    if isinstance(step, Detach):
        return f"{subject} has no history, so it must not require grad"
    if not flagged:
        return f"no operand requires grad, so {subject} must not either"
    if not is_recorded(modes):
        return f"stands under no_grad and is not recorded, so {subject} must not require grad"
    mode = "enable_grad is the innermost mode, and " if modes else ""
    return f"{mode}{scene.named(flagged)} requires grad, so {subject} must, too"


def _flag_of_write(scene: Scene, step: InPlace, subject: str) -> str:
    flagged = [r for r in operands(step) if scene.reference.requires_grad[r]]
    if flagged and is_recorded(scene.program.mode(scene.violation.at)):
        of = joined(scene.name(r) for r in dict.fromkeys(flagged))
        return f"is recorded, and {of} requires grad, so from here on {subject} must, too; it does not."
    if "no grad" in scene.violation.observed:
        return f"is not recorded, so {subject} has to keep its history, and to require grad; it does not."
    return f"is not recorded, so {subject} must not require grad for it; it does."
