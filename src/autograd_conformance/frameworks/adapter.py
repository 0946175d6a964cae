"""The interfaces between the suite and a framework: `Target` runs programs, `Adapter` has the calls for that.

An adapter translates calls and does nothing else. It must not emulate behaviour that its framework lacks, and must not
hide behaviour that its framework has. It claims only capabilities that the framework documents, and the suite tests
every claim. `Value` is the framework's own tensor type.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol, TypeVar

from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.limits import Limits
from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs.capabilities import PYTORCH, Capability, Traits
from autograd_conformance.programs.language import Attrs, Program
from autograd_conformance.programs.observations import Kind, Observation
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.regions import Region

Value = Any
HookFunction = Callable[[Value], Value | None]
"""A hook: it receives the gradient. If it returns a value, that value replaces the gradient."""


METHODS_OF: dict[tuple[Capability, ...], tuple[str, ...]] = {}
"""Additional methods of an adapter that claims all capabilities of the key: ``("hook", "remove", "hook_result")`` for
`HOOKS`.
"""

_Method = TypeVar("_Method", bound=Callable[..., Any])


def needed_for(*claims: Capability) -> Callable[[_Method], _Method]:
    """Marks a method of `Adapter` as one that adapters define if they claim all these capabilities."""

    def mark(method: _Method) -> _Method:
        METHODS_OF[claims] = (*METHODS_OF.get(claims, ()), method.__name__)
        return method

    return mark


class HookRaised(Exception):
    """The exception that a program's hook raises. The runner recognises it inside any exception that wraps it."""

    MESSAGE = "this hook of the program raises"


class Target(Protocol):
    """A framework under test: a function from programs to observations, with a description of the framework.

    `frameworks.target.InProcess` runs an adapter in this process; `frameworks.remote.client.Remote` uses another
    process.
    """

    @property
    def name(self) -> str:
        """Name of the framework; its file of known differences has the same name."""

    @property
    def version(self) -> str:
        """Version of the framework."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Capabilities that the framework claims. A rule applies if the framework claims every capability that the rule
        needs.
        """

    @property
    def absent(self) -> Collection[str]:
        """Forms of leaves, as named by `ops.rows.shapes.form` (``vectors``), of which the probe found that they do not
        read back as written.
        """

    @property
    def notes(self) -> Sequence[str]:
        """Notes of the adapter, and the claimed features (dtypes, forms of leaves and capabilities) that the probe did
        not find, one line each with the reason.
        """

    @property
    def traits(self) -> Traits:
        """The framework's choices where several behaviours are legal."""

    @property
    def trait_sources(self) -> Mapping[str, str]:
        """Address of the documentation or source code that states each trait, by the trait's name. A trait without a
        source is not in the mapping.
        """

    @property
    def environment(self) -> Sequence[str]:
        """The language and the packages of the process that runs the framework, each with its version, such as ``numpy
        2.4.0``; empty if the framework runs in the suite's own environment.
        """

    @property
    def ops(self) -> Collection[str]:
        """Names of the supported ops of the catalogue."""

    @property
    def writes(self) -> Collection[str]:
        """Names of the supported in-place ops of the catalogue; unused if the framework claims no writes."""

    @property
    def limits(self) -> Limits:
        """Limits on attributes and shapes, by name of an op or in-place op. A name that is missing has no limits."""

    @property
    def autocast(self) -> Mapping[str, str]:
        """The dtype in which an op computes under autocast, by the op's name; `OF_OPERANDS` for one that computes as
        usual. A name that is missing may do anything.
        """

    @property
    def dtypes(self) -> Sequence[str]:
        """Names of the dtypes that the framework computes in."""

    @property
    def dialect(self) -> Dialect | None:
        """Templates for the framework's code; None if failures are printed in the suite's own notation."""

    @property
    def has_regions(self) -> bool:
        """Whether the framework compiles, checkpoints or records several instructions together, as a region."""

    def without(self, ops: Collection[str]) -> Target:
        """Returns the same framework on a device that has no kernels for some ops; those ops are no longer in `ops`."""

    def regions(self, program: Program) -> Sequence[Region]:
        """Returns the regions of a program, each of which is instructions that run as one function; empty for a
        framework without regions.
        """

    @property
    def programs_each(self) -> int:
        """The number of programs that should share one compiled region; 0 if a new region costs no more than a known
        one.
        """

    @property
    def variables(self) -> Mapping[str, str]:
        """Environment variables that are set and may change the framework's behaviour, if the adapter names any."""

    def simpler_modes(self) -> Mapping[str, Target]:
        """Returns the same framework with fewer layers, such as no compiler, closest first; empty for most frameworks.

        Each key completes the sentence "it passes ...": ``without the checkpoint``.
        """

    @property
    def optimizers(self) -> Mapping[str, Collection[str]]:
        """Supported optimizers, each with the names of its supported settings."""

    @property
    def modules(self) -> Collection[str]:
        """Names of the supported modules, and of the supported ops that draw random numbers."""

    @property
    def random(self) -> Generator | None:
        """The framework's random number generator, or an object that sends seeds to the framework's process; None if
        there is none. The suite resets it before each program.
        """

    @property
    def saved_tensor_counter(self) -> Target | None:
        """A target that counts the framework's saved tensors: this target, another one, or None."""

    @property
    def script(self) -> Sequence[str]:
        """Command that runs a script in the framework's language, without the file name; empty if there is none."""

    @property
    def prints(self) -> bool:
        """Whether the target can run the printed code of a program."""

    def observe(self, program: Program) -> Observation:
        """Run a program, and return what happened at each instruction. Exceptions of the framework are outcomes.

        If the framework runs in another process, a crash or a timeout of that process raises an exception of
        `frameworks.environment.process_end`.
        """

    def observe_printed(self, program: Program) -> Observation:
        """Run the printed code of a program in place of adapter calls. Requires `prints`."""

    def crash_as_error(self) -> Target:
        """Returns the same framework, except that a crash or timeout of its process is an outcome: an error of unknown
        kind.
        """


