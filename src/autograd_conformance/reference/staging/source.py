"""Staged functions: NumPy source, its compiled code, and the function that the code defines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.staging.primitives import HELPERS

if TYPE_CHECKING:
    from scipy import special
else:
    from autograd_conformance.reference.staging.lazy_modules import special

_SCOPE = {"np": np, "special": special, **HELPERS}

Staged = Callable[..., tuple[np.ndarray, ...]]

Reads = tuple[frozenset[int], ...]
"""For each result of a function, the positions of the arguments on which its value depends."""


class Loaded(NamedTuple):
    """A staged function as it is kept in memory: the NumPy function, and the arguments on which each result depends. It
    is small, because thousands are kept.
    """

    function: Staged
    reads: Reads
    portable: bool


@dataclass(frozen=True, slots=True)
class Source:
    """Straight-line NumPy source and its constants; it is `portable`, and so can be stored on disk, unless it calls
    back into JAX.
    """

    text: str
    constants: dict[str, Any]
    reads: Reads
    portable: bool = True

    def compiled(self) -> Compiled:
        """Compiles the source, which takes about half a millisecond."""
        return Compiled(_code(self.text), self.constants, self.reads, self.portable)

    def loaded(self) -> Loaded:
        """Compiles the source, and makes the function that it defines."""
        return self.compiled().loaded()


@lru_cache(maxsize=256)
def _code(text: str) -> CodeType:
    """Compiles a source; the functions of one op for several shapes often have the same."""
    return compile(text, "<staged>", "exec")


@dataclass(frozen=True, slots=True)
class Compiled:
    """The compiled code of a source, with its constants."""

    code: CodeType
    constants: dict[str, Any]
    reads: Reads
    portable: bool = True

    def loaded(self) -> Loaded:
        """Makes the function that the code defines. Its global scope is shared with other functions unless the code
        has constants or helper functions.
        """
        defined = [each for each in self.code.co_consts if isinstance(each, CodeType)]
        if len(defined) == 1 and not self.constants:
            return Loaded(FunctionType(defined[0], _SCOPE), _one(self.reads), self.portable)
        scope = {**_SCOPE, **self.constants}
        exec(self.code, scope)
        return Loaded(scope["staged"], _one(self.reads), self.portable)


@lru_cache(maxsize=1024)
def _one(reads: Reads) -> Reads:
    """Returns the same object for equal arguments, to save memory, because most functions have equal ones."""
    return reads
