"""The adapter of any framework with PyTorch's interface: `torch-like:MODULE`, or a class that inherits `TorchLike`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, packages_distributions
from importlib.metadata import version as version_of
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NoReturn

from autograd_conformance.frameworks.calls import Raised, attempt, reset
from autograd_conformance.frameworks.torchlike.code import Code, other_places
from autograd_conformance.frameworks.torchlike.dialect import dialect
from autograd_conformance.frameworks.torchlike.errors import MESSAGES
from autograd_conformance.frameworks.torchlike.findings import ARRAYS, Findings, needs_adapter, read
from autograd_conformance.frameworks.torchlike.interface import TENSOR, Tensor
from autograd_conformance.frameworks.torchlike.keywords import fixed
from autograd_conformance.frameworks.torchlike.leaves import (
    NUMPY,
    Reader,
    Reading,
    find_calls,
    find_cotangents,
    importing_numpy,
    printed_with,
)
from autograd_conformance.frameworks.torchlike.refusals import refusal
from autograd_conformance.frameworks.torchlike.search import FEW_DIGITS, search
from autograd_conformance.frameworks.torchlike.trials import missing_capability
from autograd_conformance.ops.catalogue import APPLIED, WRITES, row_of
from autograd_conformance.ops.limits import Limit
from autograd_conformance.ops.modules import MODULES
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.dtypes import USUAL
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind
from autograd_conformance.programs.own_numpy import np

PYTORCH = "torch"
"""The name of PyTorch's module, and of the package that has it."""


def _owner(tensor: Any, reader: Reader = NUMPY) -> int:
    """Returns the address of the NumPy array that owns a tensor's elements, or that of its storage if no array does."""
    holder = array = reader.read(tensor)
    while hasattr(getattr(holder, "base", None), "__array_interface__"):
        holder = holder.base
    return ADDRESSES[0](tensor) if holder is array else holder.__array_interface__["data"][0]


ADDRESSES: tuple[Callable[[Any], Any], ...] = (
    lambda tensor: tensor.untyped_storage().data_ptr(),
    lambda tensor: tensor.storage().data_ptr(),
    lambda tensor: tensor.data_ptr(),
)
"""Ways to read a number that identifies the memory of a tensor."""


