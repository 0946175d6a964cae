"""The lines of the protocol: a handshake first, then a reply for each request.

docs/protocol.md describes the lines to authors of servers, and `protocol.schema.json` describes them to programs.
Messages about malformed replies are written for authors of servers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from autograd_conformance.frameworks.probing.declarations import NO_PATH, leads_elsewhere
from autograd_conformance.frameworks.remote.codecs import limits
from autograd_conformance.frameworks.torchlike.findings import TABLES
from autograd_conformance.ops.catalogue import APPLIED, CUT, WRITES
from autograd_conformance.ops.limits import Limits
from autograd_conformance.ops.optimizers import OPTIMIZERS
from autograd_conformance.programs.capabilities import PYTORCH, Capability, Traits
from autograd_conformance.programs.dtypes import DTYPES, OF_OPERANDS
from autograd_conformance.programs.foreign.text import harmless
from autograd_conformance.programs.formats import codec, observation_codec
from autograd_conformance.programs.language import Attrs, Program
from autograd_conformance.programs.observations import Observation

VERSION = 1
"""Version of the protocol; each program contains the version of the program format."""

SHOWN = 200
"""Maximum number of characters of a malformed line in a message."""

Json = Any


class MalformedReply(ValueError):
    """A line is not a valid reply; the message says why."""


@dataclass(frozen=True)
class Handshake:
    """The framework that a server runs, as described in its reply to the first request."""

    name: str
    """Name of the framework; its file of known differences has the same name."""
    version: str
    """Version of the framework."""
    language: str
    """Language of the framework's programs, with its version: "Python 3.11"."""
    capabilities: frozenset[Capability]
    """Capabilities that the framework documents."""
    ops: frozenset[str]
    """Names of the supported ops of the catalogue."""
    dtypes: tuple[str, ...]
    """Names of the dtypes that the framework computes in."""
    devices: tuple[str, ...] = ()
    """Supported devices; empty if the server does not name them."""
    traits: Traits = PYTORCH
    """The framework's choices where several behaviours are legal."""
    trait_sources: Mapping[str, str] = field(default_factory=dict)
    """Address of the documentation or source code that states each trait, by the trait's name."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Versions of packages that may affect the framework's behaviour, such as {"numpy": "2.4.0"}."""
    writes: frozenset[str] | None = None
    """Names of the supported in-place ops; None for all, or if writes are not claimed."""
    limits: Limits = field(default_factory=dict)
    """Limits on attributes and shapes, by name of an op or in-place op."""
    autocast: Mapping[str, str] = field(default_factory=dict)
    """The dtype in which an op computes under autocast, by the op's name; `OF_OPERANDS` for one that computes as usual.
    """
    modules: tuple[str, ...] = ()
    """Names of the supported modules, and of the supported ops that draw random numbers."""
    optimizers: Mapping[str, Collection[str]] | None = None
    """Supported optimizers, each with the names of its supported settings; None if the server names none."""
    random: bool = False
    """Whether a request may contain a seed for the framework's random numbers."""
    saved_tensor_counter: bool = False
    """Whether another process of the server can count saved tensors, if the handshake requests it."""
    has_regions: bool = False
    """Whether the framework compiles, checkpoints or records several instructions together, and the server reports
    which.
    """
    programs_each: int = 0
    """The number of programs that should share one compiled region; 0 if a new region costs no more than
    a known one.
    """
    simpler_modes: tuple[str, ...] = ()
    """Descriptions of the framework's modes with fewer layers, such as ``without the checkpoint``."""
    prints: bool = False
    """Whether the server can run the printed code of a program."""
    script: tuple[str, ...] = ()
    """Command that runs a script in the server's language, without the file name; empty if there is none."""
    digest: str = ""
    """A text that changes if the server's behaviour may change, such as a hash of a build or of its sources."""
    dialect: Json = None
    """The templates that print programs as the framework's code, in JSON form; None if there are none."""
    notes: tuple[str, ...] = ()
    """Claimed features that the server found missing, one line each. The other fields do not contain these features."""
    lacks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Features that the server does not claim, each with the reason, by the name of a table of findings."""


def hello(device: str, counts_saved: bool = False, simpler_mode: str | None = None, checks: bool = True) -> bytes:
    """Returns the request for a handshake. The server may be started to count saved tensors, or in a mode with fewer
    layers.

    Without `checks`, the suite's worker runs neither the smoke test nor the probe.
    """
    form = {"do": "hello", "protocol": VERSION, "device": device, "counts_saved": counts_saved, "plainer": simpler_mode}
    return _line(form if checks else form | {"checks": False})


def regions(number: int, program: Program) -> bytes:
    """Returns the request for the regions of a program, which are the instructions that the framework runs as one
    function.
    """
    return f'{{"do":"units","id":{number},"program":{codec.dumps(program)}}}\n'.encode()


def run(number: int, program: Program, printed: bool = False, seed: int | None = None) -> bytes:
    """Returns the request to run a program."""
    more = (',"printed":true' if printed else "") + ("" if seed is None else f',"seed":{seed}')
    return f'{{"do":"run","id":{number},"program":{codec.dumps(program)}{more}}}\n'.encode()


def print_op(number: int, op: str, operands: Sequence[str], attrs: Attrs) -> bytes:
    """Returns the request for the code of an op in the framework's language."""
    form = {"do": "print", "id": number, "op": op, "operands": list(operands), "attrs": codec.attrs_to_json(attrs)}
    return _line(form)


