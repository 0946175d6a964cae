"""Calls of ops in other forms than PyTorch's: a keyword under NumPy's name, or without it; numbers one by one in place
of a tuple, or a tuple in place of one number; indices from an array.

PyTorch takes NumPy's names, too. A call without a keyword has PyTorch's default, so the op is limited to that value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.programs.language import Attr

LACKING = re.compile(r"(?:unexpected|invalid) keyword(?: argument)? ['\"]?(\w+)")
"""Pattern of an error about a keyword that a function does not have."""

OF_NUMBERS = re.compile(r"'(?:tuple|list)' object cannot be interpreted as an integer")
"""Pattern of an error of a function that takes numbers in place of a tuple."""

ONE_TUPLE = re.compile(r"^(\{0\}\.\w+\()(\{(?:shape|dims)\}\))$")
"""Pattern of the call of a method whose only argument is a tuple."""

OF_ONE_NUMBER = re.compile(r"not ['\"]?(?:tuple|list)\b")
"""Pattern of an error of a function that takes one number in place of a tuple, and uses what it is given as one."""

LAST_DIM = re.compile(r"^(.*(?:, |\())(\{dim\}\))$")
"""Pattern of a call whose last argument is a tuple of dimensions."""

OF_SEVERAL = re.compile(r"'int' object is not (?:subscriptable|iterable)|non-iterable int\b|type 'int' has no len")
"""Pattern of an error of a function that takes a tuple in place of one number."""

OF_INDICES = re.compile(
    r"\bind(?:ex|ices|exing)\b.*\b(?:int|long)|\b(?:int|long).*\bind(?:ex|ices|exing)\b", re.IGNORECASE | re.DOTALL
)
"""Pattern of an error about indices that are no integers."""

DEVICE = re.compile(r", device=\{0\}\.device")
"""Pattern of the argument by which a tensor of indices is made on the operand's device."""

INDICES = re.compile(r"torch\.tensor\((\{\w+\})\)")
"""Pattern of a tensor that is made from an attribute, without a dtype."""

PLACES = re.compile(r"^F\.\w*([23])d\(")
"""Pattern of the call of a function that moves a window along two or three dimensions."""

ALIKE = re.compile(r"(?<!\()\{(kernel_size|stride|padding|dilation|output_padding|output_size)\}")
"""Pattern of an attribute of a window, a number that counts for all dimensions."""

NAMES = {"dim": "axis", "keepdim": "keepdims"}
"""NumPy's names of PyTorch's keywords."""

DEFAULTS: Mapping[str, Attr] = {
    "keepdim": False, "correction": 1, "alpha": 1.0, "beta": 1.0, "padding": 0, "dilation": 1, "groups": 1,
    "output_padding": 0, "reduction": "mean", "label_smoothing": 0.0, "n": 1, "lambd": 0.5, "delta": 1.0,
    "negative_slope": 0.01, "descending": False, "largest": True,
}  # fmt: skip
"""The documented defaults of PyTorch's keywords, as far as all functions of the tables share them."""

GIVEN = re.compile(r"(\w+)=\{([a-z]\w*)\}")
"""Pattern of a keyword in a template, with the attribute that is its value."""


def other_calls(template: str, why: str) -> Iterator[str]:
    """Yields templates of the same call without the keyword or the tuple that an error says is unsupported; none if it
    says no such thing.
    """
    if OF_NUMBERS.search(why) and ONE_TUPLE.match(template):
        yield ONE_TUPLE.sub(r"\1*\2", template)
    if OF_ONE_NUMBER.search(why) and LAST_DIM.match(template):
        yield LAST_DIM.sub(r"\1*\2", template)
    if OF_SEVERAL.search(why) and (places := PLACES.match(template)) and ALIKE.search(template):
        yield ALIKE.sub(lambda found: f"({', '.join([found[0]] * int(places[1]))})", template)
    here = DEVICE.sub("", template)
    if here != template and re.search(r"\bdevice\b", why):
        yield here
    if OF_INDICES.search(why) and INDICES.search(here):
        yield INDICES.sub(r"torch.tensor(numpy.array(\1))", here)
        yield INDICES.sub(r"numpy.array(\1)", here)
    lacking = LACKING.search(why)
    keyword = lacking[1] if lacking else ""
    if keyword in NAMES:
        yield re.sub(rf"\b{keyword}=", f"{NAMES[keyword]}=", template)
    without = re.sub(rf", {keyword}=\{{[a-z]\w*\}}", "", template)
    if keyword in DEFAULTS and without != template:
        yield without


def fixed(op: str, template: str | None) -> dict[str, tuple[Attr]]:
    """Returns the attributes that a template leaves out of an op's call, each with its only value, the default; none
    without a template, where the call is PyTorch's.
    """
    usual = row_of(op).template
    given = GIVEN.findall(usual) if isinstance(usual, str) and template is not None else ()
    return {name: (DEFAULTS[keyword],) for keyword, name in given if f"{{{name}}}" not in (template or "")}