class TorchLike(Reading):
    """A framework with PyTorch's interface.

    What the framework has is found by trying, when the adapter is made. A subclass may name the module, and define
    again what the framework does otherwise.
    """

    module: ClassVar[str] = ""
    """The name of the framework's module, for a subclass."""
    path: ClassVar[str] = ""
    """The file of findings that a subclass uses; empty: they are found by trying."""
    like: ClassVar[str] = "torch-like"
    """The word before the module's name in the name of the framework."""

    def __init__(self, module: str = "", path: str = "", device: str = "cpu") -> None:
        super().__init__()
        name = module or self.module
        self.torch = importlib.import_module(name)
        functional = attempt(importlib.import_module, f"{name}.nn.functional")
        self.code = Code(self.torch, functional if isinstance(functional, ModuleType) else None)
        parts = {} if self.code.functional else _parts(name)
        for part in ("nn", "nn.utils", "optim", "autograd", "linalg", "special", "func"):
            attempt(importlib.import_module, f"{name}.{part}")  # some frameworks import them only when asked
        self.device, self.packages, self.name = device, (name.partition(".")[0],), own_name(name)
        self.version = version(self.torch, name)
        prelude = "\n".join([*(f"import {name}.{part}" for part in parts), f"import {name} as torch"])
        self.dialect = dialect(
            prelude=f"{prelude}\nimport {name}.nn.functional as F" if self.code.functional else prelude
        )
        if whys := find_calls(self):
            self._refuse(whys)
        if self.maker is not TENSOR:
            self.dialect = printed_with(self.maker, self.dialect)
        elif isinstance(attempt(lambda: self.torch.zeros((0,), requires_grad=True)), Raised):
            empty = "torch.tensor(numpy.zeros({shape}), dtype=torch.{dtype}{flags})"
            self.dialect = replace(self.dialect, prelude=importing_numpy(self.dialect.prelude), empty=empty)
        if not any(hasattr(self.torch, dtype) for dtype in USUAL):
            has_libtorch = hasattr(sys.modules.get("torch"), USUAL[0])
            self.dialect = (
                _with_dtypes_of_libtorch(self.dialect)
                if has_libtorch
                else _with_dtypes_of_arrays(self.dialect, self.maker.name)
            )
        made = (attempt(self.tensor, np.full(2, 1.5, dtype)) for dtype in USUAL)
        tensor = next((each for each in made if not isinstance(each, Raised)), None)
        if "1.5" not in str(attempt(str, tensor)):
            self.dialect = replace(self.dialect, elements=self.reader.code)
        if not hasattr(tensor, "dtype"):
            self.dialect = replace(self.dialect, dtype="")
        if not hasattr(tensor, "tolist"):
            self.dialect = replace(self.dialect, in_full=f"{self.reader.code}.tolist()")
        self._call_otherwise(other_places(self.torch, self.code.functional, tensor, parts))
        find_cotangents(self)
        if self.takes_arrays:
            array = "numpy.array({data}, dtype='{dtype}')"
            self.dialect = replace(self.dialect, prelude=importing_numpy(self.dialect.prelude), cotangent=array)
        elif self.numbers_gain_dimension:
            self.dialect = replace(self.dialect, number=f"{self.dialect.tensor}.reshape(())")
        usual = attempt(lambda: self.torch.get_default_dtype())
        self.usual = None if isinstance(usual, Raised) else usual
        self.dtypes, self.capabilities = USUAL, frozenset(Capability)
        self._memory = self._first_way(Capability.MEMORY, "_memory", (partial(_owner, reader=self.reader), *ADDRESSES))
        last = id if self._keeps_gradients() else _unknown
        self._identity = self._first_way(Capability.IDENTITY, "_identity", (ADDRESSES[-1], last))
        self.traits = self._found_traits()
        self.findings = read(Path(path or self.path)) if path or self.path else search(self)
        self._claim(self.findings)

    def _call_otherwise(self, templates: Mapping[str, str]) -> None:
        """Replaces the code that calls some ops, and the code that is printed of them."""
        self.code = self.code.with_templates(templates)
        if self.dialect is not None:
            prelude = self.dialect.prelude
            if any("numpy." in template for template in templates.values()):
                prelude = importing_numpy(prelude)
            self.dialect = replace(self.dialect, prelude=prelude, ops={**self.dialect.ops, **templates})

    def _refuse(self, whys: Mapping[str, str]) -> NoReturn:
        """Raises `ValueError`, which says for each call or dtype why it has no tensors as PyTorch has them."""
        text = "; ".join(f"{name}: {why}" for name, why in whys.items())
        raise ValueError(f"{self.name} has no tensors as PyTorch has them ({text}); {needs_adapter(self.name)}")

    def _first_way(self, capability: Capability, attribute: str, ways: Sequence[Callable[[Any], Any]]) -> Any:
        """Returns the first way to read a number that shows a capability; the last way if none does."""
        for way in ways:
            setattr(self, attribute, way)
            if missing_capability(self, capability) is None:
                break
        return way

    def _keeps_gradients(self) -> bool:
        """Whether `.grad` is one object each time. Bindings may make a new one, whose `id` says nothing."""
        reset(self)

        def same() -> bool:
            leaf = self.leaf(np.ones(2, self.dtypes[-1]), True)
            self.backward([self.apply("multiply", (leaf, leaf), ())[0]], [np.ones(2, self.dtypes[-1])], None)
            return self.gradient(leaf) is self.gradient(leaf)

        return attempt(same) is True

    def _found_traits(self) -> Traits:
        """Returns the traits that can be found by trying: whether the gradient of a new leaf is zeros."""
        reset(self)
        held = attempt(lambda: self.gradient(self.leaf(np.ones(2, self.dtypes[-1]), True)))
        return Traits(begins_with_zeros=held is not None and not isinstance(held, Raised))

    def _claim(self, found: Findings) -> None:
        """Claim everything that the findings do not call missing. Raises `ValueError` if that leaves no dtype."""
        self.dtypes = tuple(each for each in USUAL if each not in found.dtypes)
        if not self.dtypes:
            self._refuse(found.dtypes)
        self.capabilities = frozenset(each for each in Capability if each.name not in found.capabilities)
        self.ops = frozenset(APPLIED.difference(found.ops, found.modules, FEW_DIGITS))
        self.writes = frozenset({*WRITES}.difference(found.writes))
        self._call_otherwise(found.templates)
        limits = {name: _limit(name, found) for name in sorted(self.ops)}
        self.limits = {name: each for name, each in limits.items() if each != Limit()}  # type: ignore[misc]
        self.modules = tuple(each for each in (*MODULES, *RANDOM_OPS) if each not in found.modules)
        self.optimizers = {  # type: ignore[misc]
            name: tuple(dict(row.defaults)) for name, row in OPTIMIZERS.items() if name not in found.optimizers
        }
        self.always_given = {name: _otherwise(name, found.defaults) for name in self.optimizers}
        if self.dialect is not None:
            if found.capabilities.get(Capability.ASSIGNS.name) == ARRAYS:
                self.dialect = replace(self.dialect, gradient_elements="{value}.tolist()")
            given = {f"{name}.{key}": repr(value) for name, pairs in self.always_given.items() for key, value in pairs}
            self.dialect = replace(self.dialect, always_given=given)
        called = (
            f"{self.name}: {op} is called as `{code}`: PyTorch's call is unsupported"
            for op, code in found.templates.items()
        )
        self.notes = (*(f"{self.name}: {setting}: {why}" for setting, why in found.defaults.items()), *called)

    # -- what every adapter defines ------------------------------------------------------------------------------------

    def memory(self, value: Tensor) -> int | None:
        """Returns the address of the memory, if the framework exposes it."""
        return self._memory(value) if self.elements(value).size else None

    def identity(self, gradient: Tensor) -> int | None:
        """Returns the address of a gradient's elements, or Python's `id` if the framework exposes no address."""
        return self._identity(gradient)

    def classify(self, error: BaseException) -> Kind:
        """Classify an error by PyTorch's messages, and one that says that something is missing as `NO_KERNEL`."""
        text = str(error)
        known = next((kind for part, kind in MESSAGES if part.lower() in text.lower()), None)
        return known or (Kind.NO_KERNEL if refusal(error) else Kind.UNKNOWN)


