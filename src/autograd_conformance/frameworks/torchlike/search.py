"""Searches a framework for the features that it lacks, by trying each of the suite's tables."""

from __future__ import annotations

from autograd_conformance.frameworks.calls import Raised, attempt
from autograd_conformance.frameworks.probing.smallest import NEEDS, SMALLEST
from autograd_conformance.frameworks.torchlike.findings import ARRAYS, Findings
from autograd_conformance.frameworks.torchlike.interface import TorchInterface
from autograd_conformance.frameworks.torchlike.keywords import fixed
from autograd_conformance.frameworks.torchlike.trials import (
    OTHER_INDICES,
    has_arrays_as_gradients,
    missing_broadcasts,
    missing_capability,
    missing_dimensions,
    missing_op,
    missing_optimizer,
    missing_write,
    other_call,
    other_defaults,
    refusal,
)
from autograd_conformance.ops.catalogue import APPLIED, WRITES, row_of
from autograd_conformance.ops.limits import Limit
from autograd_conformance.ops.modules import MODULES
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import COARSE, USUAL
from autograd_conformance.programs.own_numpy import np

FEW_DIGITS = frozenset(op for op in APPLIED if row_of(op).dtype in COARSE)
"""The casts to dtypes that only an adapter can claim."""

SINGLE = tuple(sorted(APPLIED.difference(MODULES, RANDOM_OPS, FEW_DIGITS)))
"""The ops that are tried: neither modules nor random, and no casts to few digits."""

UNTRIED = {
    Capability.COUNTS_SAVED: "it needs an adapter that counts saved tensors",
    Capability.AUTOCAST: "it needs an adapter that knows which ops cast",
    Capability.KNOWS_ERRORS: "it needs an adapter that knows all messages of errors",
}
"""The capabilities that only an adapter can claim, each with the reason."""


def search(adapter: TorchInterface) -> Findings:
    """Returns the features that a framework lacks. While it is searched, its adapter claims the capabilities that were
    not found missing.
    """
    adapter.capabilities, adapter.dtypes = frozenset(Capability), USUAL
    dtypes = {each: why for each in USUAL if (why := missing_dtype(adapter, each))}
    dtype = next((each for each in USUAL if each not in dtypes), USUAL[0])
    lacking = _capabilities(adapter)
    ops = {name: why for name in SINGLE if (why := missing_op(adapter, name, dtype))}
    templates = {name: code for name, why in ops.items() if (code := other_call(adapter, name, dtype, why))}
    ops = {name: why for name, why in ops.items() if name not in templates and not why.startswith(OTHER_INDICES)}
    adapter.code = adapter.code.with_templates(templates)
    refused, alike = dict[str, str](), dict[str, str]()
    for name in (each for each in SINGLE if each not in ops):
        limit = Limit(fixed(name, templates.get(name)))
        refused |= {f"{name}.{n}": why for n, why in missing_dimensions(adapter, name, dtype, limit)}
        if why := missing_broadcasts(adapter, name, dtype, limit):
            alike[name] = why
    modules = {name: why for name in (*MODULES, *RANDOM_OPS) if (why := missing_op(adapter, name, dtype))}
    for capability, rows in ((Capability.MODULES, MODULES), (Capability.RANDOM, RANDOM_OPS)):
        if {*rows} <= {*modules}:
            lacking[capability] = next(modules[name] for name in rows)
    writes, optimizers = dict.fromkeys(WRITES, "no writes"), dict.fromkeys(OPTIMIZERS, "no optimizers")
    if Capability.WRITES not in lacking:
        writes = {name: why for name in WRITES if (why := missing_write(adapter, name, dtype))}
    if Capability.OPTIMIZERS not in lacking:
        optimizers = {name: why for name in OPTIMIZERS if (why := missing_optimizer(adapter, name))}
    made = [name for name in OPTIMIZERS if name not in optimizers]
    defaults = {setting: why for name in made for setting, why in other_defaults(adapter, name)}
    named = {capability.name: why for capability, why in lacking.items()}
    return Findings(
        adapter.name, adapter.version, dtypes, named, ops, writes, modules, optimizers, refused, alike, defaults,
        templates,
    )  # fmt: skip


def _capabilities(adapter: TorchInterface) -> dict[Capability, str]:
    """Returns the missing capabilities with the reasons, and takes them from the adapter's claims."""
    lacking = dict(UNTRIED)
    for capability in SMALLEST:
        needed = NEEDS.get(capability)
        why = (
            f"it needs {needed.name}"
            if needed in lacking and needed is not None
            else missing_capability(adapter, capability)
        )
        if why:
            lacking[capability] = why
            adapter.capabilities = frozenset(adapter.capabilities) - {capability}
    if has_arrays_as_gradients(adapter):
        lacking[Capability.ASSIGNS] = ARRAYS
        adapter.capabilities = frozenset(adapter.capabilities) - {Capability.ASSIGNS}
    return lacking


def missing_dtype(adapter: TorchInterface, dtype: str) -> str | None:
    """Returns why a framework does not have a dtype; None if it has it."""
    result = attempt(lambda: adapter.dtype(adapter.tensor(np.ones(2, dtype), True)))
    if isinstance(result, Raised):
        return refusal(result.error) or f"a tensor of it cannot be made: {result.error}"
    return None if result == dtype else f"a tensor of it reads back as {result}"
