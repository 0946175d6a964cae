"""A model of the tape: for each instruction, the set of outcomes that the rules allow, each with the rule that it
rests on.

The model walks a program beside an observation. `expect` says what may happen at an instruction; `advance` takes what
did happen and goes on from there, so that a choice that the rules leave open never desynchronises the two.

The reference keeps what was recorded; the tape adds what became of it: for each record a `Node` that knows whether what
it saved has been freed, surely or perhaps, and the gradients that were last seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from autograd_conformance.ops.modules import MODULES
from autograd_conformance.ops.row import Certainty
from autograd_conformance.programs.language import (
    Apply,
    Backward,
    BackwardCall,
    Detach,
    Grad,
    Hook,
    Instruction,
    Leaf,
    Modes,
    ReadGrad,
    Ref,
    SetRequiresGrad,
    Step,
    is_recorded,
)
from autograd_conformance.programs.observations import (
    Kind,
    Outcome,
    Raised,
    Returned,
    Skipped,
    StepObservation,
)
from autograd_conformance.rules.tape.exercises import exercised
from autograd_conformance.rules.tape.graph import Expectation, Node, Traversal
from autograd_conformance.rules.tape.outcomes import allowed, refusals
from autograd_conformance.rules.tape.recurrence import carries_state
from autograd_conformance.rules.tape.state import TapeState

ON_THE_WAY = frozenset(
    {
        Kind.GRAPH_FREED, Kind.MODIFIED, Kind.HOOK_RAISED, Kind.HOOK_SHAPE, Kind.UNUSED_INPUT, Kind.VIEW_WRITTEN,
        Kind.NOT_IMPLEMENTED, Kind.OVERLAP,
    }
)  # fmt: skip
"""The errors that a call meets while it walks; all others are found before it begins."""

ZERO = 1e-12
"""A gradient whose elements are all below this may be one of zeros, but for rounding."""

BROKEN_HOOKS = {"raise": (Kind.HOOK_RAISED, "hooks/raise"), "misshape": (Kind.HOOK_SHAPE, "hooks/shape")}
"""What a hook that misbehaves makes of the call."""


class Tape(TapeState):
    """The model: `expect` says what may happen, `advance` takes what did."""

    def expect(self, at: int, step: Instruction, modes: Modes = ()) -> Expectation:
        """The outcomes that the rules allow for instruction `at`."""
        if isinstance(step, (Backward, Grad)):
            return self._walking(step, modes)
        return allowed(self, step, modes)

    def _walking(self, call: BackwardCall, modes: Modes) -> Expectation:
        traversal = self.traverse(call)
        refused = refusals(self, call)
        met = self._met(call, traversal)
        if refused:
            raises = dict(refused)
            if any(node.freed for node in traversal.nodes):
                raises.setdefault(Kind.GRAPH_FREED, "lifetime/same-root-raises")
            exercises = tuple(dict.fromkeys(refused.values())) + self._after_refusal()
            return Expectation(None, {**raises, **met}, exercises, traversal)
        zeros = self._zeros(call)
        if any(zeros) and isinstance(call, Grad) and not call.allow_unused and not call.materialize_grads:
            met[Kind.UNUSED_INPUT] = "functional/unused-raises"
        gone = (
            [n for n in traversal.nodes if n.must_be_freed and n not in traversal.partial_nodes] if self.frees else []
        )
        broken = self._broken(call, traversal)
        if self.reference.rebased.intersection(map(self.reference.edge, call.inputs or ())):
            gone, broken = [], {}  # a view whose memory was written to may have lost its place in the graph
        unused = self._unused(call, traversal)
        if gone or broken or unused:
            rules = self._gone(call, traversal, gone) if gone else ()
            if any(node.freed for node in (*traversal.nodes, *traversal.maybe_nodes)):
                met.setdefault(Kind.GRAPH_FREED, "lifetime/nothing-saved")
            raises = {**({Kind.GRAPH_FREED: rules[0]} if rules else {}), **broken, **unused}
            torn = ("errors/atomic",) if traversal.must_accumulate else ()
            exercises = (*rules, *broken.values(), *unused.values(), *torn)
            return Expectation(None, {**met, **raises}, exercises, traversal)
        if any(node.freed for node in (*traversal.nodes, *traversal.maybe_nodes)):
            met[Kind.GRAPH_FREED] = "lifetime/nothing-saved"
        exercises = exercised(self, call, traversal, modes) if self.counts else ()
        return Expectation(
            self._why_returns(exercises), met, exercises, traversal, self.is_unspecified(call, traversal)
        )

    def _zeros(self, call: BackwardCall) -> list[bool]:
        """For each input, whether its gradient is zero throughout: it may be undefined."""
        return [self.reference.is_zero(call, r) for r in call.inputs or ()]

    def is_unspecified(self, call: BackwardCall, traversal: Traversal) -> bool:
        """Whether it is open what a call gives: through a hook that may be called, or not, or in a gradient that is
        asked for, or that several leaves were given to hold.
        """
        same = self.reference.same
        holding = {
            same.get(r, r): gradient for r in traversal.must_accumulate if (gradient := self.grads.get(r)) is not None
        }
        identities = [g.identity for g in holding.values() if g.value.size and g.identity is not None]
        if len(set(identities)) < len(identities):
            return True
        edge, toggled = self.reference.edge, self.reference.toggled
        if self._is_muddled(traversal) or (isinstance(call, Grad) and self._changed_on_the_way(call, traversal)):
            return True
        if call.create_graph and any(toggled.intersection(node.args) for node in traversal.nodes):
            return True  # its derivative may depend on what was saved as it is now
        replacing = [
            (at, hook)
            for at, hook in self.hooks_on(traversal.must_fire | traversal.may_fire)
            if hook.effect == "replace"
        ]
        if self._missed(call, replacing):
            return True
        asked = {edge(r) for r in (*(call.inputs or ()), *self.reference.retained, *self.reference.captured_inputs)}
        rebased = self.reference.rebased & (traversal.must_fire | traversal.may_fire) | traversal.may_reach
        if (traversal.may_reach | self.reference.rebased) & asked:
            return True
        return any(hook.effect != "observe" for _, hook in self.hooks_on(rebased))

    def _may_overlap(self, leaf: Ref) -> bool:
        """Whether a leaf was given a gradient of which one element may be spread over many places."""
        held = self.reference.grads.get(leaf)
        if held is None or held.at < 0:
            return False
        owner = self.reference.storages.storage(held)
        if owner in self.reference.storages.laid_out_as_seen:
            return self.reference.storages.overlaps_itself(held)
        made = self.reference.steps[owner.at] if owner.at >= 0 else None
        return owner.at < 0 or isinstance(made, Grad) or self.reference.storages.overlaps_itself(held)

    def _is_muddled(self, traversal: Traversal) -> bool:
        """Whether a call goes through uses of views whose base has begun or ceased to require grad since."""
        views_of_toggled = self.reference.storages.views_of_toggled
        return bool(views_of_toggled) and any(
            views_of_toggled.intersection(node.args) for node in (*traversal.nodes, *traversal.maybe_nodes)
        )

    def _changed_on_the_way(self, call: Grad, traversal: Traversal) -> bool:
        """Whether an input of the functional form has a hook that changes its gradient, and is walked through to
        another: whether the result shows the change is not said.
        """
        through = {out for node in (*traversal.nodes, *traversal.maybe_nodes) for out in node.entry.outs}
        inputs = through.intersection(map(self.reference.edge, call.inputs))
        return any(hook.effect != "observe" for _, hook in self.hooks_on(inputs))

    def _met(self, call: BackwardCall, traversal: Traversal) -> dict[Kind, str]:
        """The errors that a call may raise, or not: because of what was written, or of what is not implemented."""
        found = {}
        if call.create_graph or any(node.derivative for node in (*traversal.nodes, *traversal.maybe_nodes)):
            found[Kind.NOT_IMPLEMENTED] = "higher/unsupported"
        if any(self.version_mismatch(node) for node in (*traversal.nodes, *traversal.maybe_nodes)) or self._hits_itself(
            traversal
        ):
            found[Kind.MODIFIED] = "writes/error-or-recorded"
            made_of_parts = any(
                node.op.rpartition(" ")[2] in MODULES for node in (*traversal.nodes, *traversal.maybe_nodes)
            )
            if self.reference.storages.restricted or made_of_parts:  # it may have kept a restricted view of an operand
                found[Kind.VIEW_WRITTEN] = "views/restricted"
        if not call.create_graph and any(map(self._may_overlap, traversal.must_accumulate)):
            found[Kind.OVERLAP] = "writes/overlap"
        if self._is_muddled(traversal):
            found[Kind.VIEW_WRITTEN] = "views/restricted"
        if {self.reference.edge(r) for r in call.inputs or ()} & self.reference.rebased:
            found[Kind.UNUSED_INPUT] = "functional/unused-raises"
        if any(self.invalidated(r) for r in (*call.roots, *(call.inputs or ()))):
            found[Kind.VIEW_WRITTEN] = "views/restricted"
        for _, hook in self.hooks_on(traversal.may_fire | traversal.must_fire):
            if hook.effect in BROKEN_HOOKS:
                kind, rule = BROKEN_HOOKS[hook.effect]
                found[kind] = rule
        return found

    def _hits_itself(self, traversal: Traversal) -> bool:
        """Whether a call adds to a gradient that a node on its way may have kept."""
        storages = self.reference.storages
        held = (self.reference.grads.get(r) for r in traversal.must_accumulate)
        added = {storages.storage(h) for h in held if h is not None and (h.at >= 0 or len(storages.aliases(h)) > 1)}
        return bool(added) and any(added & set(self.kept(node)) for node in (*traversal.nodes, *traversal.maybe_nodes))

    def _broken(self, call: BackwardCall, traversal: Traversal) -> dict[Kind, str]:
        """The errors that hooks raise which the call surely comes by."""
        surely = self.hooks_on(traversal.must_fire - self.reference.rebased)
        broken = [(handle, hook) for handle, hook in surely if hook.effect in BROKEN_HOOKS]
        missed = self._missed(call, broken)
        return dict(BROKEN_HOOKS[hook.effect] for handle, hook in broken if handle not in missed)

    def _missed(self, call: BackwardCall, hooks: list[tuple[Ref, Hook]]) -> set[Ref]:
        """Those of some hooks that a call may not come by: a gradient of zeros may stay undefined."""
        if not hooks:
            return set()
        given = dict(self.reference.firings(call))
        return {handle for handle, _ in hooks if handle not in given or np.abs(given[handle]).max(initial=0) < ZERO}

    def _unused(self, call: BackwardCall, traversal: Traversal) -> dict[Kind, str]:
        if not isinstance(call, Grad) or call.allow_unused or call.materialize_grads:
            return {}
        edge = self.reference.edge
        unused = any(edge(r) not in traversal.must_reach and edge(r) not in traversal.may_fire for r in call.inputs)
        return {Kind.UNUSED_INPUT: "functional/unused-raises"} if unused else {}

    def _after_refusal(self) -> tuple[str, ...]:
        return ("errors/refusal-keeps-gradients",) if any(self.grads.values()) else ()

    def _gone(self, call: BackwardCall, traversal: Traversal, gone: Sequence[Node]) -> tuple[str, ...]:
        """The rules that make this call raise, the most specific first."""
        rules = ["lifetime/late-retain-raises"] if call.retain_graph else []
        if any(node.was_retained for node in gone):
            rules.append("lifetime/last-call-frees")
        if isinstance(call, Grad):
            rules.append("functional/frees")
        if carries_state(self, traversal, gone):
            rules.append("recurrent/carried-state")
        repeated = any(self.reference.edge(root) in self.roots for root in call.roots)
        rules.append("lifetime/same-root-raises" if repeated else "lifetime/freed-subgraph-raises")
        if any(node.freed is Certainty.ALWAYS and self._freed_by_default(node) for node in gone):
            rules.append("lifetime/default-frees")
        return tuple(rules)

    def _freed_by_default(self, node: Node) -> bool:
        return node.freed_by is not None and node.freed_by in self.by_default

    def _why_returns(self, exercises: Sequence[str]) -> str:
        """The most specific of the rules by which a call must return."""
        specific = (
            "errors/refusal-keeps-graph", "errors/recovers", "recurrent/detached-state", "detach/keeps-source",
            "writes/unsaved", "writes/recorded", "modes/", "functional/", "higher/", "lifetime/",
        )  # fmt: skip
        for prefix in specific:
            for rule in exercises:
                if rule.startswith(prefix) and rule != "lifetime/nothing-saved":
                    return rule
        return "errors/legal-returns"

    # -- what did happen ----------------------------------------------------------------------------------------------

    def advance(
        self, at: int, step: Instruction, expectation: Expectation, seen: StepObservation, modes: Modes = ()
    ) -> None:
        """Take the outcome that was observed and go on from there."""
        match step:
            case Leaf():
                self.leaves[Ref(at)] = step
            case Detach(source):
                self.detached[Ref(at)] = source
            case ReadGrad() if isinstance(seen.outcome, Returned):
                self._held_as(Ref(at))
            case SetRequiresGrad(target, True) if isinstance(seen.outcome, Returned):
                self.detached.pop(target, None)
            case Apply() if not is_recorded(modes):
                self.unrecorded.update(Ref(at, k) for k in range(step.results))
            case Backward() | Grad():
                self._walked(at, step, expectation, seen.outcome)
            case Step() if isinstance(seen.outcome, Returned):
                for leaf in step.leaves:
                    self.moved.setdefault((step, leaf), []).append(self.grads.get(leaf) is not None)
        if isinstance(seen.outcome, Raised):
            self.failed = True
        if seen.gradients:
            self.actions += 1
            self.grads = dict(seen.gradients)

    def _held_as(self, made: Ref) -> None:
        """A gradient taken as a value is one object with others: it holds what they do."""
        reference = self.reference
        for other in reference.same_objects([made]):
            if self.grads.get(other) is not None:
                self.grads[made] = self.grads[other]
            if other in reference.storages.deleted and other in reference.retained | reference.captured_inputs:
                reference.storages.unspecified.add(made)  # what it holds was seen under a name that is gone

    def _walked(self, at: int, call: BackwardCall, expectation: Expectation, outcome: Outcome) -> None:
        if isinstance(outcome, Skipped):
            return
        if isinstance(call, Backward) and call.inputs is not None:
            self.reference.captured_inputs.update(r for r in call.inputs if not self.reference.is_leaf(r))
        if isinstance(outcome, Raised) and outcome.kind in expectation.raises and outcome.kind not in ON_THE_WAY:
            self.refused.update(map(self.reference.edge, call.roots))
            return
        for root in call.roots:
            self.roots[self.reference.edge(root)] = at
        if call.retain_graph is None and not call.create_graph:
            self.by_default.add(at)
        for node in expectation.traversal.maybe_nodes:
            if not call.retains and node.freed is Certainty.NEVER:
                node.freed, node.freed_by = Certainty.MAYBE, at
        for node in expectation.traversal.nodes:
            node.walks += 1
            if call.retains:
                node.was_retained = True
            elif isinstance(outcome, Returned) and self.frees and node not in expectation.traversal.partial_nodes:
                node.freed, node.freed_by = Certainty.ALWAYS, at
            elif node.freed is Certainty.NEVER:
                node.freed, node.freed_by = Certainty.MAYBE, at
