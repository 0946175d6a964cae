"""What graphs keep alive: how many saved tensors there may be, followed from what each instruction was seen to save.

A framework that counts its saved tensors says after each instruction how many there are; one that two ops saved counts
twice. What an op saved is seen when it is applied: its `Share`. From then on the model of the tape knows how much of it
is still alive, at least and at most: a call that does not retain releases what it surely walked, and may release what
it perhaps did; a value that goes away takes with it what no other value, and no gradient, leads to. What is counted has
to lie between the sums of both. What the rules leave open widens the bounds, and is not judged.
"""

from __future__ import annotations

from collections.abc import Collection

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.row import Certainty
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Backward,
    BackwardCall,
    Delete,
    DetachInPlace,
    Grad,
    InPlace,
    Instruction,
    ReadGrad,
    Ref,
    ZeroGrad,
)
from autograd_conformance.programs.observations import Returned, StepObservation
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.judge.violation import Violation
from autograd_conformance.rules.tape.graph import Expectation, Node, Traversal
from autograd_conformance.rules.tape.model import Tape
from autograd_conformance.rules.tape.saved_tensors import NONE, Ledger, Share

LETTING_GO = (Delete, ZeroGrad, AssignGrad)
CREATED = "create_graph"

Kind = tuple[str, tuple[str, ...]]
"""What is the same whenever something is done again: the instruction, and the ops whose tensors it releases."""


