"""A model of the tape: for each instruction, the set of outcomes that the rules allow, each with the rule that it
rests on.

The model walks a program beside an observation. `expect` says what may happen at an instruction; `advance` takes what
did happen and goes on from there, so that a choice that the rules leave open never desynchronises the two.

What it keeps: which values require grad; for each recorded op a `Node` with its operands and whether what it saved
has been freed, surely or perhaps; and the gradient that each leaf was last seen to hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rules.exercises import exercised
from rules.graph import Expectation, Freed, Node, Walk
from rules.language import Apply, AssignGrad, Backward, Detach, Held, Instruction, Leaf, Ref, Step, ZeroGrad
from rules.memory import Memory
from rules.observations import Gradient, Kind, NotRun, Outcome, Raised, Returned, Seen
from rules.ops import OPS, Saves

ON_THE_WAY = (Kind.GRAPH_FREED, Kind.MODIFIED)
"""The errors that a call meets while it walks; all others are found before it begins."""


class Tape:
    """The model's state; `shapes` gives the shape of every value, `frees` whether the framework claims to free
    graphs.
    """

    def __init__(self, shapes: Mapping[Ref, np.ndarray], frees: bool = True) -> None:
        self.arrays = shapes
        self.frees = frees
        self.requires_grad: dict[Ref, bool] = {}
        self.nodes: dict[int, Node] = {}
        self.leaves: dict[Ref, Leaf] = {}
        self.detached: dict[Ref, Ref] = {}
        self.held: dict[Ref, Gradient | None] = {}
        self.roots: dict[Ref, int] = {}
        self.by_default: set[int] = set()
        self.refused: set[Ref] = set()
        self.memory = Memory()
        self.history: dict[Ref, int] = {}

    # -- what may happen ----------------------------------------------------------------------------------------------

    def expect(self, at: int, step: Instruction) -> Expectation:
        """The outcomes that the rules allow for instruction `at`."""
        match step:
            case Leaf():
                return Expectation()
            case Apply():
                return Expectation(exercises=("gradients/forward", "gradients/requires-grad", "errors/legal-returns"))
            case Detach():
                return Expectation(exercises=("detach/values", "errors/legal-returns"))
            case ZeroGrad(leaves, set_to_none):
                return Expectation(exercises=self._clearing(leaves, set_to_none))
            case Held(leaf):
                free = {} if self.held.get(leaf) is not None else {Kind.UNKNOWN: "errors/legal-returns"}
                return Expectation(raises=free)
            case AssignGrad():
                return Expectation(exercises=("accumulation/assigned",))
            case Step(leaves):
                moves = any(self.held.get(leaf) is not None for leaf in leaves)
                return Expectation(exercises=("writes/step",) if moves else ())
            case Backward():
                return self._backward(at, step)

    def _clearing(self, leaves: Sequence[Ref], set_to_none: bool) -> tuple[str, ...]:
        if not any(self.held.get(leaf) is not None for leaf in leaves):
            return ()
        return ("accumulation/zero-to-none" if set_to_none else "accumulation/zero-to-zeros",)

    def _backward(self, at: int, call: Backward) -> Expectation:
        walk = self.walk(call.roots)
        refusals = self._refusals(call)
        gone = [node for node in walk.nodes if node.surely_gone] if self.frees else []
        if refusals:
            raises = dict(refusals)
            if any(node.freed for node in walk.nodes):
                raises.setdefault(Kind.GRAPH_FREED, "lifetime/same-root-raises")
            exercises = tuple(dict.fromkeys(refusals.values())) + self._after_refusal()
            return Expectation(None, raises, exercises, walk)
        if gone:
            rules = self._gone(call, walk, gone)
            exercises = rules + (("errors/not-torn",) if walk.leaves else ())
            return Expectation(None, {Kind.GRAPH_FREED: rules[0], **self._modified(walk)}, exercises, walk)
        raises = self._modified(walk)
        if any(node.freed for node in (*walk.nodes, *walk.perhaps)):
            raises[Kind.GRAPH_FREED] = "lifetime/nothing-saved"
        exercises = exercised(self, call, walk)
        return Expectation(self._why_returns(exercises), raises, exercises, walk)

    def _modified(self, walk: Walk) -> dict[Kind, str]:
        """The error that may be raised because a value that a derivative may need was written to since."""
        stale = (n for n in (*walk.nodes, *walk.perhaps) if n.saves is not Saves.NEVER and self.memory.stale(n))
        return {Kind.MODIFIED: "writes/error-or-recorded"} if any(stale) else {}

    def _refusals(self, call: Backward) -> dict[Kind, str]:
        """The reasons to refuse a call for its arguments alone. Which of several is named first is not specified."""
        found: dict[Kind, str] = {}
        for root, ct in zip(call.roots, call.cotangents, strict=True):
            shape = np.shape(self.arrays[root])
            if not self.requires_grad[root]:
                found[Kind.NO_GRAD] = self._rootless(root)
            if ct is None and self.arrays[root].size != 1:
                found[Kind.NON_SCALAR_ROOT] = "errors/non-scalar-root"
            if ct is not None and ct.shape != shape:
                found[Kind.COTANGENT_SHAPE] = "errors/cotangent-shape"
        return found

    def _rootless(self, root: Ref) -> str:
        if root in self.detached:
            return "detach/root-raises"
        return "higher/plain-raises" if root in self.memory.taken else "errors/no-grad-root"

    def _after_refusal(self) -> tuple[str, ...]:
        return ("errors/refusal-keeps-gradients",) if any(self.held.values()) else ()

    def _gone(self, call: Backward, walk: Walk, gone: Sequence[Node]) -> tuple[str, ...]:
        """The rules that make this call raise, the most specific first."""
        rules = ["lifetime/late-retain-raises"] if call.retain_graph else []
        if any(node.was_retained for node in gone):
            rules.append("lifetime/last-call-frees")
        repeated = any(self.roots.get(root) is not None for root in call.roots)
        rules.append("lifetime/same-root-raises" if repeated else "lifetime/freed-subgraph-raises")
        if any(node.freed is Freed.SURELY and self._freed_by_default(node) for node in gone):
            rules.append("lifetime/default-frees")
        return tuple(rules)

    def _freed_by_default(self, node: Node) -> bool:
        return node.freed_by is not None and node.freed_by in self.by_default

    def _why_returns(self, exercises: Sequence[str]) -> str:
        """The most specific of the rules by which a call must return."""
        specific = ("errors/refusal-keeps-graph", "detach/keeps-source", "writes/unsaved", "higher/", "lifetime/")
        for prefix in specific:
            for rule in exercises:
                if rule.startswith(prefix) and rule != "lifetime/nothing-saved":
                    return rule
        return "errors/legal-returns"

    # -- walking the graph --------------------------------------------------------------------------------------------

    def walk(self, roots: Iterable[Ref]) -> Walk:
        """Everything that a backward call from `roots` goes through."""
        uses: dict[Ref, int] = {}
        leaves: set[Ref] = set()
        nodes: list[Node] = []
        perhaps: list[Node] = []
        pending = {r.at for r in roots if self.requires_grad.get(r) and r.at in self.nodes}
        certain = set(pending)
        leaves.update(r for r in roots if r in self.leaves and self.requires_grad[r])
        while pending:
            node = self.nodes[max(pending)]
            pending.discard(node.at)
            surely = node.at in certain
            (nodes if surely else perhaps).append(node)
            for r in node.args:
                if not self.requires_grad[r]:
                    continue
                uses[r] = uses.get(r, 0) + 1
                if r.at in self.nodes:
                    pending.add(r.at)
                    if surely and not node.derivative:
                        certain.add(r.at)
                else:
                    leaves.add(r)
        return Walk(tuple(nodes), frozenset(leaves), uses, tuple(perhaps))

    # -- what did happen ----------------------------------------------------------------------------------------------

    def advance(self, at: int, step: Instruction, expectation: Expectation, seen: Seen) -> None:
        """Take the outcome that was observed and go on from there."""
        returned = isinstance(seen.outcome, Returned)
        self.memory.advance(at, step, expectation.walk.leaves, self.held)
        match step:
            case Leaf(_, requires_grad):
                self.leaves[Ref(at)] = step
                self.requires_grad[Ref(at)] = requires_grad
            case Apply(op, args, attrs, results):
                requires = any(self.requires_grad.get(r, False) for r in args)
                if requires and returned:
                    saves = OPS[op].saving([self.requires_grad.get(r, False) for r in args])
                    empty = not any(self.arrays[Ref(at, k)].size for k in range(results))
                    if saves is Saves.SURELY and empty:
                        saves = Saves.PERHAPS  # a derivative without elements needs nothing, whatever is kept
                    self.nodes[at] = Node(at, op, attrs, args, results, saves)
                for k in range(results):
                    self.requires_grad[Ref(at, k)] = requires
            case Detach(source):
                self.requires_grad[Ref(at)] = False
                self.detached[Ref(at)] = source
            case Held(leaf):
                plain = returned and any(v.requires_grad is False for v in seen.outcome.values)  # type: ignore[union-attr]
                recorded = leaf in self.history and not plain
                self.requires_grad[Ref(at)] = recorded
                if recorded:
                    self.nodes[at] = Node(at, "held", (), (Ref(self.history[leaf]),), 1, Saves.NEVER)
            case AssignGrad(leaf, given):
                self.history.pop(leaf, None)
                if given is not None and self.requires_grad[given]:
                    self.memory.confused = True
            case ZeroGrad(leaves):
                for leaf in leaves:
                    self.history.pop(leaf, None)
            case Backward():
                self._walked(at, step, expectation, seen.outcome)
        if isinstance(step, (Backward, ZeroGrad, AssignGrad, Step)):
            self.held = dict(seen.gradients)

    def _walked(self, at: int, call: Backward, expectation: Expectation, outcome: Outcome) -> None:
        if isinstance(outcome, NotRun):
            return
        if isinstance(outcome, Raised) and outcome.kind in expectation.raises and outcome.kind not in ON_THE_WAY:
            self.refused.update(call.roots)
            return
        if isinstance(outcome, Returned):
            self._differentiable(at, call, expectation.walk)
        for root in call.roots:
            self.roots[root] = at
        if call.retain_graph is None and not call.create_graph:
            self.by_default.add(at)
        for node in expectation.walk.perhaps:
            if not call.retains and node.freed is Freed.NO:
                node.freed, node.freed_by = Freed.PERHAPS, at
        for node in expectation.walk.nodes:
            node.walks += 1
            if call.retains:
                node.was_retained = True
            elif isinstance(outcome, Returned) and self.frees:
                node.freed, node.freed_by = Freed.SURELY, at
            elif node.freed is Freed.NO:
                node.freed, node.freed_by = Freed.PERHAPS, at

    def _differentiable(self, at: int, call: Backward, walk: Walk) -> None:
        """Whether the gradients that a call leaves have a history, and what it is."""
        if not call.create_graph:
            self.memory.muddled.update(leaf for leaf in walk.leaves if self.history.pop(leaf, None) is not None)
            return
        results = (Ref(node.at, k) for node in walk.nodes for k in range(node.results))
        operands = [*results, *(r for node in walk.nodes for r in node.args if self.requires_grad[r])]
        operands += [Ref(self.history[leaf]) for leaf in walk.leaves if leaf in self.history]
        args = tuple(dict.fromkeys(operands))
        self.nodes[at] = Node(at, "derivative", (), args, 0, Saves.PERHAPS, derivative=True)
        self.requires_grad[Ref(at)] = True
        self.history.update(dict.fromkeys(walk.leaves, at))
