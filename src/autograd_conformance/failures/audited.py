"""Makes failure records of ops that the check of each op in isolation found wrong, and that no test could show."""

from __future__ import annotations

import re

from autograd_conformance.checking.audit.outcome import Fault
from autograd_conformance.checking.check import RuleViolated
from autograd_conformance.checking.session import Session
from autograd_conformance.checking.signature import base_of, signature_of_ending
from autograd_conformance.failures.listing import announced, groups, listing, print_line, traced
from autograd_conformance.failures.record import failure, replay_command, replay_file, rule_fields, stage_field
from autograd_conformance.failures.shown_values import elements_of
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.printing.dialect import code
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Program
from autograd_conformance.reporting.records.failure import Allowed, ExplanationStep, Failure
from autograd_conformance.rules.violations.shared import ResultShape

ALIKE = 3
"""The least number of right digits of wrong numbers that are printed with all digits."""


def audit_failure(op: str, fault: Fault, session: Session, broken: RuleViolated | None = None) -> Failure:
    """Makes the record of an op that the check of each op before the tests found wrong and that no test could show.

    `broken` is the violation in another run of the program. With it, the record is that of a test's failure: reduced,
    explained, and with a script that prints the expected and observed values.
    """
    plain = _plain_audit_failure(op, fault, session)
    if broken is None or (broken.violation.rule, broken.violation.op) != (fault.rule, op) or session.process.is_over():
        return plain
    return failure(broken, plain.test, session)


def _plain_audit_failure(op: str, fault: Fault, session: Session) -> Failure:
    """Makes the record of a fault that the audit found, from the facts that the audit kept."""
    program, dialect = codec.from_json(fault.program, VOCABULARY), session.framework.target.dialect
    test = f"audit[{op}]"
    path = replay_file(dict(fault.program), session, fault.rule, test)
    command = replay_command(session, path)
    return Failure(
        verdict="fail" if fault.at is not None else "crash",
        **rule_fields(fault.rule),
        stage=stage_field(fault.rule, program, fault.at),
        test=test,
        op=op,
        program=fault.program,
        at=fault.at,
        observed=fault.observed,
        allowed=tuple(Allowed(text, rule) for text, rule in fault.allowed),
        code="\n".join(code(program, dialect)),
        why=_audit_why(fault),
        script=_audit_script(program, fault, session),
        replay=str(path),
        command=command,
        error=fault.error,
        deviation=fault.deviation,
        signature=fault.signature or signature_of_ending(program, op),
        base=base_of(program),
        groups=groups(program, session.framework.target),
    )


def _audit_why(fault: Fault) -> tuple[ExplanationStep, ...]:
    """Returns the expected and the observed numbers of a fault; nothing if it is not about numbers."""
    value = fault.value
    if value is None or not value.want or fault.at is None:
        return ()
    what = f"the gradient of {value.name}" if value.is_gradient else value.name
    return (ExplanationStep(fault.at + 1, f"{what} has to be {value.want}, but it is {value.got}."),)


def _audit_script(program: Program, fault: Fault, session: Session) -> str:
    """Returns the program up to the failing line as a script that prints the faulty value and the expected one."""
    target, value = session.framework.target, fault.value
    dialect = target.dialect
    if dialect is None:
        return ""
    if fault.at is None:
        return traced(program, target, fault.observed)
    if value is None:
        allowed = " or ".join(dict.fromkeys(each for each, _ in fault.allowed))
        return announced(program, target, fault.at, allowed)
    what = name = dialect.gradient.format(leaf=value.name) if value.is_gradient else value.name
    if fault.deviation is not None and fault.deviation.what == ResultShape.category and dialect.shape:
        what = dialect.shape.format(value=what)
    in_full = dialect.in_full if fault.error is not None and (fault.error.digits or 0) >= ALIKE else ""
    elements = in_full.format(value=what) if in_full else elements_of(what, dialect, value.is_gradient)
    printed = elements if what == name else what  # a shape is printed as it is
    is_code = value.exact and not {"nan", "inf"} & set(re.findall(r"[a-z]+", value.exact))
    expected = value.exact if is_code else repr(value.want or (fault.allowed[0][0] if fault.allowed else ""))
    head = "it has to be " if value.want else "allowed:      "
    shown = (print_line(f"{what} is      ", printed), f'print("{head}", {expected})')
    return listing(program.upto(fault.at + 1), target, fault.at) + "\n".join(shown) + "\n"
