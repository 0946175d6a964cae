"""Why each step forces the expected outcome: a violation's story as data, one remark per line of the program.

The tape model is walked once more, with every instruction up to the failing one taken to have done what was observed,
and the steps that matter for the verdict say their part. Lines count from 1, as in the printed code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from rules.catalogue import Needs
from rules.following import take
from rules.graph import Expectation, Freed, Node
from rules.language import Apply, Backward, Detach, Leaf, Program, Ref, ZeroGrad
from rules.observations import NotRun, Observation, Raised, Returned
from rules.ops import Saves
from rules.reference.values import Reference
from rules.tape import Tape
from rules.text import names
from rules.verdicts import Violation

Remarks = list[tuple[int, str]]


def explain(
    program: Program, observation: Observation, reference: Reference, claims: Collection[Needs], violation: Violation
) -> Remarks:
    """The remarks that lead to a violation, in the order of the program's lines."""
    tape, expectation = retraced(program, observation, reference, claims, violation.at)
    story = _Story(program, observation, tape, violation, expectation)
    return [*story.before(), (violation.at + 1, story.verdict(tape.reference))]


def retraced(
    program: Program, observation: Observation, reference: Reference, claims: Collection[Needs], until: int
) -> tuple[Tape, Expectation]:
    """The tape before instruction `until`, and what may happen there; `reference` follows where it has to."""
    if program.stateful:
        reference = Reference()
        reference.observing = True
    tape = Tape(reference, Needs.FREES in claims)
    expectation = Expectation()
    for at in range(until + 1):
        step, seen, modes = program[at], observation[at], program.mode(at)
        if not isinstance(seen.outcome, NotRun):
            expectation = tape.expect(at, step, modes)
        if at == until:
            break
        if program.stateful:
            take(reference, at, step, modes, seen)
        if not isinstance(seen.outcome, NotRun):
            tape.advance(at, step, expectation, seen, modes)
    return tape, expectation


