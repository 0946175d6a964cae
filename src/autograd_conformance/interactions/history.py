"""The state of each value of a program, its memory and its gradient. It follows from the program alone, as if each
call returned; no observation is needed, so that a program can be measured while it is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable

from autograd_conformance.interactions.facts import bits, facts_in
from autograd_conformance.interactions.options import class_of
from autograd_conformance.ops.tables import VIEWS
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
    Instruction,
    Leaf,
    Modes,
    ReadGrad,
    Ref,
    RemoveHook,
    RetainGrad,
    SetRequiresGrad,
    Step,
    ZeroGrad,
    is_recorded,
)

OFTEN = 3
"""Number of uses from which on a value counts as used often."""


class History:
    """The state of each value of a program, as facts; `facts` returns those of a value, `record` adds an
    instruction.
    """

    def __init__(self) -> None:
        self.own: dict[Ref, int] = {}
        """The facts of each value itself, as bits: its origin, and what was done to it or to its gradient."""
        self.memory: dict[Ref, Ref] = {}
        """For each value, the first value that has its memory."""
        self.shared: dict[Ref, int] = {}
        """The facts of each memory, as bits, by its first value: that it has several names, and that it was written."""
        self.sources: dict[Ref, tuple[Ref, ...]] = {}
        """For each recorded result, the operands that require grad."""
        self.uses: dict[Ref, int] = {}
        """How often each value was an operand."""
        self.handles: dict[Ref, Ref] = {}
        """For each handle of a hook, the value that has the hook."""
        self.requires: set[Ref] = set()
        """The values that require grad."""

    def facts(self, ref: Ref) -> frozenset[str]:
        """Returns the facts of a value: its origin, its memory, its uses, its place in the graph and its gradient."""
        return facts_in(self.bits(ref))

    def bits(self, ref: Ref) -> int:
        """Returns the facts of a value as bits."""
        found = self.own.get(ref, 0) | self.shared.get(self.memory.get(ref, ref), 0)
        if ref not in self.requires:
            found |= CONSTANT
        return found | USED_OFTEN if self.uses.get(ref, 0) >= OFTEN else found

    def walked(self, call: BackwardCall) -> list[Ref]:
        """Returns the values whose nodes a call walks, its roots first, as far as the program alone shows it."""
        found: dict[Ref, None] = {}
        pending = list(call.roots)
        while pending:
            ref = pending.pop()
            if ref not in found and ref in self.requires:
                found[ref] = None
                pending.extend(self.sources.get(ref, ()))
        if call.inputs is None:
            return list(found)
        reached = self._above({*call.inputs})
        return [ref for ref in found if ref in reached]

    def _above(self, inputs: set[Ref]) -> set[Ref]:
        """Returns the inputs, and the values that depend on one. After a write, a value may depend on itself."""
        users: dict[Ref, list[Ref]] = {}
        for made, sources in self.sources.items():
            for source in sources:
                users.setdefault(source, []).append(made)
        found, pending = set[Ref](), list(inputs)
        while pending:
            ref = pending.pop()
            if ref not in found:
                found.add(ref)
                pending.extend(users.get(ref, ()))
        return found

    def record(self, at: int, step: Instruction, modes: Modes, read: Iterable[Ref]) -> None:
        """Add an instruction, which reads these operands."""
        for ref in read:
            self.uses[ref] = self.uses.get(ref, 0) + 1
        made = Ref(at)
        match step:
            case Leaf():
                self._make(made, bits("is a leaf") | _of_shape(step.value.shape), step.requires_grad)
            case Apply():
                self._record_op(at, step, modes)
            case Detach(source):
                self._make(made, bits("detached"), False)
                self._share(made, source, "has a detached name")
            case ReadGrad(leaf):
                self._make(made, bits("read gradient"), self._has(leaf, "differentiable gradient"))
            case Grad():
                for output, _ in enumerate(step.inputs):
                    self._make(Ref(at, output), bits("returned gradient"), step.create_graph)
                self._call(step)
            case Backward():
                self._call(step)
            case InPlace():
                self._write(step, modes)
            case _:
                self._act(made, step)

    def _act(self, made: Ref, step: Instruction) -> None:
        """Add an instruction that neither computes nor differentiates."""
        match step:
            case DetachInPlace(target):
                self._mark([target], "detached in place")
                self._unmark([target], "result")
                self.requires.discard(target)
                self.sources.pop(target, None)
            case SetRequiresGrad(target, on):
                self._mark([target], "thawed" if on else "frozen")
                (self.requires.add if on else self.requires.discard)(target)
            case RetainGrad(target):
                self._mark([target], "retains grad")
            case Hook(target):
                self.handles[made] = target
                self._mark_again(target, "hooked")
            case RemoveHook(handle):
                self._mark([self.handles.get(handle, handle)], "hook removed")
            case ZeroGrad(leaves, to_none):
                self._unmark(leaves, "holds gradient", "differentiable gradient", "clipped gradient")
                self._mark(leaves, "cleared gradient" if to_none else "gradient of zeros")
            case AssignGrad(leaf):
                self._mark([leaf], "assigned gradient")
            case Step():
                for leaf in step.leaves:
                    self._mark_again(leaf, "stepped")
                    self.shared[self.memory.get(leaf, leaf)] |= bits("written by a step")
            case Clip(leaves):
                self._mark(leaves, "clipped gradient")
            case Delete(values):
                self._mark(values, "deleted")
            case _:
                return

    def _record_op(self, at: int, step: Apply, modes: Modes) -> None:
        classes, recorded = bits(*class_of(step.op)) & RESULT_CLASSES, is_recorded(modes)
        sources = tuple(dict.fromkeys(ref for ref in step.args if ref in self.requires)) if recorded else ()
        for output in range(step.results):
            made = Ref(at, output)
            origin = "result" if sources else "unrecorded" if not recorded else "of constants"
            self._make(made, bits(origin) | classes, bool(sources))
            if sources:
                self.sources[made] = sources
            if step.op in VIEWS:
                self._mark([made], "view")
                self._share(made, step.args[0], "has a view")
            for ref in step.args:
                self.own[made] |= self.own.get(ref, 0) & INHERITED

    def _write(self, step: InPlace, modes: Modes) -> None:
        recorded = is_recorded(modes)
        memory = self.memory.get(step.target, step.target)
        self.shared[memory] = self.shared.get(memory, 0) | bits("written" if recorded else "written unrecorded")
        self._mark([step.target], "written by this name")
        sources = [ref for ref in (step.target, *step.args) if ref in self.requires]
        if recorded and sources:
            self.requires.add(step.target)
            before = self.sources.get(step.target, ())
            self.sources[step.target] = tuple(dict.fromkeys((*before, *(s for s in sources if s != step.target))))

    def _call(self, call: BackwardCall) -> None:
        walked = self.walked(call)
        for ref in walked:
            self._mark_again(ref, "walked")
        self._mark(walked, "retained" if call.retains else "freed")
        if isinstance(call, Backward):
            into = walked if call.inputs is None else call.inputs
            holders = [each for each in into if self._holds(each, call)]
            self._mark(holders, "holds gradient", *(["differentiable gradient"] if call.create_graph else []))
            self._unmark(holders, "cleared gradient", "gradient of zeros")

    def _holds(self, ref: Ref, call: Backward) -> bool:
        """Whether a call leaves a gradient in a value that it reaches."""
        return call.inputs is not None or not self.sources.get(ref) or self._has(ref, "retains grad")

    def _make(self, made: Ref, facts: int, requires: bool) -> None:
        self.own[made], self.memory[made], self.shared[made] = facts, made, 0
        if requires:
            self.requires.add(made)

    def _share(self, made: Ref, source: Ref, fact: str) -> None:
        """Record that a new value has the memory of another one."""
        self.memory[made] = first = self.memory.get(source, source)
        self.shared[first] = self.shared.get(first, 0) | bits(fact)

    def _has(self, ref: Ref, fact: str) -> bool:
        """Whether a fact holds of a value itself."""
        return bool(self.own.get(ref, 0) & bits(fact))

    def _mark(self, refs: Iterable[Ref], *facts: str) -> None:
        added = bits(*facts)
        for ref in refs:
            self.own[ref] = self.own.get(ref, 0) | added

    def _mark_again(self, ref: Ref, fact: str) -> None:
        """Record something that happens to a value: the first time as the fact itself, later as the fact "again"."""
        once, again, own = bits(fact), bits(f"{fact} again"), self.own.get(ref, 0)
        self.own[ref] = own & ~once | (again if own & (once | again) else once)

    def _unmark(self, refs: Iterable[Ref], *facts: str) -> None:
        kept = ~bits(*facts)
        for ref in refs:
            self.own[ref] = self.own.get(ref, 0) & kept


CONSTANT, USED_OFTEN = bits("requires no grad"), bits("used often")
"""Facts of a value that follow from its place in the graph, and from its uses."""

INHERITED = bits("no elements", "returned gradient", "read gradient")
"""Facts of an operand that its results have, too."""

RESULT_CLASSES = bits("several results", "overlapping result")
"""Facts of an op that its results have, too."""


def _of_shape(shape: tuple[int, ...]) -> int:
    elements = 1
    for each in shape:
        elements *= each
    if not elements:
        return bits("no elements")
    return bits("a number") if not shape else bits("one element") if elements == 1 else 0
