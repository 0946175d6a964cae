"""The lines that go over the wire: a greeting first, then a program a line, and an answer to each.

docs/protocol.md tells a far end's author what stands in them, and `protocol.schema.json` the same to a machine. What is
wrong with an answer is said in words that its author understands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from autograd_conformance.frameworks.probing.declarations import NO_PATH, leads_elsewhere
from autograd_conformance.frameworks.remote.codecs import limits
from autograd_conformance.ops.catalogue import APPLIED, WRITES
from autograd_conformance.ops.limits import Limits
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.programs.capabilities import PYTORCH, Capability, Traits
from autograd_conformance.programs.formats import codec, observation_codec
from autograd_conformance.programs.language import DTYPES, Attrs, Program
from autograd_conformance.programs.observations import Observation

VERSION = 1
"""The version of the protocol; that of programs stands in each of them."""

SHOWN = 200
"""How many characters of a line that is wrong are shown."""

Json = Any


class MalformedReply(ValueError):
    """A line is no answer to what was asked; the message says what is wrong."""


@dataclass(frozen=True)
class Handshake:
    """What a far end says of itself before anything else."""

    name: str
    """The framework's name, under which its known differences are listed."""
    version: str
    """Its version."""
    language: str
    """The language in which programs of the framework are written, with its version: "Python 3.11"."""
    capabilities: frozenset[Capability]
    """What its documentation claims."""
    ops: frozenset[str]
    """The ops of the catalogue that it has."""
    dtypes: tuple[str, ...]
    """The dtypes that it computes in."""
    devices: tuple[str, ...] = ()
    """The devices that it could be asked for; none where it does not say."""
    traits: Traits = PYTORCH
    """Which of the legal answers it gives."""
    trait_sources: Mapping[str, str] = field(default_factory=dict)
    """Where they are documented, by the trait's name."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """What it stands on and may behave by, with versions, as {"numpy": "2.4.0"}."""
    writes: frozenset[str] | None = None
    """The ops in place that it has; None where it has all, or claims none."""
    limits: Limits = field(default_factory=dict)
    """What it takes of some ops and writes, where that is not all."""
    modules: tuple[str, ...] = ()
    """The modules of layers, and the ops that draw random numbers, that it has."""
    optimizers: Mapping[str, Collection[str]] | None = None
    """The optimizers that it has, each with the settings that it knows."""
    random: bool = False
    """Whether it takes a seed with a program."""
    saved_tensor_counter: bool = False
    """Whether it counts saved tensors when it is greeted so, in another process."""
    has_regions: bool = False
    """Whether it takes runs of instructions as units, and says which."""
    programs_each: int = 0
    """How many programs a new unit is to be there for; 0 where it costs no more than others."""
    simpler_modes: tuple[str, ...] = ()
    """In words, the modes of the same framework that have less between it and a program."""
    prints: bool = False
    """Whether it runs a program's printed code where it is asked to."""
    script: tuple[str, ...] = ()
    """The words of the command that runs a script of its language, less the file; none where no script is run."""
    digest: str = ""
    """Text that is another one where it may do other things: of a build, or of its sources."""
    dialect: Json = None
    """Its dialect, in JSON form."""
    notes: tuple[str, ...] = ()
    """What it claims and was found not to have, a line each; that is not among what it names here."""


def hello(device: str, counts_saved: bool = False, simpler_mode: str | None = None) -> bytes:
    """The line that greets a far end, which may be to count saved tensors, or to be one of its plainer modes."""
    return _line(
        {"do": "hello", "protocol": VERSION, "device": device, "counts_saved": counts_saved, "plainer": simpler_mode}
    )


def units(number: int, program: Program) -> bytes:
    """The line that asks which instructions of a program run as units."""
    return f'{{"do":"units","id":{number},"program":{codec.dumps(program)}}}\n'.encode()


def run(number: int, program: Program, printed: bool = False, seed: int | None = None) -> bytes:
    """The line that asks for what a program does."""
    more = (',"printed":true' if printed else "") + ("" if seed is None else f',"seed":{seed}')
    return f'{{"do":"run","id":{number},"program":{codec.dumps(program)}{more}}}\n'.encode()


