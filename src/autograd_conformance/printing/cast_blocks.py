"""The blocks of autocast of a program, as code: successive lines of a block share its context manager, which may keep
casts.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs.language import CAST_MODES, GRAD_MODES, Program, of_kind


def cast_blocks(program: Program, dialect: Dialect) -> Sequence[tuple[str, ...]]:
    """Returns the lines before each instruction that leave blocks and enter others, and those after the last one."""
    entered: list[tuple[str, str]] = []
    found: list[tuple[str, ...]] = []
    count = 0
    for at in range(len(program) + 1):
        modes, lines = of_kind(program.mode(at), CAST_MODES), []
        common = next(
            (k for k, (mode, (old, _)) in enumerate(zip(modes, entered, strict=False)) if mode != old),
            min(len(modes), len(entered)),
        )
        while len(entered) > common:
            lines.append(f"{entered.pop()[1]}.__exit__(None, None, None)")
        for mode in modes[common:]:
            count += 1
            name = f"cast{count if count > 1 else ''}"
            entered.append((mode, name))
            lines += [f"{name} = {dialect.modes[mode]}", f"{name}.__enter__()"]
        found.append(tuple(lines))
    return found


def without_casts(program: Program) -> Program:
    """Returns a program without its blocks of autocast."""
    return Program(program.instructions, tuple(of_kind(modes, GRAD_MODES) for modes in program.modes))
