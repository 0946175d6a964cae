"""What is under test, and what an adapter is: the few calls through which the suite reaches a framework.

An adapter translates and never helps: it neither emulates what its framework does not do nor hides what it does. It
claims only what the framework's documentation claims; what it claims is judged. A value here is whatever the
framework uses for a tensor.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from autograd_conformance.ops.limits import Limits
from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Attrs, Groups, Program
from autograd_conformance.programs.observations import Kind, Observation
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.regions import Region

Value = Any
HookFunction = Callable[[Value], Value | None]
"""What a hook calls: with the gradient; what it returns, if anything, takes the gradient's place."""


class HookRaised(Exception):
    """What a hook of a program raises; the runner knows it in whatever a framework wraps it in."""

    MESSAGE = "this hook of the program raises"


class Target(Protocol):
    """A framework under test: a function from programs to observations, and what the framework says of itself.

    Whatever runs a program is one: an adapter in this process (`frameworks.running.target.InProcess`), a process
    elsewhere.
    """

    @property
    def name(self) -> str:
        """The framework's name, under which its known differences are listed."""

    @property
    def version(self) -> str:
        """The framework's version."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the framework claims to do: a rule applies where it claims all that the rule needs."""

    @property
    def absent(self) -> Collection[str]:
        """The forms of leaves, by `ops.rows.shapes.form`, that were found not to read back as they are written."""

    @property
    def notes(self) -> Sequence[str]:
        """What else it was found not to have though it is claimed, and how, a line each."""

    @property
    def traits(self) -> Traits:
        """Which of the legal answers the framework gives, where frameworks differ."""

    @property
    def trait_sources(self) -> Mapping[str, str]:
        """Where that is documented, by the name of the trait; a trait without a source is not there."""

    @property
    def environment(self) -> Sequence[str]:
        """What it runs on where that is not the suite's environment: a language or a package with its version each."""

    @property
    def ops(self) -> Collection[str]:
        """The ops of the catalogue that it has, by name."""

    @property
    def writes(self) -> Collection[str]:
        """The ops in place of the catalogue that it has, by name, where it claims to have any."""

    @property
    def limits(self) -> Limits:
        """What of some ops and writes it takes, where that is not all; others are not limited."""

    @property
    def dtypes(self) -> Sequence[str]:
        """The names of the dtypes that it computes in."""

    @property
    def dialect(self) -> Dialect | None:
        """How its code is written; None where failures are told in the suite's own notation."""

    @property
    def has_regions(self) -> bool:
        """Whether it takes runs of instructions as units."""

    def without(self, ops: Collection[str]) -> Target:
        """The same framework on a device that has no kernels of some ops: they are not among its ops."""

    def regions(self, program: Program) -> Sequence[Region]:
        """The runs of a program's instructions that it takes as units; none in most frameworks."""

    @property
    def programs_each(self) -> int:
        """How many programs a new unit is to be there for; 0 where it costs no more than others."""

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment variables that are set and may change what it does, as far as it says which do."""

    def simpler_modes(self) -> Mapping[str, Target]:
        """The same framework with less between it and a program, the nearest first, each with words that end the
        sentence "it passes ..."; none in most frameworks.
        """

    @property
    def optimizers(self) -> Mapping[str, Collection[str]]:
        """The optimizers that it has, each with the names of the settings that it knows."""

    @property
    def modules(self) -> Collection[str]:
        """The modules of layers, and the ops that draw random numbers, that it has."""

    @property
    def random(self) -> Generator | None:
        """Its random number generator in this process, which is set to the same state before each program."""

    @property
    def saved_tensor_counter(self) -> Target | None:
        """The target that counts this framework's saved tensors: itself, another one, or none."""

    @property
    def script(self) -> Sequence[str]:
        """The words of the command that runs a script in its language, less the file; none where there is none."""

    @property
    def prints(self) -> bool:
        """Whether it runs the printed code of a program."""

    def observe(self, program: Program) -> Observation:
        """What the framework does with a program; its exceptions are outcomes. Where it runs in another process, the
        end of that is raised, as `frameworks.process_end` has it.
        """

    def observe_printed(self, program: Program) -> Observation:
        """What the program's printed code does, run in place of calls; asked only where it `prints`."""

    def crash_as_error(self) -> Target:
        """The same framework, which takes the end of another process for an error that no rule knows."""


class Generator(Protocol):
    """A random number generator, as `hypothesis.register_random` takes it."""

    def seed(self, number: int) -> object: ...
    def getstate(self) -> Any: ...
    def setstate(self, state: Any) -> object: ...