class Generator(Protocol):
    """A random number generator with the methods that `hypothesis.register_random` needs."""

    def seed(self, number: int) -> object: ...
    def getstate(self) -> Any: ...
    def setstate(self, state: Any) -> object: ...


USUAL_OPTIMIZERS: Mapping[str, Collection[str]] = {
    "sgd": ("lr", "momentum", "nesterov", "weight_decay"),
    "adam": ("lr", "betas", "weight_decay"),
}
"""Optimizers, with their settings, of an adapter that claims optimizers and does not name them."""


class Adapter:
    """Base class of adapters, with which the suite calls a framework in this process.

    Every adapter defines the attributes without a value, and the methods from `reset` to `classify`. It defines further
    methods if it claims the capabilities that need them, which `frameworks.loading.requirements` lists. All other
    members have defaults.
    """

    name: str
    """Name of the framework."""
    version: str
    """Version of the framework."""
    capabilities: Collection[Capability]
    """Capabilities that the framework documents."""
    ops: Collection[str]
    """Names of the supported ops of the catalogue."""
    dtypes: Sequence[str]
    """Names of the dtypes that the framework computes in."""
    dialect: Dialect | None
    """Templates for the framework's code; None if failures are printed in the suite's own notation."""

    traits: Traits = PYTORCH
    """The framework's choices where several behaviours are legal, as it documents them."""
    trait_sources: ClassVar[Mapping[str, str]] = {}
    """Address of the documentation or source code that states each trait, by the name of the field of `Traits`."""
    packages: Sequence[str] = ()
    """Modules or packages of the framework. The framework raised an error if the traceback enters one of them. If there
    are none, the suite infers them from the adapter's imports.
    """
    insists: Collection[str] = ()
    """Features that the suite judges even if the probe would find them missing: names of dtypes and of
    `ops.rows.shapes.FORMS` whose leaves must read back as written. Also "errors", if `classify` recognises every error
    with which the framework refuses a call.
    """
    optimizers: ClassVar[Mapping[str, Collection[str]]] = USUAL_OPTIMIZERS
    """Supported optimizers of `ops.optimizers`, each with the names of its supported settings."""
    writes: Collection[str] = frozenset(WRITES)
    """Rows of `ops.inplace` that `write` supports."""
    limits: ClassVar[Limits] = {}
    """Limits on attributes and operand shapes, by the name of the op or in-place op."""
    modules: Collection[str] = ()
    """Modules of `ops.modules` and ops of `ops.random` that `apply` supports."""
    autocast: ClassVar[Mapping[str, str]] = {}
    """The dtype in which an op computes under autocast, by the op's name, as the framework's documentation lists it;
    `OF_OPERANDS` for an op that computes as usual. Ops whose behaviour is not documented are missing.
    """
    random: Generator | None = None
    """The framework's random number generator. The suite restores the same state before each program, so that failures
    replay.
    """
    notes: Sequence[str] = ()
    """Sentences about the adapter for the head of a report."""
    variables: Sequence[str] = ()
    """Prefixes of the names of environment variables that the framework reads. A report lists those that are set."""
    programs_each: int = 0
    """Approximate number of programs for each compiled region, if the framework takes far longer to compile a new
    region than to run a known one. The strategies reuse compiled regions to reach this number.
    """

    # -- every adapter defines these methods ---------------------------------------------------------------------------

    def reset(self) -> None:
        """Prepare for a new program, such as by clearing a tape that the framework keeps for the whole process. Called
        before every program.
        """
        raise NotImplementedError

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Value:
        """Make a leaf with the given data."""
        raise NotImplementedError

    def apply(self, op: str, operands: Sequence[Value], attrs: Attrs) -> Sequence[Value]:
        """Apply an op, and return all of its results in order."""
        raise NotImplementedError

    def detach(self, value: Value) -> Value:
        """Return the value without its history."""
        raise NotImplementedError

    def backward(
        self, roots: Sequence[Value], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        """Run a backward call. A cotangent of None is the implicit one; a `retain_graph` of None is the default.

        The suite passes the keywords `create_graph=True` and `inputs` only if the program does; an adapter that claims
        `CREATES_IN_LEAVES` or `INPUTS` accepts them.

        A framework must not write to its caller's cotangents. If it does not accept NumPy arrays, the adapter converts
        them, and copies the converted values back into the arrays after the call, so that the suite detects a write.
        """
        raise NotImplementedError

    def zero_grad(self, leaves: Sequence[Value], set_to_none: bool) -> None:
        """Clear the gradients of the leaves, to None or to zeros."""
        raise NotImplementedError

    def gradient(self, leaf: Value) -> Value | None:
        """Return the gradient that is stored in a leaf, or None."""
        raise NotImplementedError

    def identity(self, gradient: Value) -> int | None:
        """Return a number that differs between gradient objects, or None if the framework does not expose one."""
        raise NotImplementedError

    def read(self, value: Value) -> np.ndarray:
        """Return a copy of the elements."""
        raise NotImplementedError

    def dtype(self, value: Value) -> str:
        """Return the name of the dtype."""
        raise NotImplementedError

    def requires_grad(self, value: Value) -> bool | None:
        """Whether the value requires grad; None if the framework does not expose it."""
        raise NotImplementedError

    def classify(self, error: BaseException) -> Kind:
        """Return the kind of any exception, or `Kind.UNKNOWN` if the adapter does not recognise it."""
        raise NotImplementedError

    # -- a default fits most adapters ----------------------------------------------------------------------------------

    def prepare(self, program: Program) -> None:
        """Receive the next program, after `reset`; for example, to make a tape that outlasts the first call.

        The adapter may inspect the program, but must not compute the results of instructions from it.
        """

    def finish(self) -> None:
        """End a program, after its last instruction has run and its values have been read; for example, leave a mode
        that `prepare` entered.
        """

    def saved_tensor_counter(self) -> Adapter | None:
        """Return an adapter of the same framework that claims `COUNTS_SAVED`, or None if there is none.

        An adapter defines this method if it does not count saved tensors itself, because counting alters the
        framework's behaviour.
        """
        return None

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Return factories of adapters with fewer layers, closest first; for a mode of a framework, such as a compiler.

        Each key completes the sentence "it passes ...": 'with backend="eager"'.
        """
        return {}

    # -- a framework that compiles, checkpoints or records several instructions together, as a region ------------------

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """Whether an instruction may join a region, which the framework runs as one function; False for a framework
        without regions.

        `at` is the number of an instruction that computes values, and `run` holds the numbers of the instructions that
        are already in the region. An instruction that may join no region, not even an empty one, runs separately.
        """
        return False

    def unit(self, source: str, inputs: Sequence[Value]) -> Sequence[Value]:
        """Call the function `region`, which `source` defines in the adapter's dialect, and return its results in order.

        Equal regions have equal sources.
        """
        raise NotImplementedError

    # -- a functional framework, which has no graph for a backward call ------------------------------------------------

    def vjp(
        self, function: Callable[..., tuple[Value, ...]], values: Sequence[Value], cotangents: Sequence[np.ndarray]
    ) -> Sequence[Value]:
        """Return the gradient of a function with respect to each of its arguments, in order.

        The function returns a tuple of results, each of which is weighted with one cotangent. `vjp` may be called
        inside the function, too. The suite makes the functions from programs (`frameworks.running.functional`).
        """
        raise NotImplementedError

    # -- a capability needs each of these methods ----------------------------------------------------------------------

    @needed_for(Capability.FUNCTIONAL)
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
        """Return a gradient for each input, or None for an unused input."""
        raise NotImplementedError

    @needed_for(Capability.WRITES)
    def write(self, op: str, target: Value, operands: Sequence[Value], attrs: Attrs) -> None:
        """Run an in-place op."""
        raise NotImplementedError

    @needed_for(Capability.DETACHES_IN_PLACE)
    def detach_in_place(self, value: Value) -> None:
        """Detach the value from its history in place."""
        raise NotImplementedError

    @needed_for(Capability.SWITCHES)
    def set_requires_grad(self, value: Value, on: bool) -> None:
        """Set whether the value requires grad."""
        raise NotImplementedError

    @needed_for(Capability.RETAINS_GRAD)
    def retain_grad(self, value: Value) -> None:
        """Make a value that is not a leaf store its gradient, too."""
        raise NotImplementedError

    @needed_for(Capability.HOOKS)
    def hook(self, value: Value, function: HookFunction) -> Any:
        """Register a hook on the value's gradient, and return a handle for `remove`."""
        raise NotImplementedError

    @needed_for(Capability.ACCUMULATED_HOOKS)
    def accumulated_hook(self, leaf: Value, function: HookFunction) -> Any:
        """Register a hook on the gradient that the leaf stores after accumulation, and return a handle for `remove`."""
        raise NotImplementedError

    @needed_for(Capability.HOOKS)
    @needed_for(Capability.ACCUMULATED_HOOKS)
    def remove(self, handle: Any) -> None:
        """Remove a hook."""
        raise NotImplementedError

    @needed_for(Capability.HOOKS)
    def hook_result(self, gradient: Value, effect: str, factor: float) -> Value:
        """Return the value that a hook with the effect "scale", "replace" or "misshape" returns for a gradient."""
        raise NotImplementedError

    @needed_for(Capability.MODES)
    @needed_for(Capability.AUTOCAST)
    def mode(self, name: str) -> AbstractContextManager[Any]:
        """Return the context manager of a mode: one of `GRAD_MODES` or, if AUTOCAST is claimed, of `CAST_MODES`."""
        raise NotImplementedError

    @needed_for(Capability.DEFAULT_DTYPE)
    def default_dtype(self, dtype: str | None) -> None:
        """Set the default dtype of new tensors; None restores the initial one."""
        raise NotImplementedError

    @needed_for(Capability.MEMORY)
    def memory(self, value: Value) -> int | None:
        """Return a number that tensors share exactly if they share memory; None for a tensor with no elements."""
        raise NotImplementedError

    @needed_for(Capability.COUNTS_SAVED)
    def saved(self) -> int:
        """Return the number of saved tensors that graphs still store. A tensor that two ops saved counts twice.

        If the framework leaves freeing to a garbage collector, this method runs the collector first.
        """
        raise NotImplementedError

    @needed_for(Capability.LAYOUT)
    def strides(self, value: Value) -> tuple[int, ...]:
        """Return the strides, in elements."""
        raise NotImplementedError

    @needed_for(Capability.ASSIGNS)
    def assign_grad(self, leaf: Value, value: Value | None) -> None:
        """Store a value, or None, as the gradient of a leaf."""
        raise NotImplementedError

    @needed_for(Capability.MAKES_OPTIMIZERS)
    def optimizer(self, leaves: Sequence[Value], optimizer: str, settings: Attrs) -> object:
        """Make an optimizer. Later steps with equal arguments are steps of this optimizer.

        The suite passes the keyword `groups` to this method, `step` and `clear` only if the program has parameter
        groups; an adapter that claims `GROUPS` accepts it.
        """
        raise NotImplementedError

    @needed_for(Capability.OPTIMIZERS)
    def step(self, leaves: Sequence[Value], optimizer: str, settings: Attrs) -> None:
        """Run a step of an optimizer."""
        raise NotImplementedError

    @needed_for(Capability.MAKES_OPTIMIZERS)
    def clear(self, leaves: Sequence[Value], optimizer: str, settings: Attrs, set_to_none: bool) -> None:
        """Clear the gradients of all leaves with the optimizer's own method."""
        raise NotImplementedError

    @needed_for(Capability.CLIPS)
    def clip(self, leaves: Sequence[Value], kind: str, bound: float) -> None:
        """Clip the gradients of the leaves by their common "norm", or by "value"."""
        raise NotImplementedError


def defines(adapter: object, method: str) -> bool:
    """Whether an adapter has a method, and not only the one of `Adapter`."""
    found = getattr(adapter, method, None)
    return callable(found) and getattr(found, "__func__", None) is not getattr(Adapter, method)


_FORMER = frozenset(
    f"Has{name}"
    for name in (
        "CostlyRegions", "CostlyUnits", "Foresight", "Insisted", "Limits", "Modules", "Optimizers", "Packages",
        "Plainer", "Preparation", "Random", "Regions", "SavedTensorCounter", "SimplerModes", "TraitSources", "Traits",
        "Units", "Variables", "Vjp", "Writes",
    )
) | {"FullAdapter"}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Returns `Adapter`, with a warning, for the name of a former protocol, such as ``HasRegions``; for one release."""
    if name not in _FORMER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"{name} is a part of Adapter now; inherit Adapter. The name ends with the next release", FutureWarning, 2
    )
    return Adapter
