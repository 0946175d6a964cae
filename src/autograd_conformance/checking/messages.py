"""Brings the messages of a framework's errors into a form that does not depend on the program: without numbers, shapes
and the names of the ops that failed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

NAME, NUMBER = "<op>", "#"
"""The words that replace the name of a failing op, and numbers and shapes."""

_SHAPE = re.compile(r"[(\[]\s*(?:-?\d+|newaxis|\?)(?:\s*[,x]\s*(?:-?\d+|newaxis))*,?\s*[)\]]")
_SIZE = re.compile(r"torch\.Size\((\[[^\]]*\])\)")
_NUMBER = re.compile(r"(?<![A-Za-z_0-9])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![A-Za-z_0-9])")
_TENSOR = re.compile(r"\b(\w*(?:[Tt]ensor|[Vv]ariable|array|Array)\w*)\(\s*(?=[\[\d.-])(?:[^()]|\([^()]*\))*(?:\)|$)")
"""A printed tensor, perhaps cut off: its numbers are those of the program."""

_ADDRESS = re.compile(r"0x[0-9a-f]+")
_MODULE = re.compile(r"(module '[^']*' has no attribute) '[^']*'")
"""A missing function of a module: whichever it is, the framework lacks it."""

_GENERIC = re.compile(
    r"(?:list|tuple|string|deque) index out of range|pop from empty \w+|division by zero|float division by zero"
    r"|(?:not enough|too many) values to unpack.*|'NoneType' object .*|unsupported operand type.*|'\w+'|\d+"
    r"|maximum recursion depth exceeded.*|dictionary changed size.*|object of type '\w+' has no len\(\)|"
    r"operands could not be broadcast together.*|cannot reshape array of size.*|axis -?\d+ is out of bounds.*"
    r"|index -?\d+ is out of bounds.*|all the input array.*|shapes .* not aligned.*|too many indices for array.*"
    r"|setting an array element with a sequence\.?.*|",
    re.IGNORECASE,
)
"""Messages of Python and NumPy that name no part of the framework."""


_CONTEXT = re.compile(r"\s*\[\w+=[^\[\]]*\](?=\s*(?:\[\w+=[^\[\]]*\]\s*)*$)")


def normalised(message: str, ops: Sequence[str]) -> str:
    """Returns a message without numbers, shapes, tensors and addresses, and without the names of the given ops,
    in-place forms (``sin_``) included.
    """
    text = _TENSOR.sub(rf"\1({NUMBER})", _SIZE.sub(r"\1", _MODULE.sub(r"\1", message)))
    for op in sorted({op.rstrip("_") for op in ops if op}, key=len, reverse=True):
        text = re.sub(rf"(?<![A-Za-z0-9_]){re.escape(op)}_?(?![A-Za-z0-9_])", NAME, text, flags=re.IGNORECASE)
    text = _SHAPE.sub(NUMBER, _ADDRESS.sub(NUMBER, text))
    return " ".join(_NUMBER.sub(NUMBER, text).split())


def is_generic(message: str) -> bool:
    """Whether a message is one of Python or NumPy that names no part of the framework, so that unrelated faults may
    raise it.
    """
    return _GENERIC.fullmatch(message.strip()) is not None


def without_context(message: str) -> str:
    """Returns a message without the notes in brackets that a framework adds to all messages, such as ``[op=mul,
    device=cpu]``.
    """
    return _CONTEXT.sub("", message).strip()
