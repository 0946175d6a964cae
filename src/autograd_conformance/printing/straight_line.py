"""The lines of a program before loops are found, with optimizers as values that their steps read."""

from __future__ import annotations

from autograd_conformance.printing.loop_nodes import Line, OptimizerObject, Value
from autograd_conformance.programs.language import (
    AssignGrad,
    Backward,
    Grad,
    Instruction,
    Leaf,
    Modes,
    Optimizer,
    Program,
    Ref,
    SetRequiresGrad,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.operands import clearing_optimizer, operands, results, same_optimizer


def straight_lines(program: Program) -> list[Line]:
    """Returns the lines of a program before loops are found. One line makes each optimizer, and lines that call an
    optimizer's methods read it as a value.

    An optimizer that a step would make is made right after its leaves, if nothing can change them before the step.
    """
    makers: list[tuple[Optimizer | Step, OptimizerObject]] = []
    found: list[Line] = []
    early = _early(program)

    def add(
        step: Instruction, at: int | None, made: tuple[Value, ...], modes: Modes, by: OptimizerObject | None = None
    ) -> None:
        reads: tuple[Value, ...] = operands(step) if by is None else (by,)
        found.append(Line(step, reads, made, modes, {(): len(found)}, at, by is not None))

    def make(step: Optimizer | Step, at: int | None, modes: Modes) -> None:
        makers.append((step, OptimizerObject(len(makers))))
        optimizer = Optimizer(step.leaves, step.optimizer, step.settings, step.groups)
        add(optimizer, at, (makers[-1][1],), modes)

    def maker(step: Optimizer | Step) -> OptimizerObject | None:
        return next((ref for other, ref in makers if same_optimizer(other, step)), None)

    for at, step in enumerate(program):
        modes = program.mode(at)
        match step:
            case Optimizer():
                if maker(step) is None:
                    make(step, at, modes)
            case Step():
                if maker(step) is None:
                    make(step, None, modes)
                add(step, at, (), modes, maker(step))
            case ZeroGrad(leaves):
                explicit = clearing_optimizer(step, program.instructions[:at])
                by = maker(explicit) if explicit else None
                if explicit is None and (step.set_to_none or not _differentiated(program)):
                    by = next((ref for other, ref in makers if other.leaves == leaves), None)
                add(step, at, (), modes, by)
            case _:
                add(step, at, tuple(Ref(at, k) for k in range(results(step))), modes)
                for early_step in early.get(at, ()):
                    make(early_step, None, ())
    return found


def _early(program: Program) -> dict[int, list[Step]]:
    """For the number of each instruction, returns the optimizer steps whose optimizer can be constructed right after
    that instruction: all its leaves exist and require grad, and nothing sets their `requires_grad`.
    """
    found: dict[int, list[Step]] = {}
    freed = {step.target for step in program if isinstance(step, SetRequiresGrad)}
    known: list[Optimizer | Step] = []
    for step in program:
        if isinstance(step, (Optimizer, Step)) and not any(same_optimizer(step, other) for other in known):
            known.append(step)
            leaves = [(r, program[r.at]) for r in step.leaves]
            if isinstance(step, Step) and all(
                isinstance(leaf, Leaf) and leaf.requires_grad and r not in freed for r, leaf in leaves
            ):
                found.setdefault(max(r.at for r in step.leaves), []).append(step)
    return found


def _differentiated(program: Program) -> bool:
    """Whether some gradient in a program may require grad; an optimizer that clears such a gradient to zeros detaches
    it.
    """
    creating = (step for step in program if isinstance(step, (Backward, Grad)))
    return any(step.create_graph for step in creating) or any(isinstance(step, AssignGrad) for step in program)