class Keeping:
    """The judge's side of the ledger; `exercised` counts the rules that are put to the test."""

    def __init__(self, tape: Tape, claims: Collection[Capability], exercised: dict[str, int]) -> None:
        self.tape, self.reference = tape, tape.reference
        self.claims, self.exercised = claims, exercised
        self.ledger = Ledger()
        self.saved: int | None = 0
        self.lingering = 0
        self.done: set[Kind] = set()

    def check(self, at: int, step: Instruction, expectation: Expectation, seen: StepObservation) -> Violation | None:
        """Whether as many saved tensors are alive as may be, after an instruction that did what it may; the tape has
        not yet gone on.
        """
        before, self.saved = self.saved, seen.saved
        if before is None or seen.saved is None:
            self.saved = None  # it does not count, or what it counts can no longer be told apart
            return None
        gone = self._follow(at, step, expectation, seen, seen.saved - before)
        for ref, gradient in seen.gradients.items():
            if gradient is None:
                self.ledger.held.pop(ref, None)
        if isinstance(step, (*LETTING_GO, Backward, Grad, InPlace, DetachInPlace)):
            dropped = self.ledger.forget()
            gone = dropped if isinstance(step, LETTING_GO) else gone
            self.lingering += sum(share.most for share in dropped if share.failed)
        low, high = self.ledger.bounds()
        recorded = isinstance(step, InPlace) or (isinstance(step, BackwardCall) and step.create_graph)
        if recorded and seen.saved >= low:
            op = step.op if isinstance(step, InPlace) else CREATED
            self.ledger.shares[at] = Share(op, max(0, seen.saved - high), seen.saved - low, True)
        elif not low <= seen.saved <= high:
            self.saved = None
            return self._violation(at, step, seen, gone, low, high)
        self._exercise(step, expectation, seen, gone)
        return None

    # -- following ----------------------------------------------------------------------------------------------------

    def _follow(
        self, at: int, step: Instruction, expectation: Expectation, seen: StepObservation, count: int
    ) -> list[Share]:
        """Take an instruction, after which there are `count` more, into the ledger; what it surely released."""
        ledger = self.ledger
        match step:
            case Backward() | Grad():
                return self._walked(at, step, expectation, seen)
            case Apply() if isinstance(seen.outcome, Returned):
                self._applied(at, step, count)
            case ReadGrad(leaf) if isinstance(seen.outcome, Returned):
                ledger.keeps[Ref(at)] = ledger.held.get(leaf, NONE)
            case AssignGrad(leaf, value) if isinstance(seen.outcome, Returned) and value is not None:
                ledger.held[leaf] = ledger.keeps.get(value, NONE)
            case InPlace() if isinstance(seen.outcome, Returned):
                self._written(at, step)
            case DetachInPlace(target) if isinstance(seen.outcome, Returned):
                ledger.leads.pop(target, None)
            case Delete(values) if isinstance(seen.outcome, Returned):
                for ref in values:
                    ledger.keeps.pop(ref, None)
                    ledger.leads.pop(ref, None)
        return []

    def _applied(self, at: int, step: Apply, count: int) -> None:
        """An op saved as many tensors as there are more than before."""
        ledger, requires = self.ledger, self.reference.requires_grad
        if count > 0:
            ledger.shares[at] = Share(step.op, count, count)
        own = NONE | {at}
        for k in range(step.results):
            ref = Ref(at, k)
            graph = requires[ref] or row_of(step.op).aliases is not Certainty.NEVER  # a view may keep its base
            ledger.keeps[ref] = ledger.kept(step.args) | own if graph else own
            if requires[ref]:
                needs_input_grad = (ledger.leads.get(r, NONE) for r in step.args if requires[r])
                ledger.leads[ref] = NONE.union(own if step.results == 1 else NONE, *needs_input_grad)

    def _written(self, at: int, step: InPlace) -> None:
        """A write becomes part of the history of all that shares memory with its target, and may cut off another."""
        ledger, storages = self.ledger, self.reference.storages
        users = {step.target, *storages.aliases(step.target), *storages.view_family(step.target)}
        history = ledger.kept((*users, *step.args)) | {at}
        for ref in users:
            ledger.leads.pop(ref, None)
            if ref in ledger.keeps or ref == step.target:
                ledger.keeps[ref] = history
        for holder in self.reference.grads:  # what is held may be what is written to
            ledger.held[holder] = ledger.held.get(holder, NONE) | history

    def _walked(self, at: int, call: BackwardCall, expectation: Expectation, seen: StepObservation) -> list[Share]:
        """A call releases what it walks, unless it retains it; with create_graph, gradients lead to what it walks."""
        ledger, traversal = self.ledger, expectation.traversal
        returned = isinstance(seen.outcome, Returned)
        if call.create_graph:
            history = ledger.kept(call.roots) | {at}
            for ref in traversal.must_accumulate | traversal.may_accumulate:
                ledger.held[ref] = ledger.held.get(ref, NONE) | history
            values = seen.outcome.values if isinstance(seen.outcome, Returned) else ()
            ledger.keeps.update({Ref(at, k): history for k, value in enumerate(values) if value is not None})
        if not returned:
            ledger.fail(ledger.kept(call.roots))
        elif call.retains:
            return []
        surely = (
            [node.at for node in traversal.nodes if self._is_whole(node, call, traversal)]
            if returned and self.tape.frees
            else []
        )
        ledger.doubt(node.at for node in (*traversal.nodes, *traversal.maybe_nodes))
        return ledger.gone(dict.fromkeys(surely))

    def _is_whole(self, node: Node, call: BackwardCall, traversal: Traversal) -> bool:
        """Whether a call walks all that an op recorded: each of several results, and of several operands of which only
        some lead to inputs that are asked for, may have a part of its own.
        """
        share = self.ledger.shares.get(node.at)
        if share is None or share.derived or not all(out in traversal.must_reach for out in node.entry.outs):
            return False
        if call.inputs is None:
            return True
        ends = {self.reference.edge(r) for r in call.inputs}.union(*(each.entry.outs for each in traversal.nodes))
        operands = zip(node.entry.args, node.entry.needs_input_grad, strict=True)
        return all(edge in ends for edge, needs_input_grad in operands if needs_input_grad)

    # -- judging ------------------------------------------------------------------------------------------------------

    def _exercise(self, step: Instruction, expectation: Expectation, seen: StepObservation, gone: list[Share]) -> None:
        """Count the rules that an instruction put to the test."""
        rules = []
        if isinstance(step, BackwardCall) and isinstance(seen.outcome, Returned) and step.retains:
            shares = (self.ledger.shares.get(node.at) for node in expectation.traversal.nodes)
            rules += ["memory/retained"] if any(share is not None and share.least for share in shares) else []
        if isinstance(step, LETTING_GO) and any(share.failed for share in gone):
            rules.append("memory/after-error")
        if gone:
            kind = _kind(step, gone)
            rules += [_released(step, gone)] + (["memory/steady"] if kind in self.done else [])
            self.done.add(kind)
        for rule in rules:
            if self._applies(rule):
                self.exercised[rule] = self.exercised.get(rule, 0) + 1

    def _violation(
        self, at: int, step: Instruction, seen: StepObservation, gone: list[Share], low: int, high: int
    ) -> Violation | None:
        """The rule that says how many saved tensors there may be, where there is one."""
        assert seen.saved is not None
        if isinstance(step, BackwardCall) and isinstance(seen.outcome, Returned):
            rule = "memory/retained" if step.retains else "memory/freed"
        elif isinstance(step, LETTING_GO) and seen.saved > high:
            rule = _released(step, gone)
        else:
            return None
        if high < seen.saved <= high + self.lingering:
            rule = "memory/after-error"
        elif seen.saved > high and _kind(step, gone) in self.done:
            rule = "memory/steady"
        if not self._applies(rule):
            return None
        bound = "" if low == high else "at least " if seen.saved < low else "at most "
        due = f"{bound}{_tensors(low if seen.saved < low else high)} alive"
        return Violation(rule, at, f"{_tensors(seen.saved)} alive", ((due, rule),))

    def _applies(self, rule: str) -> bool:
        return RULES[rule].needs <= frozenset(self.claims)


def _released(step: Instruction, gone: list[Share]) -> str:
    """The rule by which something is released."""
    if isinstance(step, BackwardCall):
        return "memory/freed"
    return "memory/cycle" if any(share.op == CREATED for share in gone) else "memory/dropped"


def _kind(step: Instruction, gone: list[Share]) -> Kind:
    return type(step).__name__, tuple(share.op for share in gone)


def _tensors(count: int) -> str:
    return "1 saved tensor is" if count == 1 else f"{count} saved tensors are"
