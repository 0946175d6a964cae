"""The smoke test: judges the adapter, not the framework, before any verdict is given.

It asks for nothing that a rule asks for: only that the adapter speaks the language of `frameworks.base` with something
that can make a tensor and apply an op at all.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from autograd_conformance.frameworks.base import Framework, lacking
from autograd_conformance.frameworks.registry import BrokenAdapter
from autograd_conformance.ops.catalogue import APPLIED
from autograd_conformance.ops.row import choices_of, rest_of
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import DTYPES, Attrs
from autograd_conformance.programs.observations import Kind

VECTOR = (2,)


def smoke(framework: Framework) -> None:
    """Raise `BrokenAdapter` with the reason where the adapter does not do what an adapter has to."""
    _declarations(framework)
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
        for name, operands, attrs in _simplest(framework):
            out = _try(
                framework,
                f"apply({name!r})",
                lambda name=name, given=[leaf] * operands, attrs=attrs: framework.apply(name, given, attrs),
            )
            if not isinstance(out, (list, tuple)) or not out:
                raise BrokenAdapter(f"{framework.name}: apply({name!r}) gave {out!r}, not a sequence of all results")
    kind = _try(framework, "classify()", lambda: framework.classify(RuntimeError("no such thing")))
    if kind is not Kind.UNKNOWN:
        raise BrokenAdapter(
            f"{framework.name}: classify() of an exception that it cannot know gave {kind!r}, not UNKNOWN"
        )


def _declarations(framework: Framework) -> None:
    wrong = [d for d in framework.dtypes if d not in DTYPES]
    if wrong or not framework.dtypes:
        raise BrokenAdapter(
            f"{framework.name}: dtypes has to name some of {', '.join(DTYPES)}, not {list(framework.dtypes)}"
        )
    if not all(isinstance(claim, Capability) for claim in framework.claims):
        raise BrokenAdapter(f"{framework.name}: claims has to hold members of programs.capabilities.Capability")
    absent = lacking(framework)
    if absent:
        raise BrokenAdapter(f"{framework.name}: the adapter lacks {'; '.join(absent)} (see frameworks/base.py)")
    unknown = sorted(set(framework.ops) - APPLIED)
    if unknown or not framework.ops:
        names = ", ".join(unknown[:5]) if unknown else "no op"
        raise BrokenAdapter(f"{framework.name}: ops names {names}; it has to name ops of ops/tables")
    silent = [] if framework.dialect is None else sorted(set(framework.ops) - set(framework.dialect.ops))
    if silent:
        raise BrokenAdapter(f"{framework.name}: the dialect has no code for {', '.join(silent[:5])}")


def _simplest(framework: Framework) -> Iterator[tuple[str, int, Attrs]]:
    """The first op of the framework that takes vectors of two elements, with the number of its operands; none maybe."""
    for name in ("sin", *OPS):
        if name in framework.ops and OPS[name].accepts(VECTOR):
            for others in rest_of(OPS[name], VECTOR):
                if set(others) <= {VECTOR}:
                    shapes = (VECTOR, *others)
                    yield name, len(shapes), choices_of(OPS[name], shapes)[0]
                    return


def _try(framework: Framework, what: str, call):  # type: ignore[no-untyped-def]
    try:
        return call()
    except Exception as error:
        raise BrokenAdapter(f"{framework.name}: {what} raised {type(error).__name__}: {error}") from error
