"""The record of an op that only the audit found wrong, which has the values if the program could run again."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

from autograd_conformance.checking.audit.outcome import Fault, FaultyValue
from autograd_conformance.checking.audit.programs import audit
from autograd_conformance.checking.session import Session, Settings
from autograd_conformance.failures.audited import audit_failure
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.reporting.records.failure import Category


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
    assert (plain.rule, plain.observed) == (failure.rule, failure.observed)
    assert plain.program == fault.program and failure.program != fault.program, "its numbers are easier to read"


def test_a_script_of_the_audit_prints_a_wrong_shape_and_what_a_call_that_raises_must_do(tmp_path: Path) -> None:
    session = Session.of(Settings("examples.tiny_adapter:Tiny", tmp_path))
    program = codec.to_json(parse("a = leaf [1, 2]; b = exp a", VOCABULARY))
    wrong = Category("value", "other shape")
    shape = Fault(
        program, "gradients/forward", "a result of shape (1,)", 1, (("shape (2,)", "gradients/forward"),), wrong
    )
    script = audit_failure("exp", replace(shape, value=FaultyValue("b", is_gradient=False)), session).script
    assert 'print("b.shape is      ", b.shape)\nprint("allowed:      ", \'shape (2,)\')' in script
    raised = Fault(program, "errors/legal-returns", "raised: unknown", 1, (("returns", "errors/legal-returns"),))
    lines = audit_failure("exp", raised, session).script.splitlines()
    assert lines[-2] == "print(\"allowed on line 2:\", 'returns')"
    assert lines[-1].startswith("b = tiny.exp(a)")