class Adapter(Protocol):
    """What every adapter has: the calls through which a framework in this process is reached."""

    name: str
    """The framework's name."""
    version: str
    """Its version."""
    capabilities: Collection[Capability]
    """What its documentation claims."""
    ops: Collection[str]
    """The ops of the catalogue that it has, by name."""
    dtypes: Sequence[str]
    """The names of the dtypes that it computes in."""
    dialect: Dialect | None
    """How its code is written, if failures are to be told in it."""

    def reset(self) -> None:
        """A program is about to run."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Value:
        """A leaf with these values."""

    def apply(self, op: str, operands: Sequence[Value], attrs: Attrs) -> Sequence[Value]:
        """All results of an op, in order."""

    def detach(self, value: Value) -> Value:
        """The value without its history."""

    def backward(
        self, roots: Sequence[Value], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        """A backward call; a cotangent of None is the implicit one, a `retain_graph` of None the default.

        A framework may not write into its caller's cotangents. One that takes no arrays gets copies; what it left in
        them is copied back into the arrays, so that a write is seen.
        """

    def zero_grad(self, leaves: Sequence[Value], set_to_none: bool) -> None:
        """Clear the leaves' gradients, to None or to zeros."""

    def gradient(self, leaf: Value) -> Value | None:
        """The gradient that a leaf holds, or None."""

    def identity(self, gradient: Value) -> int | None:
        """A number that tells two gradient objects apart; None where that cannot be seen."""

    def read(self, value: Value) -> np.ndarray:
        """A copy of the values."""

    def dtype(self, value: Value) -> str:
        """The name of the dtype."""

    def requires_grad(self, value: Value) -> bool | None:
        """Whether the value requires grad; None where the framework does not say."""

    def classify(self, error: BaseException) -> Kind:
        """The kind of an exception, of whatever class; `Kind.UNKNOWN` for one that the adapter does not know."""


@runtime_checkable
class HasTraits(Protocol):
    """An adapter whose framework gives other legal answers than PyTorch; one that does not say so has PyTorch's."""

    traits: Traits
    """The answers, each as the framework documents it."""


@runtime_checkable
class HasTraitSources(Protocol):
    """An adapter that says where its framework documents the answers that its traits name."""

    trait_sources: Mapping[str, str]
    """For traits, by their names in `Traits`, where the framework's documentation or source says so."""


@runtime_checkable
class HasPackages(Protocol):
    """An adapter that says where its framework's code stands; elsewhere that is found by what the adapter imports."""

    packages: Sequence[str]
    """The modules, or packages, that are the framework: an error is theirs where one of them was entered."""


@runtime_checkable
class HasInsisted(Protocol):
    """An adapter that has something judged which would else count as not being there."""

    insists: Collection[str]
    """Names of dtypes and of `ops.rows.shapes.FORMS`, whose leaves have to read back as they were written; "errors",
    where `classify` knows every error by which the framework refuses a call.
    """


@runtime_checkable
class HasOptimizers(Protocol):
    """An adapter that says which optimizers it has; one that does not has `USUAL_OPTIMIZERS`."""

    optimizers: Mapping[str, Collection[str]]
    """Each optimizer of `ops.optimizers` that it has, with the names of the settings that it knows."""


@runtime_checkable
class HasWrites(Protocol):
    """An adapter that names its ops in place; one that does not has all those whose op it has."""

    writes: Collection[str]
    """The rows of `ops.inplace` that `write` knows."""


@runtime_checkable
class HasLimits(Protocol):
    """An adapter that takes some ops or writes only with some attributes, or on operands of some shapes."""

    limits: Limits
    """What it takes of these, by name."""


@runtime_checkable
class HasPreparation(Protocol):
    """An adapter whose framework wants to know before a program begins what it will be asked: whether a tape is to
    outlast its first call, say.
    """

    def prepare(self, program: Program) -> None:
        """A program is about to run, behind `reset`. It may be looked through; what an instruction has to give must
        not be worked out from it.
        """


@runtime_checkable
class HasModules(Protocol):
    """An adapter that names its modules; one that does not has none."""

    modules: Collection[str]
    """The modules of `ops.modules`, and the ops of `ops.random`, that `apply` knows."""


@runtime_checkable
class HasRandom(Protocol):
    """An adapter whose framework draws random numbers."""

    random: Generator
    """The framework's generator: it is set to the same state before each program, so that failures replay."""


@runtime_checkable
class HasSavedTensorCounter(Protocol):
    """An adapter that counts no saved tensors, because that would change what it does, but knows one that does."""

    def saved_tensor_counter(self) -> Adapter:
        """An adapter of the same framework that claims `COUNTS_SAVED`."""


@runtime_checkable
class HasRegions(Protocol):
    """An adapter whose framework takes runs of instructions as units: it compiles them, or recomputes them."""

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """Whether an instruction that computes, by its number, can stand in one unit with those that are in it already;
        one that can stand in none is run by itself.
        """

    def unit(self, source: str, inputs: Sequence[Value]) -> Sequence[Value]:
        """What the function `region`, which `source` defines in the adapter's dialect, gives for some inputs: its
        results, in order. Equal units have equal sources.
        """


@runtime_checkable
class HasCostlyRegions(Protocol):
    """An adapter whose framework takes far longer for a new unit than for a program of units that it has seen."""

    programs_each: int
    """How many programs, about, a new unit is to be there for: others are drawn near those that it was drawn for."""