class _Story:
    def __init__(
        self, program: Program, observation: Observation, tape: Tape, violation: Violation, expectation: Expectation
    ) -> None:
        self.program, self.observation, self.tape = program, observation, tape
        self.violation, self.expectation = violation, expectation
        self.names = names(program)
        self.walked = {node.at: node for node in expectation.walk.nodes}

    def before(self) -> Remarks:
        """What the earlier lines contribute."""
        remarks: Remarks = []
        for at in range(self.violation.at):
            text = self._remark(at)
            if text:
                remarks.append((at + 1, text))
        return remarks

    def _remark(self, at: int) -> str | None:
        step = self.program[at]
        if isinstance(self.program[self.violation.at], (Apply, Leaf)):
            return None
        match step:
            case Leaf(_, requires_grad) if Ref(at) == self.violation.subject and not requires_grad:
                return f"{self.names[Ref(at)]} requires no grad."
            case Apply() if at in self.walked and self._lifetime():
                return _saved(self.walked[at])
            case Detach(source) if "detach" in self.violation.rule:
                return f"{self.names[Ref(at)]} has the values of {self.names[source]} and no history."
            case Backward():
                return self._call(at, step)
            case ZeroGrad(leaves, set_to_none) if self.violation.subject in leaves:
                return (
                    f"clears {self.names[self.violation.subject]}'s gradient to {'none' if set_to_none else 'zeros'}."  # type: ignore[index]
                )
        return None

    def _lifetime(self) -> bool:
        return self.violation.rule.startswith(("lifetime/", "errors/", "memory/"))

    def _call(self, at: int, call: Backward) -> str | None:
        """An earlier backward call: what it freed, kept or added."""
        if not isinstance(self.observation[at].outcome, Returned):
            return "is refused, and leaves the graph and the gradients as they were." if self._lifetime() else "raises."
        shared = [n for n in self.tape.walk(call).nodes if n.at in self.walked]
        parts = []
        if shared and self._lifetime():
            where = _lines(n.at for n in shared)
            freed = any(n.freed_by == at for n in shared)
            kept = "retain_graph=True keeps what they saved"
            parts.append(
                f"walks {where}; "
                + ("it does not retain the graph, so what they saved is freed." if freed else f"{kept}.")
            )
        subject = self.violation.subject
        gradient = None if subject is None else self.observation[at].gradients.get(subject)
        if gradient is not None and self.violation.held is not None:
            parts.append(f"leaves {self.names[subject]}'s gradient at {shown(gradient.value)}.")  # type: ignore[index]
        return " ".join(parts) or None

    def verdict(self, reference: Reference) -> str:
        """Why the failing line has to do what it did not."""
        violation, step = self.violation, self.program[self.violation.at]
        if violation.rule.startswith("memory/"):
            return f"as the graphs stand now, {violation.allowed[0][0]}, but {violation.observed}."
        subject = None if violation.subject is None else self.names[violation.subject]
        if not isinstance(step, Backward):
            if violation.want is not None:
                return f"by definition {subject} is {shown(violation.want)}, but it is {shown(violation.got)}."
            return f"must give: {violation.allowed[0][0]}."
        if violation.want is not None:
            return self._sum(subject, violation, reference, step)
        if violation.rule == "accumulation/own-object":
            return (
                f"must give every leaf a gradient of its own; what is later added to one is added to {subject}'s too."
            )
        if subject is not None and isinstance(self.observation[violation.at].outcome, Raised):
            left = f"{subject} held {shown(violation.held)} and is left with {shown(violation.got)}"
            return f"raises, as it may, but then {violation.allowed[0][0]}: {left}."
        if self.expectation.returns is None:
            return self._must_raise(step)
        if violation.got is not None or violation.held is not None or "gradient" in violation.observed:
            held, got = shown(violation.held), shown(violation.got)
            return f"does not reach {subject}: its gradient has to stay {held}, but it is {got}."
        return self._must_return()

    def _sum(self, subject: str | None, violation: Violation, reference: Reference, call: Backward) -> str:
        assert violation.subject is not None
        due = reference.pullback(call).get(reference.slot(violation.subject))
        path = [n.at for n in self.expectation.walk.nodes]
        way = f"through {_lines(path)} " if path else ""
        before = "held no gradient" if violation.held is None else f"held {shown(violation.held)}"
        return (
            f"reaches {subject} {way}and contributes {shown(due)}; {subject} {before}, "
            f"so it has to hold {shown(violation.want)}, but it holds {shown(violation.got)}."
        )

    def _must_raise(self, call: Backward) -> str:
        gone = [
            node for node in self.expectation.walk.nodes if node.freed is Freed.SURELY and node.saves is Saves.SURELY
        ]
        kinds = " or ".join(kind.value for kind in self.expectation.raises)
        if gone and all("freed" in kind.value for kind in self.expectation.raises):
            by = _lines(n.freed_by for n in gone if n.freed_by is not None)
            late = " retain_graph=True asks to keep the graph, it cannot bring it back." if call.retain_graph else ""
            return (
                f"has to walk {_lines(n.at for n in gone)} again, but {by} freed what they saved: it must raise.{late}"
            )
        return f"must be refused ({kinds})."

    def _must_return(self) -> str:
        nodes = self.expectation.walk.nodes
        if not nodes:
            return "is legal: it must return."
        again = any(n.walks for n in nodes)
        state = "every call so far retained it" if again else "no call walked it before"
        return f"walks {_lines(n.at for n in nodes)}; {state}, so nothing that it needs is freed: it must return."


def _saved(node: Node) -> str | None:
    if node.saves is Saves.SURELY:
        return f"{node.op} saves values that its derivative needs."
    if node.saves is Saves.NEVER:
        return f"{node.op} needs nothing saved."
    return None


def _lines(at: Iterable[int]) -> str:
    numbers = sorted({n + 1 for n in at})
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    return "lines " + ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}"


def shown(value: np.ndarray | None) -> str:
    """An array on one line, in as many digits as tell two results apart; `none` where there is none."""
    if value is None:
        return "none"
    with np.printoptions(precision=10, threshold=12, linewidth=10_000):
        return np.array2string(np.asarray(value), separator=", ").replace("\n", "")
