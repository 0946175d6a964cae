"""The base classes of the conditions of an entry of known differences: one for each type of value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, TypeAlias

from autograd_conformance.known_differences.readers import count, flag, text
from autograd_conformance.programs.language import Program
from autograd_conformance.rules.violations.violation import Violation

Value: TypeAlias = bool | int | str
"""The value of a condition in a TOML file of known differences."""


class Outcome(Enum):
    """The kinds of outcome that an entry may be about. An entry is about one kind only."""

    ERROR = "an error"
    RETURN = "a call that returned"
    DTYPE = "a dtype"
    SHAPE = "a shape"
    VALUES = "values"


@dataclass(frozen=True)
class Condition(ABC):
    """A key of an entry of known differences with its value: a condition that a violation fulfils or does not.

    The docstring of each class is the description of its key in the documentation.
    """

    value: Value

    key: ClassVar[str] = ""
    """The key's name in files of known differences; empty for a base class."""
    old_key: ClassVar[str | None] = None
    """The former name of a renamed key, which files of known differences may still use; None if the key was not
    renamed.
    """
    expects: ClassVar[str]
    """Description of valid values, as a part of a message: "true or false"."""
    outcome: ClassVar[Outcome | None] = None
    """The kind of observed outcome, such as an error or a dtype, that the key is about; None if the key is about
    none.
    """
    by_program: ClassVar[bool] = False
    """Whether the condition depends only on the program, the failing instruction and the value in question, and not on
    what the framework did. Then some instruction of the entry's witness program has to fulfil the condition.
    """
    about_op: ClassVar[str | None] = None
    """Why the key needs an op in the entry, as a part of a message; None if it needs none."""
    covers_gradients: ClassVar[bool] = False
    """Whether an entry about `gradients/graph` with this key covers wrong gradients of one op too, and gradients of
    gradients.
    """

    @staticmethod
    @abstractmethod
    def read(value: object, /) -> Value:
        """Converts the TOML value, or raises ValueError or `RefusedEntry`."""

    @abstractmethod
    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        """Whether a violation of a program fulfils the condition. `op` is the op of the entry, or None."""

    @property
    def names_case(self) -> bool:
        """Whether the condition separates the case from others that violate the same rule. Sizes and dtypes do not."""
        return False

    @classmethod
    def values_of(cls, program: Program, violation: Violation) -> Iterable[Value]:
        """Returns the values of this key that `--update-known` tries for a violation."""
        return ()

    @classmethod
    def values_in(cls, program: Program) -> Iterable[Value]:
        """Returns the values of this key that `--update-known` tries for a program that kept its rules."""
        return ()


class Flag(Condition):
    """The base class of conditions whose value is true or false; a false one counts as absent."""

    value: bool
    expects = "true or false"
    read = staticmethod(flag)

    @property
    def names_case(self) -> bool:
        """Returns whether the flag is true; a true flag separates its case from others that violate the same rule."""
        return self.value

    @classmethod
    def values_of(cls, program: Program, violation: Violation) -> Iterable[Value]:
        """Returns true as the only value to try, or none if the flag is about an op and the violation names no op."""
        return cls.values_in(program) if violation.op is None else (True,)

    @classmethod
    def values_in(cls, program: Program) -> Iterable[Value]:
        """Returns true as the only value to try, or none if the flag is about an op."""
        return (True,) if cls.about_op is None else ()


class ProgramFlag(Flag):
    """The base class of flags that depend on the program, and not on what the framework did."""

    by_program = True


class Count(Condition):
    """The base class of conditions whose value is a whole number."""

    value: int
    expects = "a whole number, 0 or more"
    read = staticmethod(count)


class Word(Condition):
    """The base class of conditions whose value is a text or a name."""

    value: str
    expects = "a text"
    read = staticmethod(text)
