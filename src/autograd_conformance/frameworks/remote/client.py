"""`Remote`: a framework in a server process, as a target."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from autograd_conformance.frameworks.adapter import USUAL_OPTIMIZERS
from autograd_conformance.frameworks.environment.process_end import ENDED, Crashed, TimedOut
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.probing.probe import NOTHING_MISSING, ProbeResult
from autograd_conformance.frameworks.reading import identities
from autograd_conformance.frameworks.remote.codecs import dialects
from autograd_conformance.frameworks.remote.protocol import Handshake
from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.limits import Limits
from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Kind, Observation, Raised, Skipped, StepObservation
from autograd_conformance.programs.regions import Region, region_of


def _nothing(program: Program) -> None:
    """Does nothing with a program; the default of `note`."""


class Seeds:
    """The server's random number generator, as `hypothesis.register_random` needs it. The next request contains the
    seed.
    """

    def __init__(self, connection: Replies) -> None:
        self.connection = connection

    def seed(self, number: int) -> None:
        """Seed the generator before the next program."""
        self.connection.seed = number

    def getstate(self) -> int | None:
        """Returns the seed that the next request will contain, or None."""
        return self.connection.seed

    def setstate(self, state: int | None) -> None:
        """Set the seed that the next request will contain, or None."""
        self.connection.seed = state


class Replies(Protocol):
    """The source of replies about programs: the connection to a server, or known answers."""

    seed: int | None

    def handshake(self) -> Handshake:
        """Returns the framework as it describes itself."""

    def observe(self, programs: Iterable[Program], printed: bool = False) -> Iterator[Observation]:
        """Yields the observations of several programs."""

    def regions(self, program: Program) -> tuple[tuple[int, ...], ...]:
        """Returns the instructions of each region of a program."""

    def another(self, counts_saved: bool = False, simpler_mode: str | None = None) -> Replies:
        """Returns the same framework in another process."""

    def code(self, op: str, operands: Sequence[str], attrs: Mapping[str, Any]) -> str:
        """Returns the code of an op in the framework's language."""

    def close(self) -> None:
        """Ends the process, if there is one."""


