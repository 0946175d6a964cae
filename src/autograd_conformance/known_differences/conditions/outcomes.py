"""Conditions on the observed outcome: a return, an error, a dtype or a shape."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_conformance.known_differences.condition import Flag, Outcome, Word
from autograd_conformance.known_differences.readers import one_of, text
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Kind
from autograd_conformance.rules.violations.observed import RaisedError, ReturnedUnexpectedly
from autograd_conformance.rules.violations.shared import GradientForm, ResultDtype, ResultShape
from autograd_conformance.rules.violations.violation import Violation

SHORTEST = 5
"""Smallest number of characters of a `message` that separates a case from others; a shorter text would fit too many
messages.
"""

RESULT_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bfloat16", "float16", "float32",
    "float64", "complex64", "complex128",
)  # fmt: skip
"""Names of the dtypes that the key `result_dtype` accepts."""


class Returned(Flag):
    """The failing instruction returned, and an error is expected. Such an entry waives no wrong value."""

    key, outcome = "returned", Outcome.RETURN

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        return isinstance(violation.observed, ReturnedUnexpectedly)


class Raised(Word):
    """The failing instruction raised an error of this kind."""

    key, outcome = "raised", Outcome.ERROR
    expects = f"a kind of error: {', '.join(kind.value for kind in Kind)}"

    @staticmethod
    def read(value: object) -> str:
        return Kind(text(value)).value

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        return isinstance(violation.observed, RaisedError) and violation.observed.kind.value == self.value


class Message(Word):
    """The message of the raised exception contains this text."""

    key, outcome = "message", Outcome.ERROR

    @property
    def names_case(self) -> bool:
        return len(self.value.strip()) >= SHORTEST

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        return isinstance(violation.observed, RaisedError) and self.value in violation.observed.message


class UnexpectedDtype(Word):
    """The result, or a gradient, has this dtype, and another one is expected. Such an entry waives no wrong value."""

    key, old_key, outcome = "result_dtype", "gives", Outcome.DTYPE
    expects = f"the name of a dtype: {', '.join(RESULT_DTYPES)}"

    read = staticmethod(one_of(RESULT_DTYPES))

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        return unexpected_dtype(violation) == self.value


class WrongShape(Flag):
    """The shape of the result differs from the expected one. Such an entry waives no wrong value."""

    key, old_key, outcome = "wrong_shape", "shape", Outcome.SHAPE
    names_case = False

    @classmethod
    def values_of(cls, program: Program, violation: Violation) -> Iterable[bool]:
        return ()  # the signature of a violation has it

    @classmethod
    def values_in(cls, program: Program) -> Iterable[bool]:
        return ()

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        return isinstance(violation.observed, ResultShape)


def unexpected_dtype(violation: Violation) -> str | None:
    """Returns the dtype of a result, or of a gradient with the expected shape, if the dtype is not the expected one;
    else None.
    """
    observed = violation.observed
    if isinstance(observed, ResultDtype):
        return observed.dtype
    forms = [allowed.expected for allowed in violation.allowed if isinstance(allowed.expected, GradientForm)]
    right = isinstance(observed, GradientForm) and observed.shape in [form.shape for form in forms]
    return observed.dtype if right and isinstance(observed, GradientForm) else None
