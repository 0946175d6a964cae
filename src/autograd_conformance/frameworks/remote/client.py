"""A framework at the far end of a link, as a target: programs go over, observations come back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from autograd_conformance.frameworks.adapter import USUAL_OPTIMIZERS
from autograd_conformance.frameworks.environment.process_end import ENDED, Crashed, TimedOut
from autograd_conformance.frameworks.probing.probe import NOTHING_MISSING, ProbeResult
from autograd_conformance.frameworks.reading import identities
from autograd_conformance.frameworks.registry import AdapterError
from autograd_conformance.frameworks.remote.codecs import dialects
from autograd_conformance.frameworks.remote.connection import Connection
from autograd_conformance.frameworks.remote.protocol import Handshake
from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.limits import Limits
from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Kind, Observation, Raised, Skipped, StepObservation
from autograd_conformance.programs.regions import Region, region_of


def _nothing(program: Program) -> None:
    """Nothing is noted of a program."""


class Seeds:
    """The far end's random number generator, as `hypothesis.register_random` takes it: the seed goes over with the next
    program.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def seed(self, number: int) -> None:
        """Seed it before the next program."""
        self.connection.seed = number

    def getstate(self) -> int | None:
        """The seed that is still to go over."""
        return self.connection.seed

    def setstate(self, state: int | None) -> None:
        """Have a seed go over that once was to, or none."""
        self.connection.seed = state


@dataclass(frozen=True)
class Remote:
    """A framework at the far end of a link."""

    connection: Connection
    """What runs its programs."""
    note: Callable[[Program], object] = _nothing
    """Told each program before it runs; a session writes it to its journal."""
    crash_is_error: bool = field(default=False, compare=False)
    """Whether the end of its process is an observation like others, and not raised."""
    missing: frozenset[str] = frozenset()
    """The ops that it named and that its device has no kernels of."""
    probed: ProbeResult = NOTHING_MISSING
    """What was found by trying."""

    def observe(self, program: Program) -> Observation:
        """What the framework does with a program; raises what `frameworks.process_end` names where it ends its
        process.
        """
        return self._observed(program, printed=False)

    def observe_printed(self, program: Program) -> Observation:
        """What the program's printed code does, run in place of calls."""
        return self._observed(program, printed=True)

    def observe_all(self, programs: Iterable[Program]) -> Iterator[Observation]:
        """What some programs do, in order; several are on their way at a time."""
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
        """Whether the far end runs the printed code of a program."""
        return self.handshake.prints and self.dialect is not None

    @property
    def script(self) -> Sequence[str]:
        """The words of the command that runs a script in its language, as far as it says them."""
        return self.handshake.script

    def crash_as_error(self) -> Remote:
        """The same framework; a program that ends its process has raised an error that no rule knows."""
        return replace(self, crash_is_error=True)

    @property
    def handshake(self) -> Handshake:
        """What the far end says of itself."""
        return self.connection.handshake()

    @property
    def name(self) -> str:
        """The framework's name."""
        return self.handshake.name

    @property
    def version(self) -> str:
        """The framework's version."""
        return self.handshake.version

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the framework claims to do."""
        return self.handshake.capabilities

    @property
    def absent(self) -> frozenset[str]:
        """The forms of leaves that do not read back as they were written."""
        return self.probed.forms

    @property
    def notes(self) -> Sequence[str]:
        """What was found not to be there, a line each."""
        return (*self.handshake.notes, *self.probed.notes)

    @property
    def traits(self) -> Traits:
        """Which of the legal answers it gives."""
        return self.handshake.traits

    @property
    def trait_sources(self) -> Mapping[str, str]:
        """Where they are documented, as far as it says so."""
        return self.handshake.trait_sources

    @property
    def environment(self) -> Sequence[str]:
        """The language of the far end, and the packages that it stands on, as far as it names them."""
        return (self.handshake.language, *(f"{name} {version}" for name, version in self.handshake.packages.items()))

    @property
    def ops(self) -> Collection[str]:
        """The ops of the catalogue that it has."""
        return self.handshake.ops - self.missing

    @property
    def writes(self) -> Collection[str]:
        """The ops in place that it names; all where it names none."""
        return frozenset(WRITES) if self.handshake.writes is None else self.handshake.writes

    @property
    def limits(self) -> Limits:
        """What it takes of some ops and writes."""
        return self.handshake.limits

    @property
    def dtypes(self) -> Sequence[str]:
        """The dtypes that it computes in."""
        return self.handshake.dtypes

    @cached_property
    def dialect(self) -> Dialect | None:
        """How its code is written; None where it does not say, and in languages other than Python."""
        if self.handshake.dialect is None or not self.handshake.language.startswith("Python"):
            return None
        try:
            dialect = dialects.from_json(self.handshake.dialect, self.connection.code)
        except dialects.MalformedDialect as error:
            raise AdapterError(f"{self.name}: its dialect is none: {error}") from None
        silent = sorted(set(self.ops) - set(dialect.ops))
        if silent:
            raise AdapterError(f"{self.name}: the dialect has no code for {', '.join(silent[:5])}")
        return dialect

    @property
    def optimizers(self) -> Mapping[str, Collection[str]]:
        """The optimizers that it has, with their settings; the usual ones where it names none."""
        named = self.handshake.optimizers
        return USUAL_OPTIMIZERS if named is None else named

    @property
    def modules(self) -> Collection[str]:
        """The modules that it has."""
        return self.handshake.modules

    @cached_property
    def random(self) -> Seeds | None:
        """What takes the seed of its random number generator, if it has one."""
        return Seeds(self.connection) if self.handshake.random else None

    @cached_property
    def saved_tensor_counter(self) -> Remote | None:
        """This target where it counts saved tensors itself, else another process of it that does, if there is one."""
        if Capability.COUNTS_SAVED in self.capabilities:
            return self
        if not self.handshake.saved_tensor_counter:
            return None
        return replace(self, connection=self.connection.another(counts_saved=True))

    def without(self, ops: Collection[str]) -> Remote:
        """The same, but for some ops that its device has no kernels of."""
        return replace(self, missing=self.missing | frozenset(ops))

    @property
    def has_regions(self) -> bool:
        """Whether the framework takes runs of instructions as units."""
        return self.handshake.has_regions

    def regions(self, program: Program) -> tuple[Region, ...]:
        """The runs of a program's instructions that the framework takes as units."""
        if not self.handshake.has_regions:
            return ()
        return tuple(region_of(program, steps) for steps in self.connection.units(program))

    @property
    def variables(self) -> Mapping[str, str]:
        """None: the far end has an environment of its own, of which it tells nothing."""
        return {}

    @property
    def programs_each(self) -> int:
        """How many programs a new unit is to be there for."""
        return self.handshake.programs_each

    def simpler_modes(self) -> Mapping[str, Remote]:
        """The same framework, in processes of their own, with less between it and a program."""
        return {
            words: replace(self, connection=self.connection.another(simpler_mode=words))
            for words in self.handshake.simpler_modes
        }


def _ended(program: Program, error: Crashed | TimedOut) -> Observation:
    """What is seen of a program that ended its process: its first instruction raised, and nothing else ran."""
    first = StepObservation(Raised(Kind.UNKNOWN, type(error).__name__, error.how))
    return (first, *(StepObservation(Skipped()),) * (len(program) - 1))