def _with_dtypes_of_libtorch(dialect: Dialect) -> Dialect:
    """Returns a dialect that takes dtypes from PyTorch, for bindings of libtorch that have none."""

    def changed(template: str) -> str:
        return template.replace("dtype=torch.", "dtype=libtorch.")

    prelude = f"import torch as libtorch\n{dialect.prelude}"
    return replace(dialect, prelude=prelude, tensor=changed(dialect.tensor), empty=changed(dialect.empty))


def _with_dtypes_of_arrays(dialect: Dialect, maker: str) -> Dialect:
    """Returns a dialect that makes tensors of NumPy arrays by a call, for frameworks whose module has no dtypes."""
    prelude = importing_numpy(dialect.prelude)
    before, after = f"torch.{maker}(numpy.", ", numpy.{dtype}){flags})"
    return replace(
        dialect, prelude=prelude, tensor=f"{before}array({{data}}{after}", empty=f"{before}zeros({{shape}}{after}"
    )


PARTS = ("functional", "ops")
"""The submodules in which functions are looked for if a framework has no `nn.functional`."""


def _parts(name: str) -> dict[str, ModuleType]:
    """Returns the submodules of a module that may have its functions, by their names."""
    found = {part: attempt(importlib.import_module, f"{name}.{part}") for part in PARTS}
    return {part: each for part, each in found.items() if isinstance(each, ModuleType)}


def _limit(op: str, found: Findings) -> Limit:
    """Returns the limit on an op: on the shapes of its operands, and on the attributes that its call leaves out."""
    counts = {int(name.rpartition(".")[2]) for name in found.dimensions if name.startswith(f"{op}.")}
    row = row_of(op)
    every = {len(shape) for first in row.fresh for rest in row.rest(first) for shape in (first, *rest)}
    dimensions = tuple(sorted(every - counts)) if counts else None
    return Limit(fixed(op, found.templates.get(op)), dimensions, broadcasts=op not in found.broadcasts)


def _otherwise(optimizer: str, defaults: Mapping[str, str]) -> Attrs:
    """Returns the settings of an optimizer whose defaults differ from PyTorch's, with PyTorch's values."""
    return tuple(pair for pair in OPTIMIZERS[optimizer].defaults if f"{optimizer}.{pair[0]}" in defaults)


def _unknown(gradient: Tensor) -> None:
    """Returns None, the identity of gradients that cannot be distinguished."""


def own_name(module: str) -> str:
    """Returns the name of the framework that a module is: that of the module, but if it is called ``torch`` and comes
    from another package than PyTorch, that of the package. The known differences of PyTorch are not about it.
    """
    return next(iter(_packages(module)), module) if module == PYTORCH else module


def version(module: ModuleType, name: str) -> str:
    """Returns the version of a module, or of the package that has it."""
    own = getattr(module, "__version__", None)
    if isinstance(own, str) and own:
        return own
    try:
        return version_of(next(iter(_packages(name)), name.partition(".")[0]))
    except PackageNotFoundError:
        return "unknown"


def _packages(module: str) -> Sequence[str]:
    """Returns the names of the installed packages that have a module, if none is called like the module."""
    top = module.partition(".")[0]
    try:
        version_of(top)
    except PackageNotFoundError:
        return packages_distributions().get(top, ())
    return ()