@runtime_checkable
class HasVariables(Protocol):
    """An adapter whose framework does other things where environment variables say so."""

    variables: Sequence[str]
    """How their names begin; a report tells those that are set."""


@runtime_checkable
class HasVjp(Protocol):
    """An adapter of a functional framework, which has no graph that a call could go through: programs are made into
    functions for it (`frameworks.running.functional`).
    """

    def vjp(
        self, function: Callable[..., tuple[Value, ...]], values: Sequence[Value], cotangents: Sequence[np.ndarray]
    ) -> Sequence[Value]:
        """The gradients of a function of some values, one for each of these, in order: of its results, which it gives
        as a tuple, weighted with one cotangent each. It is called within functions, too.
        """


@runtime_checkable
class HasSimplerModes(Protocol):
    """An adapter of a framework's mode that can be left out, or be less of one."""

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """What makes the adapters of the lesser modes, the nearest first, each with words that end the sentence "it
        passes ...": 'with backend="eager"'.
        """


class FullAdapter(Adapter, Protocol):
    """What adapters have that claim everything; `frameworks.requirements` says which capability
    needs which of these methods."""

    def backward(
        self,
        roots: Sequence[Value],
        cotangents: Sequence[np.ndarray | None],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Value] | None = None,
    ) -> None:
        """A backward call; `create_graph` and `inputs` are given only where a program asks for them."""

    def grad(
        self,
        roots: Sequence[Value],
        inputs: Sequence[Value],
        cotangents: Sequence[np.ndarray | None],
        retain_graph: bool | None,
        create_graph: bool,
        allow_unused: bool | None,
        materialize_grads: bool,
    ) -> Sequence[Value | None]:
        """A gradient for each input, None for one that is not used."""

    def write(self, op: str, target: Value, operands: Sequence[Value], attrs: Attrs) -> None:
        """An op in place."""

    def detach_in_place(self, value: Value) -> None:
        """Cut the value off from its history."""

    def set_requires_grad(self, value: Value, on: bool) -> None:
        """Let the value require grad, or no longer."""

    def retain_grad(self, value: Value) -> None:
        """Let a value that is no leaf hold its gradient, too."""

    def hook(self, value: Value, function: HookFunction) -> Any:
        """Register a function of the value's gradient; a handle for `remove`."""

    def accumulated_hook(self, leaf: Value, function: HookFunction) -> Any:
        """Register a function of the gradient that the leaf holds after accumulation; a handle for `remove`."""

    def remove(self, handle: Any) -> None:
        """Remove a hook."""

    def hook_result(self, gradient: Value, effect: str, factor: float) -> Value:
        """What a hook with the effect "scale", "replace" or "misshape" returns for a gradient."""

    def mode(self, name: str) -> AbstractContextManager[Any]:
        """The context manager of a grad mode."""

    def default_dtype(self, dtype: str | None) -> None:
        """Make a dtype the default of tensors that are given none; None: the one that was the default at first."""

    def memory(self, value: Value) -> int | None:
        """A number that tensors have in common exactly if they share memory; None where there are no elements."""

    def saved(self) -> int:
        """How many tensors ops have saved and graphs still hold, one that two ops saved counted twice.

        Where a framework leaves freeing to a garbage collector, this runs the collector first.
        """

    def strides(self, value: Value) -> tuple[int, ...]:
        """The strides, in elements."""

    def assign_grad(self, leaf: Value, value: Value | None) -> None:
        """Let the leaf hold a value, or None, as its gradient."""

    def optimizer(self, leaves: Sequence[Value], optimizer: str, settings: Attrs, groups: Groups = ()) -> object:
        """Make the optimizer that equal steps are steps of."""

    def step(self, leaves: Sequence[Value], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        """A step of an optimizer; `groups` are given only where a program asks for them."""

    def clear(
        self, leaves: Sequence[Value], optimizer: str, settings: Attrs, set_to_none: bool, groups: Groups = ()
    ) -> None:
        """The optimizer's own way to clear the gradients of all its leaves."""

    def clip(self, leaves: Sequence[Value], kind: str, bound: float) -> None:
        """Clip the leaves' gradients by the "norm" of all, or by "value"."""


USUAL_OPTIMIZERS = {"sgd": ("lr", "momentum", "nesterov", "weight_decay"), "adam": ("lr", "betas", "weight_decay")}
"""The optimizers, with their settings, of an adapter that claims optimizers and is no `HasOptimizers`."""

_RENAMED = {
    "HasCostlyUnits": HasCostlyRegions,
    "HasForesight": HasPreparation,
    "HasPlainer": HasSimplerModes,
    "HasUnits": HasRegions,
}


def __getattr__(name: str) -> Any:
    """A protocol by its old name, for one release."""
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = _RENAMED[name]
    warnings.warn(f"{name} is named {found.__name__} now; the old name ends with the next release", FutureWarning, 2)
    return found