def print_op(number: int, op: str, operands: Sequence[str], attrs: Attrs) -> bytes:
    """The line that asks for an op's code."""
    form = {"do": "print", "id": number, "op": op, "operands": list(operands), "attrs": codec.attrs_to_json(attrs)}
    return _line(form)


def _line(form: Json) -> bytes:
    return json.dumps(form, separators=(",", ":")).encode() + b"\n"


# -- answers


class ErrorReply(Exception):
    """The far end says in its own words why it does not answer."""


def reply(line: bytes, number: int | None = None) -> Mapping[str, Json]:
    """An answer as an object; raises `Refused` where it is an error, `MalformedReply` where it is none."""
    try:
        form = json.loads(line)
    except (ValueError, RecursionError):
        raise MalformedReply(
            f"it wrote {_shown(line)}, which is no JSON: its standard output is for answers alone, one a line; "
            "whatever else it prints belongs on its standard error"
        ) from None
    if _SURROGATE.search(line):
        form = _with_escaped_surrogates(form)
    if not isinstance(form, Mapping):
        raise MalformedReply(f"it wrote {_shown(line)}, and an answer is an object")
    if number is not None and form.get("id") != number:
        if "id" not in form and "error" in form:
            raise ErrorReply(str(form["error"]))
        raise MalformedReply(
            f"it answered {form.get('id')!r} where {number} was next: each line is answered by one line, in the order "
            "in which they came, with the same 'id'"
        )
    if "error" in form:
        raise ErrorReply(str(form["error"]))
    return form