@dataclass(frozen=True)
class Remote:
    """A framework in a server process."""

    connection: Replies
    """Connection to the server."""
    note: Callable[[Program], object] = _nothing
    """A function that receives each program before it runs; a session writes the program to a file that outlasts a
    crash.
    """
    crash_is_error: bool = field(default=False, compare=False)
    """Whether a crash or timeout of the server is an outcome instead of an exception."""
    missing: frozenset[str] = frozenset()
    """Ops that the server supports, but for which its device has no kernels."""
    probed: ProbeResult = NOTHING_MISSING
    """The result of the probe with which this process tested the server: the forms of leaves that do not read back as
    written.
    """

    def observe(self, program: Program) -> Observation:
        """Run a program, and return what happened at each instruction. Raises `Crashed` or `TimedOut` of
        `frameworks.environment.process_end` if the server ends or does not reply in time.
        """
        return self._observed(program, printed=False)

    def observe_printed(self, program: Program) -> Observation:
        """Run the printed code of a program in place of calls of the adapter."""
        return self._observed(program, printed=True)

    def observe_all(self, programs: Iterable[Program]) -> Iterator[Observation]:
        """Run several programs, and yield their observations in order. Several requests are sent ahead
        of the replies.
        """
        return self.connection.observe(self._noted(programs))

    def _noted(self, programs: Iterable[Program]) -> Iterator[Program]:
        for program in programs:
            self.note(program)
            yield program

    def _observed(self, program: Program, printed: bool) -> Observation:
        self.note(program)
        try:
            observation = next(self.connection.observe((program,), printed))
        except ENDED as error:
            if not self.crash_is_error:
                raise
            return _ended(program, error)
        if any(len(step.gradients) > 1 and identities.alike(step.gradients) for step in observation):
            identities.check_differ(self, lambda other: next(self.connection.observe((other,))))
        return observation

    @property
    def prints(self) -> bool:
        """Whether the server can run the printed code of a program."""
        return self.handshake.prints and self.dialect is not None

    @property
    def script(self) -> Sequence[str]:
        """Command that runs a script in the server's language, without the file name; empty if the server names
        none.
        """
        return self.handshake.script

    def crash_as_error(self) -> Remote:
        """Returns the same framework, except that a crash or timeout of the server is an outcome: an error of unknown
        kind.
        """
        return replace(self, crash_is_error=True)

    @property
    def handshake(self) -> Handshake:
        """The framework as the server describes it."""
        return self.connection.handshake()

    @property
    def name(self) -> str:
        """Name of the framework."""
        return self.handshake.name

    @property
    def version(self) -> str:
        """Version of the framework."""
        return self.handshake.version

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Capabilities that the framework claims."""
        return self.handshake.capabilities

    @property
    def absent(self) -> frozenset[str]:
        """Forms of leaves, such as ``vectors``, that the probe found not to read back as written."""
        return self.probed.forms

    @property
    def notes(self) -> Sequence[str]:
        """Lists, one per line, the claimed features that the worker's own probe did not find, and then those that this
        process's probe did not find.
        """
        return (*self.handshake.notes, *self.probed.notes)

    @property
    def traits(self) -> Traits:
        """The framework's choices where several behaviours are legal."""
        return self.handshake.traits

    @property
    def trait_sources(self) -> Mapping[str, str]:
        """Address of the documentation or source code that states each trait, by the trait's name, as far as the server
        cites it.
        """
        return self.handshake.trait_sources

    @property
    def environment(self) -> Sequence[str]:
        """Language of the server, and versions of the packages that it names."""
        return (self.handshake.language, *(f"{name} {version}" for name, version in self.handshake.packages.items()))

    @property
    def ops(self) -> Collection[str]:
        """Names of the supported ops of the catalogue, without those that the device has no kernels for."""
        return self.handshake.ops - self.missing

    @property
    def writes(self) -> Collection[str]:
        """Names of the supported in-place ops; all of the catalogue's if the server names none."""
        return frozenset(WRITES) if self.handshake.writes is None else self.handshake.writes

    @property
    def autocast(self) -> Mapping[str, str]:
        """The dtypes in which the framework's ops compute under autocast."""
        return self.handshake.autocast

    @property
    def limits(self) -> Limits:
        """Limits on ops and in-place ops."""
        return self.handshake.limits

    @property
    def dtypes(self) -> Sequence[str]:
        """Names of the dtypes that the framework computes in."""
        return self.handshake.dtypes

    @cached_property
    def dialect(self) -> Dialect | None:
        """Templates for the framework's code; None if the server sends none, or its language is not Python."""
        if self.handshake.dialect is None or not self.handshake.language.startswith("Python"):
            return None
        try:
            dialect = dialects.from_json(self.handshake.dialect, self.connection.code)
        except dialects.MalformedDialect as error:
            raise AdapterError(f"{self.name}: its dialect is invalid: {error}") from None
        silent = sorted(set(self.ops) - set(dialect.ops))
        if silent:
            raise AdapterError(f"{self.name}: the dialect has no code for {', '.join(silent[:5])}")
        return dialect

    @property
    def optimizers(self) -> Mapping[str, Collection[str]]:
        """Supported optimizers, each with its settings; `USUAL_OPTIMIZERS` if the server names none."""
        named = self.handshake.optimizers
        return USUAL_OPTIMIZERS if named is None else named

    @property
    def modules(self) -> Collection[str]:
        """Names of the supported modules."""
        return self.handshake.modules

    @cached_property
    def random(self) -> Seeds | None:
        """The generator that sends seeds to the server, if the server accepts them."""
        return Seeds(self.connection) if self.handshake.random else None

    @cached_property
    def saved_tensor_counter(self) -> Remote | None:
        """This target if it counts saved tensors, else a connection to a server that counts them, else None."""
        if Capability.COUNTS_SAVED in self.capabilities:
            return self
        if not self.handshake.saved_tensor_counter:
            return None
        return replace(self, connection=self.connection.another(counts_saved=True))

    def without(self, ops: Collection[str]) -> Remote:
        """Returns the same target, except that its device has no kernels for some ops."""
        return replace(self, missing=self.missing | frozenset(ops))

    @property
    def has_regions(self) -> bool:
        """Whether the framework compiles, checkpoints or records several instructions together, as a region."""
        return self.handshake.has_regions

    def regions(self, program: Program) -> tuple[Region, ...]:
        """Returns the regions of a program, each of which is instructions that run as one function; empty for a
        framework without regions.
        """
        if not self.handshake.has_regions:
            return ()
        return tuple(region_of(program, steps) for steps in self.connection.regions(program))

    @property
    def variables(self) -> Mapping[str, str]:
        """Empty: the server has its own environment, which the protocol does not report."""
        return {}

    @property
    def programs_each(self) -> int:
        """The number of programs that should share one compiled region; 0 if a new region is cheap."""
        return self.handshake.programs_each

    def simpler_modes(self) -> Mapping[str, Remote]:
        """Returns the same framework with fewer layers, each in a separate server process."""
        return {
            words: replace(self, connection=self.connection.another(simpler_mode=words))
            for words in self.handshake.simpler_modes
        }


def _ended(program: Program, error: Crashed | TimedOut) -> Observation:
    """Returns the observation of a program during which the server ended: its first instruction raised, and the others
    were skipped.
    """
    first = StepObservation(Raised(Kind.UNKNOWN, type(error).__name__, error.how))
    return (first, *(StepObservation(Skipped()),) * (len(program) - 1))
