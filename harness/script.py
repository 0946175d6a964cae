"""A standalone script: the failing program with the framework alone, and a last line that shows what is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rules.dialect import Dialect, code
from rules.language import Backward, Leaf, Program, Step, ZeroGrad, results
from rules.observations import Observation, Raised
from rules.text import names
from rules.verdicts import Violation


def script(
    program: Program, observation: Observation, violation: Violation, dialect: Dialect | None, replay: str
) -> str:
    """Code that can be pasted and run; without a dialect, the command that replays the program."""
    if dialect is None:
        return f"# This framework has no printed form of its own; replay the program with:\n{replay}\n"
    lines = [dialect.prelude, ""]
    for at, line in enumerate(code(program, dialect)[: violation.at + 1]):
        expected = at < violation.at and isinstance(observation[at].outcome, Raised)
        if expected:
            lines += ["try:", f"    {line}", f"except {dialect.error}:", "    pass  # it has to raise, and does"]
        elif at == violation.at:
            failed = violation.subject is not None and isinstance(observation[at].outcome, Raised)
            lines += (_left if failed else _last)(program, violation, line, dialect)
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def _last(program: Program, violation: Violation, line: str, dialect: Dialect) -> list[str]:
    name = names(program)
    must_raise = [text for text, _ in violation.allowed if text.startswith("raises")]
    returns = any(text.startswith("return") for text, _ in violation.allowed)
    if must_raise and not returns:
        wanted = " or ".join(text.removeprefix("raises: ") for text in must_raise)
        return [
            "try:",
            f"    {line}",
            f"except {dialect.error} as error:",
            '    print("raised:", error)',
            "else:",
            f'    print("returned, but it must raise: {wanted}")',
        ]
    if violation.partner is not None:
        return [line, *_touched(program, violation, dialect)]
    shown = [line]
    step = program[violation.at]
    if violation.subject is not None:
        made = results(step)
        what = (
            name[violation.subject]
            if made or isinstance(step, Step)
            else dialect.gradient.format(leaf=name[violation.subject])
        )
        shown.append(f'print("{what} is      ", {what})')
        want = violation.want if violation.want is not None else violation.held
        if want is not None:
            shown.append(f'print("it has to be ", {_values(want)})')
        elif isinstance(step, ZeroGrad) or not made:
            shown.append(f'print("it has to be ", "{violation.allowed[0][0]}")')
    return shown


def _left(program: Program, violation: Violation, line: str, dialect: Dialect) -> list[str]:
    """A call fails, as it may: what it leaves behind is wrong."""
    assert violation.subject is not None
    gradient = dialect.gradient.format(leaf=names(program)[violation.subject])
    before = "none" if violation.held is None else _values(violation.held)
    return [
        "try:",
        f"    {line}",
        f"except {dialect.error}:",
        "    pass  # it may raise",
        f'print("{gradient} is      ", {gradient})',
        f'print("before the call it was", "{before}", "and {violation.allowed[0][0]}")',
    ]


def _touched(program: Program, violation: Violation, dialect: Dialect) -> list[str]:
    """Two leaves share a gradient: what a call that reaches only one of them does to the other's."""
    assert violation.partner is not None
    assert violation.subject is not None
    leaf = program[violation.partner.at]
    assert isinstance(leaf, Leaf)
    ones = replace(leaf.value, data=(1.0,) * len(leaf.value.data))
    touching = Backward((violation.partner,), (ones,))
    gradient = dialect.gradient.format(leaf=names(program)[violation.subject])
    return [
        f'print("{gradient} was    ", {gradient})',
        code(Program((*program.instructions, touching)), dialect)[-1],
        f'print("{gradient} is now ", {gradient}, "(it must not have changed)")',
    ]


def _values(value: np.ndarray) -> str:
    return repr(np.asarray(value).tolist())
