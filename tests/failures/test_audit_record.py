"""The record of an op that only the audit found wrong, which has the values if the program could run again."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from autograd_conformance.checking.audit.outcome import Fault
from autograd_conformance.checking.audit.programs import audit
from autograd_conformance.checking.session import Session, Settings
from autograd_conformance.failures.audited import audit_failure


def test_a_fault_of_the_audit_has_values_an_error_and_a_script_that_prints(tmp_path: Path) -> None:
    session = Session.of(Settings("tests.frameworks.adapters.wrong:WrongSine", tmp_path))
    fault = audit(session.framework.target, ("float64",), thrice=False).faults["sin"]
    again = session.framework.violated_by(json.loads(json.dumps(asdict(fault)))["program"])
    assert again is not None
    failure = audit_failure("sin", fault, session, again)
    assert failure.error is not None and 0 < failure.error.bound < failure.error.largest
    assert failure.votes is not None and failure.why
    assert "print(" in failure.script and "it has to be" in failure.script
    plain = audit_failure("sin", fault, session)
    assert plain.error == fault.error and plain.votes is None
    assert "print(" in plain.script and "it has to be" in plain.script and "a.grad is" in plain.script
    assert plain.why and "has to be" in plain.why[0].text
    assert Fault.from_json(json.loads(json.dumps(asdict(fault)))).value == fault.value
    assert (plain.rule, plain.observed, plain.program) == (failure.rule, failure.observed, failure.program)