_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""What JSON writes for the halves of a character, each of which may stand without the other one."""


def _with_escaped_surrogates(form: Json) -> Json:
    """A form in whose texts no half of a character stands without the other."""
    match form:
        case str():
            return form.encode("utf-8", "backslashreplace").decode()
        case list():
            return [_with_escaped_surrogates(each) for each in form]
        case Mapping():
            return {_with_escaped_surrogates(name): _with_escaped_surrogates(value) for name, value in form.items()}
        case _:
            return form


def observation(line: bytes, number: int, program: Program) -> Observation:
    """The observation in an answer."""
    form = reply(line, number)
    try:
        return observation_codec.from_json(form["observation"], program)
    except KeyError:
        raise MalformedReply(f"its answer {_shown(line)} has no 'observation'") from None
    except observation_codec.MalformedObservation as error:
        raise MalformedReply(f"its observation is none: {error}") from None


def handshake(line: bytes) -> Handshake:
    """What a far end says of itself, held to what can be said."""
    form = reply(line)
    version = form.get("protocol")
    if version != VERSION or isinstance(version, bool):
        raise MalformedReply(f"it speaks version {version!r} of the protocol, and this suite {VERSION}")
    unknown = sorted(form.keys() - _READERS.keys() - {"protocol"})
    if unknown:
        raise MalformedReply(f"{unknown[0]!r} is no part of a greeting; there are {', '.join(_READERS)}")
    missing = [name for name in REQUIRED if name not in form]
    if missing:
        raise MalformedReply(f"its greeting lacks {', '.join(missing)}")
    try:
        return Handshake(**{_FIELDS.get(key, key): read(form[key]) for key, read in _READERS.items() if key in form})
    except _Invalid as error:
        raise MalformedReply(f"its greeting is wrong: {error}") from None


class _Invalid(ValueError):
    """A part of a greeting is not what it has to be."""


def _name(what: str, most: int = 80) -> Any:
    def read(value: Json) -> str:
        if not isinstance(value, str) or not 0 < len(value) <= most or not value.isprintable():
            raise _Invalid(f"{what} has to be text of one line, of 1 to {most} characters, not {value!r}")
        return value

    return read


def _no_path(name: str) -> str:
    if leads_elsewhere(name):
        raise _Invalid(f"name has to be {NO_PATH}, not {name!r}")
    return name


def _names(what: str, known: Collection[str] | None = None, least: int = 0) -> Any:
    def read(value: Json) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise _Invalid(f"{what} has to be a list of names, not {value!r}")
        unknown = sorted(set(value) - set(known)) if known is not None else []
        if unknown:
            there = f"; there are {', '.join(known or ())}" if len(known or ()) <= 60 else ""
            raise _Invalid(f"{what} names {', '.join(unknown[:5])}, which there is not{there}")
        if len(value) < least:
            raise _Invalid(f"{what} is empty")
        return tuple(value)

    return read


def _flag(what: str) -> Any:
    def read(value: Json) -> bool:
        if not isinstance(value, bool):
            raise _Invalid(f"{what} has to be true or false, not {value!r}")
        return value

    return read


def _count(what: str) -> Any:
    def read(value: Json) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise _Invalid(f"{what} has to be a whole number, not {value!r}")
        return value

    return read


def _texts(what: str, known: Collection[str] | None = None) -> Any:
    def read(value: Json) -> Mapping[str, str]:
        if not isinstance(value, Mapping):
            raise _Invalid(f"{what} has to be an object, a text by each name, not {value!r}")
        _names(what, known)(list(value))
        return {name: _name(f"{what}[{name!r}]", ADDRESS)(text) for name, text in value.items()}

    return read


def _read_traits(value: Json) -> Traits:
    known = {field.name: field.default for field in fields(Traits)}
    if not isinstance(value, Mapping) or not value.keys() <= known.keys():
        raise _Invalid(f"traits has to be an object of some of {', '.join(known)}, not {value!r}")
    wrong = [name for name, each in value.items() if type(each) is not type(known[name])]
    if wrong:
        raise _Invalid(f"the trait {wrong[0]} has to be like {known[wrong[0]]!r}, not {value[wrong[0]]!r}")
    return Traits(**value)


def _read_optimizers(value: Json) -> Mapping[str, Collection[str]]:
    if not isinstance(value, Mapping):
        raise _Invalid(f"optimizers has to be an object, the settings of each by its name, not {value!r}")
    _names("optimizers", OPTIMIZERS)(list(value))
    return {name: _names(f"optimizers[{name!r}]")(settings) for name, settings in value.items()}


def _read_limits(value: Json) -> Limits:
    if not isinstance(value, Mapping):
        raise _Invalid(f"limits has to be an object, a limit by each op's name, not {value!r}")
    _names("limits", [*APPLIED, *WRITES])(list(value))
    try:
        return {name: limits.from_json(form) for name, form in value.items()}
    except limits.MalformedLimit as error:
        raise _Invalid(f"limits: {error}") from None


_READERS: dict[str, Any] = {
    "name": lambda value: _no_path(_name("name")(value)),
    "version": _name("version"),
    "language": _name("language"),
    "capabilities": lambda value: frozenset(
        Capability[name] for name in _names("capabilities", Capability.__members__)(value)
    ),
    "ops": lambda value: frozenset(_names("ops", APPLIED, 1)(value)),
    "dtypes": _names("dtypes", DTYPES, 1),
    "devices": _names("devices"),
    "traits": _read_traits,
    "trait_sources": _texts("trait_sources", [each.name for each in fields(Traits)]),
    "packages": _texts("packages"),
    "writes": lambda value: frozenset(_names("writes", WRITES)(value)),
    "limits": _read_limits,
    "modules": _names("modules", APPLIED),
    "optimizers": _read_optimizers,
    "random": _flag("random"),
    "saved_tensor_counter": _flag("saved_tensor_counter"),
    "units": _flag("units"),
    "programs_each": _count("programs_each"),
    "plainer": _names("plainer"),
    "prints": _flag("prints"),
    "script": _names("script"),
    "digest": _name("digest"),
    "dialect": lambda value: value,
    "notes": _names("notes"),
}
"""How each part of a greeting is read."""

_FIELDS = {"units": "has_regions", "plainer": "simpler_modes"}
"""Fields of `Handshake` that have another name than their key."""

ADDRESS = 300
"""The most characters of an address, or of a package's version."""

REQUIRED = ("name", "version", "language", "capabilities", "ops", "dtypes")
"""The parts that every greeting has."""


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace")
    return repr(text) if len(text) <= SHOWN else f"{text[:SHOWN]!r} ..."
