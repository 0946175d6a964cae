"""The smoke test: judges the adapter, not the framework, before any verdict is given.

It asks for nothing that a rule asks for: only that the adapter speaks the language of `frameworks.base` with a framework that
can make a tensor and apply an op at all.
"""

from __future__ import annotations

import numpy as np

from frameworks.base import Framework
from frameworks.registry import BrokenAdapter
from rules.catalogue import Needs
from rules.language import DTYPES
from rules.observations import Kind
from rules.ops import OPS


def smoke(framework: Framework) -> None:
    """Raise `BrokenAdapter` with the reason where the adapter does not do what an adapter has to."""
    _declarations(framework)
    unary = [n for n in framework.ops if n in OPS and "{1}" not in OPS[n].torch]
    for dtype in framework.dtypes:
        data = np.array([1.0, 2.0], dtype=dtype)
        _try(framework, "reset()", lambda: framework.reset())
        leaf = _try(framework, "leaf()", lambda data=data: framework.leaf(data, True))
        back = _try(framework, "read()", lambda leaf=leaf: framework.read(leaf))
        if not isinstance(back, np.ndarray) or back.shape != (2,) or not np.array_equal(back, data):
            raise BrokenAdapter(f"{framework.name}: read(leaf([1, 2])) gave {back!r}, not the array that went in")
        if framework.dtype(leaf) != dtype:
            raise BrokenAdapter(f"{framework.name}: dtype() of a {dtype} leaf is {framework.dtype(leaf)!r}")
        if framework.gradient(leaf) is not None:
            raise BrokenAdapter(f"{framework.name}: gradient() of a fresh leaf is not None")
        name = "sin" if "sin" in unary else next(iter(unary))
        out = _try(framework, f"apply({name!r})", lambda leaf=leaf, name=name: framework.apply(name, [leaf], ()))
        if not isinstance(out, (list, tuple)) or len(out) != 1:
            raise BrokenAdapter(f"{framework.name}: apply({name!r}) gave {out!r}; it has to give a sequence of all results")
    kind = _try(framework, "classify()", lambda: framework.classify(RuntimeError("no such thing")))
    if kind is not Kind.UNKNOWN:
        raise BrokenAdapter(f"{framework.name}: classify() of an exception that it cannot know gave {kind!r}, not UNKNOWN")


def _declarations(framework: Framework) -> None:
    wrong = [d for d in framework.dtypes if d not in DTYPES]
    if wrong or not framework.dtypes:
        raise BrokenAdapter(f"{framework.name}: dtypes has to name some of {', '.join(DTYPES)}, not {list(framework.dtypes)}")
    if not all(isinstance(claim, Needs) for claim in framework.claims):
        raise BrokenAdapter(f"{framework.name}: claims has to hold members of rules.catalogue.Needs")
    if not any(name in OPS for name in framework.ops):
        raise BrokenAdapter(f"{framework.name}: ops names no op of the catalogue")


def _try(framework: Framework, what: str, call):  # type: ignore[no-untyped-def]
    try:
        return call()
    except Exception as error:
        raise BrokenAdapter(f"{framework.name}: {what} raised {type(error).__name__}: {error}") from error
