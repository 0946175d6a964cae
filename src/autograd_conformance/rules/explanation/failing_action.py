"""Notes on a failing line that is no backward call: why it must raise, return, or leave a certain state."""

from __future__ import annotations

from autograd_conformance.programs.language import (
    AssignGrad,
    Clip,
    Detach,
    DetachInPlace,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    ReadGrad,
    RetainGrad,
    SetRequiresGrad,
    Step,
    ZeroGrad,
    is_recorded,
)
from autograd_conformance.programs.operands import operands
from autograd_conformance.rules.explanation.context import Context
from autograd_conformance.rules.prose import joined, shown_with_distance
from autograd_conformance.rules.violations.expected import ExpectedMove, Movement
from autograd_conformance.rules.violations.observed import (
    Change,
    ChangedValue,
    GradientChanged,
    HoldsGradient,
    MovedMemory,
    RaisedError,
    ReturnedUnexpectedly,
    ValueChanged,
    ValueMemory,
)
from autograd_conformance.rules.violations.shared import Flag, Flagged, OwnMemory, SharedMemory


def action_note(context: Context) -> str:
    """Returns the note on a failing line that is no backward call: why the line must raise, return, or leave a certain
    state.
    """
    observed = context.violation.observed
    if isinstance(observed, ReturnedUnexpectedly):
        return f"{_refusal(context)}: it must raise ({context.kinds})."
    if isinstance(observed, RaisedError):
        return _legal(context)
    return _state(context)


def _refusal(context: Context) -> str:
    """Returns the reason why the instruction must raise."""
    step, name = context.program[context.violation.at], context.name
    match step:
        case InPlace(_, target):
            base = context.reference.storages.base(target)
            leaf = f"{name(target)} is a view of {name(base)}, which" if base != target else f"{name(target)}"
            return f"{leaf} is a leaf that requires grad, and the write would be recorded"
        case DetachInPlace(target):
            base = context.reference.storages.base(target)
            return f"{name(target)} is a view of {name(base)}, and a view cannot be cut off from its base"
        case SetRequiresGrad(target):
            return f"{name(target)} is no leaf: it requires grad because of what it was computed from"
        case RetainGrad(target):
            return f"{name(target)} requires no grad, so there will be no gradient to retain"
        case Hook(target, accumulated=accumulated):
            requires = context.reference.requires_grad[target]
            why = f"{name(target)} {'is no leaf' if requires else 'requires no grad'}"
            never = "nothing is ever accumulated" if accumulated else "there will be no gradient to call it with"
            return f"{why}, so {never}"
        case AssignGrad(leaf, value):
            return f"a gradient must have the shape of its leaf, and {name(value)} has another shape than {name(leaf)}"
        case _:
            return "it must be refused"


def _legal(context: Context) -> str:
    """Returns the reason why the instruction must not raise, or must raise another error."""
    if context.expectation.returns is None:
        return f"must raise another error ({context.kinds})."
    step = context.program[context.violation.at]
    if isinstance(step, InPlace):
        target = step.target
        if not context.reference.requires_grad[target]:
            why = f"{context.name(target)} requires no grad, so it may be written to"
        elif not is_recorded(context.program.mode(context.violation.at)):
            why = "under no_grad every value may be written to"
        else:
            why = f"{context.name(target)} is no leaf, so it may be written to"
        return f"{why}: it must return."
    return "is legal: it must return."


def _state(context: Context) -> str:
    """Returns a sentence on the value, flag or gradient that the instruction must leave, and on what was observed."""
    violation, step = context.violation, context.program[context.violation.at]
    subject, expected, observed = context.name(violation.subject), violation.allowed[0].expected, violation.observed
    if violation.want is not None:
        return _value(context, subject)
    if isinstance(observed, ValueChanged) and observed.which is ChangedValue.REFUSED:
        return f"raises, as it may. After an error, {expected.expected_text()}, but {subject} was changed."
    if isinstance(observed, ValueChanged) and isinstance(step, (InPlace, Step)):
        targets = step.leaves if isinstance(step, Step) else (step.target,)
        return f"{subject} shares no memory with {context.named(targets)}: it has to stay as it was, but it changed."
    if isinstance(observed, Flag):
        return _flag(context, step, observed, subject)
    if isinstance(observed, SharedMemory):
        source = context.named(operands(step))
        return f"computes a new value: {subject} needs separate memory, but it shares that of {source}."
    if isinstance(observed, ValueMemory):
        return f"makes a new value: {subject} needs separate memory, but it shares that of {observed.owner}."
    if isinstance(observed, MovedMemory):
        return f"moves {subject} to other memory: it has to share that of {observed.of}, as it did before."
    if isinstance(observed, OwnMemory):
        source = context.named(operands(step))
        return f"{subject} has to share memory with {source}, but it has separate memory."
    if isinstance(observed, (GradientChanged, HoldsGradient)) and isinstance(step, (ZeroGrad, AssignGrad, Step, Clip)):
        if isinstance(observed, GradientChanged) and observed.how is Change.CHANGED:
            return f"{subject}'s gradient has to stay as it was, but it changed."
        return f"{expected.required_text(subject)}, but {observed.subject_text()}."
    return f"must give: {expected.expected_text()}."