def _line(form: Json) -> bytes:
    return json.dumps(form, separators=(",", ":")).encode() + b"\n"


# -- replies


class ErrorReply(Exception):
    """The server replied with an error message."""


def reply(line: bytes, number: int | None = None) -> Mapping[str, Json]:
    """Parse a reply; raises `ErrorReply` for an error message, and `MalformedReply` for an invalid line."""
    try:
        form = json.loads(line)
    except (ValueError, RecursionError):
        raise MalformedReply(
            f"it wrote {_shown(line)}, which is no JSON: its standard output may contain only replies, one a line; "
            "all other output belongs on its standard error"
        ) from None
    if _SURROGATE.search(line):
        form = _with_escaped_surrogates(form)
    if not isinstance(form, Mapping):
        raise MalformedReply(f"it wrote {_shown(line)}; a reply is a JSON object")
    if number is not None and form.get("id") != number:
        if "id" not in form and "error" in form:
            raise ErrorReply(str(form["error"]))
        raise MalformedReply(
            f"it replied with id {form.get('id')!r}, not {number}: each request has one reply with its 'id', in the "
            "order of the requests"
        )
    if "error" in form:
        raise ErrorReply(str(form["error"]))
    return form


_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""JSON escapes of surrogates, one of which may occur without the other."""


def _with_escaped_surrogates(form: Json) -> Json:
    """Returns a JSON value whose strings contain no lone surrogates; these are escaped."""
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
    """Parse the observation in a reply."""
    form = reply(line, number)
    try:
        return observation_codec.from_json(form["observation"], program, CUT)
    except KeyError:
        raise MalformedReply(f"its reply {_shown(line)} has no 'observation'") from None
    except observation_codec.MalformedObservation as error:
        raise MalformedReply(f"its observation is invalid: {error}") from None


def handshake(line: bytes) -> Handshake:
    """Parse and validate a server's reply to the first request; raises `MalformedReply` if it is invalid."""
    form = reply(line)
    version = form.get("protocol")
    if version != VERSION or isinstance(version, bool):
        raise MalformedReply(f"it speaks version {version!r} of the protocol, but this suite speaks {VERSION}")
    unknown = sorted(form.keys() - _READERS.keys() - {"protocol"})
    if unknown:
        raise MalformedReply(f"{unknown[0]!r} is not a key of a handshake; the keys are {', '.join(_READERS)}")
    missing = [name for name in REQUIRED if name not in form]
    if missing:
        raise MalformedReply(f"its handshake lacks {', '.join(missing)}")
    try:
        return Handshake(**{_FIELDS.get(key, key): read(form[key]) for key, read in _READERS.items() if key in form})
    except _Invalid as error:
        raise MalformedReply(f"its handshake is invalid: {error}") from None


class _Invalid(ValueError):
    """A field of a handshake is invalid."""


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
            there = f"; the known names are {', '.join(known or ())}" if len(known or ()) <= 60 else ""
            raise _Invalid(f"{what} names {', '.join(unknown[:5])}, which does not exist{there}")
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
    invalid = [name for name, each in value.items() if type(each) is not type(known[name])]
    if invalid:
        raise _Invalid(f"the trait {invalid[0]} has to be like {known[invalid[0]]!r}, not {value[invalid[0]]!r}")
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


def _read_autocast(value: Json) -> Mapping[str, str]:
    found: Mapping[str, str] = _texts("autocast", APPLIED)(value)
    _names("autocast", [*DTYPES, OF_OPERANDS])(list(found.values()))
    return found


def _read_lacks(value: Json) -> Mapping[str, Mapping[str, str]]:
    if not isinstance(value, Mapping) or not all(isinstance(each, Mapping) for each in value.values()):
        raise _Invalid(f"lacks has to be an object, the reason by each name in each table, not {value!r}")
    _names("lacks", TABLES)(list(value))
    return {table: {str(name): harmless(str(why)) for name, why in rows.items()} for table, rows in value.items()}


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
    "autocast": _read_autocast,
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
    "lacks": _read_lacks,
}
"""The parser of each field of a handshake."""

_FIELDS = {"units": "has_regions", "plainer": "simpler_modes"}
"""The fields of `Handshake` whose name differs from their key in the JSON form, by key."""

ADDRESS = 300
"""Maximum number of characters of an address, or of a package's version."""

REQUIRED = ("name", "version", "language", "capabilities", "ops", "dtypes")
"""Fields that every handshake has."""


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace")
    return repr(text) if len(text) <= SHOWN else f"{text[:SHOWN]!r} ..."
