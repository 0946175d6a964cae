"""A standalone script: the failing program with the framework alone, and a last line that shows what is wrong."""

from __future__ import annotations

import numpy as np

from rules.dialect import Dialect, code
from rules.judge import Violation
from rules.language import Program, ZeroGrad, results
from rules.observations import Observation, Raised
from rules.text import names


def script(program: Program, observation: Observation, violation: Violation, dialect: Dialect | None, replay: str) -> str:
    """Code that can be pasted and run; without a dialect, the command that replays the program."""
    if dialect is None:
        return f"# This framework has no printed form of its own; replay the program with:\n{replay}\n"
    lines = [dialect.prelude, ""]
    for at, line in enumerate(code(program, dialect)[: violation.at + 1]):
        expected = at < violation.at and isinstance(observation[at].outcome, Raised)
        if expected:
            lines += ["try:", f"    {line}", f"except {dialect.error}:", "    pass  # it has to raise, and does"]
        elif at == violation.at:
            lines += _last(program, violation, line, dialect)
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
    shown = [line]
    step = program[violation.at]
    if violation.subject is not None:
        made = results(step)
        what = name[violation.subject] if made else dialect.gradient.format(leaf=name[violation.subject])
        shown.append(f'print("{what} is      ", {what})')
        want = violation.want if violation.want is not None else violation.held
        if want is not None:
            shown.append(f'print("it has to be ", {_values(want)})')
        elif isinstance(step, ZeroGrad) or not made:
            shown.append(f'print("it has to be ", "{violation.allowed[0][0]}")')
    return shown


def _values(value: np.ndarray) -> str:
    return repr(np.asarray(value).tolist())