def _value(context: Context, subject: str) -> str:
    """Returns a sentence on the expected and the observed elements of a value, and the reason for the expected ones."""
    violation, step = context.violation, context.program[context.violation.at]
    want, got, by = shown_with_distance(violation.want, violation.got)
    comparison = f"{want}, but it is {got}{by}."
    match step:
        case InPlace(_, target) if violation.subject != target:
            return (
                f"{subject} shares {context.name(target)}'s memory, so the write shows in it: it has to be {comparison}"
            )
        case InPlace():
            return f"by definition {subject} becomes {comparison}"
        case Step() if violation.allowed[0].expected == ExpectedMove(Movement.NOWHERE):
            return f"{subject} holds no gradient, so it has to stay {comparison}"
        case Step(_, optimizer):
            return f"by {optimizer}'s formula {subject} moves to {comparison}"
        case Clip(_, kind, bound):
            how = (
                f"all norms together are at most {bound:g}"
                if kind == "norm"
                else f"each element is within {bound:g} of zero"
            )
            return f"{subject}'s gradient is clipped, so that {how}: it has to be {comparison}"
        case Detach(source):
            return f"{subject} has the values of {context.name(source)}: {comparison}"
        case DetachInPlace():
            return f"{subject} loses its history and keeps its value: {comparison}"
        case ReadGrad(leaf):
            return f"{subject} is the gradient that {context.name(leaf)} holds: {comparison}"
        case _:
            return f"by definition {subject} is {comparison}"


# -- requires_grad ----------------------------------------------------------------------------------------------------


def _flag(context: Context, step: Instruction, observed: Flag, subject: str) -> str:
    """Returns the reason why a value must require grad after an instruction, or must not."""
    if isinstance(step, DetachInPlace):
        return f"{subject} is cut off from its history here, so it must not require grad; it does."
    if observed.of is Flagged.TARGET:
        return _written_flag(context, step, observed, subject)
    return f"{_history(context, step, subject)}, but it {'does' if observed.requires else 'does not'}."


def _history(context: Context, step: Instruction, subject: str) -> str:
    """Returns the reason why a result must require grad, or must not."""
    flagged = [r for r in operands(step) if context.reference.requires_grad[r]]
    modes = context.program.mode(context.violation.at)
    if isinstance(step, Detach):
        return f"{subject} has no history, so it must not require grad"
    if isinstance(step, Leaf):
        kind, must = ("a leaf that requires grad", "must") if step.requires_grad else ("a constant", "must not")
        return f"{subject} is made as {kind}, so it {must} require grad"
    if not flagged:
        return f"no operand requires grad, so {subject} must not either"
    if not is_recorded(modes):
        return f"runs under no_grad and is not recorded, so {subject} must not require grad"
    mode = "enable_grad is the innermost mode, and " if modes else ""
    return f"{mode}{context.named(flagged)} requires grad, so {subject} must, too"


def _written_flag(context: Context, step: Instruction, observed: Flag, subject: str) -> str:
    """Returns the reason why the target of an in-place change must require grad, or must not."""
    flagged = [r for r in operands(step) if context.reference.requires_grad[r]]
    if flagged and is_recorded(context.program.mode(context.violation.at)):
        of = joined(context.name(r) for r in dict.fromkeys(flagged))
        return f"is recorded, and {of} requires grad, so from here on {subject} must, too; it does not."
    if not observed.requires:
        return f"is not recorded, so {subject} has to keep its history, and to require grad; it does not."
    return f"is not recorded, so {subject} must not require grad for it; it does."
