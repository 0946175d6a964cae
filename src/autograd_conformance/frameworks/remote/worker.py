"""The suite's own server: serves any adapter, in an environment with NumPy and the adapter's framework."""

from __future__ import annotations

import gc
import hashlib
import inspect
import json
import os
import platform
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from autograd_conformance.frameworks.adapter import USUAL_OPTIMIZERS, Adapter, defines
from autograd_conformance.frameworks.calls import call_adapter
from autograd_conformance.frameworks.environment.interrupts import watch
from autograd_conformance.frameworks.loading.older_adapters import complete
from autograd_conformance.frameworks.loading.registry import AdapterError, UnknownFramework, load
from autograd_conformance.frameworks.probing.probe import NOTHING_MISSING, ProbeResult, probe
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.remote.codecs import dialects, limits
from autograd_conformance.frameworks.remote.protocol import VERSION
from autograd_conformance.frameworks.running.printed import run_printed
from autograd_conformance.frameworks.running.regions import has_regions, observe
from autograd_conformance.frameworks.torchlike.findings import TABLES, Findings
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.printing.dialect import Dialect, fill
from autograd_conformance.processes.guard import die_with_parent
from autograd_conformance.programs.capabilities import PYTORCH
from autograd_conformance.programs.formats import codec, observation_codec
from autograd_conformance.programs.regions import regions
from autograd_conformance.programs.validation import MalformedProgram

Json = Any
_OPERAND = re.compile(r"[A-Za-z_]\w*(\[\w+\])*")
"""An operand in printed code: a name, or an element of a list of values."""


def serve(name: str) -> None:
    """Reply to requests until the input ends. Output of the framework goes to standard error."""
    die_with_parent(os.getppid())
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    watch()
    worker = Worker(name)
    for line in incoming:
        outgoing.write(json.dumps(worker.reply(json.loads(line)), separators=(",", ":")).encode() + b"\n")
        outgoing.flush()
    os._exit(0)  # also ends threads that the framework left running


class Worker:
    """Makes the reply to each request, with an adapter that is loaded when the first request arrives."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.adapter: Adapter | None = None
        self.probed = NOTHING_MISSING

    def reply(self, request: Mapping[str, Json]) -> dict[str, Json]:
        """Returns the reply to a request."""
        number = {"id": request["id"]} if "id" in request else {}
        try:
            return number | self._handle(request)
        except (AdapterError, UnknownFramework, MalformedProgram) as error:
            return number | {"error": str(error)}

    def _handle(self, request: Mapping[str, Json]) -> dict[str, Json]:
        match request["do"]:
            case "hello":
                if request["protocol"] != VERSION:
                    return {"error": f"this worker speaks version {VERSION} of the protocol, not {request['protocol']}"}
                self.adapter = adapter = _loaded(self.name, request)
                self.probed = probe(adapter) if _checks(request) else NOTHING_MISSING
                gc.freeze()
                gc.set_threshold(20_000, 20, 50)
                return handshake(adapter, self.probed)
            case "run":
                return {"observation": self._run(request)}
            case "units":
                assert self.adapter is not None
                program = codec.from_json(request["program"], VOCABULARY)
                return {"units": [region.steps for region in regions(program, self.adapter.holds)]}
            case "print":
                assert self.adapter is not None
                assert self.adapter.dialect is not None
                return {"code": _printed(request, self.adapter.dialect)}
            case other:
                return {"error": f"this worker does not know how to {other!r}"}

    def _run(self, request: Mapping[str, Json]) -> Json:
        adapter = self.adapter
        assert adapter is not None
        if "seed" in request and adapter.random is not None:
            call_adapter(adapter.name, "random.seed()", adapter.random.seed, request["seed"])
        program = codec.from_json(request["program"], VOCABULARY)
        observation = (
            run_printed(program, adapter) if request.get("printed") else observe(program, adapter, self.probed.missing)
        )
        return observation_codec.to_json(observation)


def _printed(request: Mapping[str, Json], dialect: Dialect) -> str:
    """Returns the code of an op for named operands; raises `MalformedProgram` if the request contains other text."""
    op, attrs = request["op"], codec.attrs_from_json(request["attrs"])
    invalid = next((name for name in request["operands"] if not _OPERAND.fullmatch(str(name))), None)
    problem = f"{invalid!r} is not an operand" if invalid is not None else VOCABULARY.attributes(op, attrs)
    if problem:
        raise MalformedProgram(problem)
    return fill(dialect.ops[op] if op in dialect.ops else dialect.writes[op], request["operands"], attrs)


def _loaded(name: str, request: Mapping[str, Json]) -> Adapter:
    """Load an adapter and run the smoke test. If requested, return the one that counts saved tensors, or one with fewer
    layers.
    """
    adapter = load(name, request["device"])
    if _checks(request):
        smoke(adapter)
    if request["plainer"] is not None:
        modes = adapter.simpler_modes
        adapter = call_adapter(adapter.name, "simpler_modes()", lambda: modes()[request["plainer"]]())
    elif request["counts_saved"]:
        adapter = call_adapter(adapter.name, "saved_tensor_counter()", adapter.saved_tensor_counter) or adapter
    return complete(adapter)


def _checks(request: Mapping[str, Json]) -> bool:
    """Whether the smoke test and the probe run before the handshake."""
    return request.get("checks", True)


def handshake(adapter: Adapter, probed: ProbeResult = NOTHING_MISSING) -> dict[str, Json]:
    """Returns the reply to the first request: a description of the adapter, without the features that the probe did not
    find.
    """
    form: dict[str, Json] = {
        "protocol": VERSION,
        "name": adapter.name,
        "version": adapter.version,
        "language": f"Python {platform.python_version()}",
        "capabilities": sorted(capability.name for capability in probed.capabilities(adapter)),
        "packages": {"numpy": np.__version__},
        "ops": sorted(adapter.ops),
        "dtypes": [dtype for dtype in adapter.dtypes if dtype not in probed.dtypes],
        "random": adapter.random is not None,
        "saved_tensor_counter": defines(adapter, "saved_tensor_counter"),
        "units": has_regions(adapter),
        "programs_each": adapter.programs_each,
        "plainer": list(adapter.simpler_modes()),
        "prints": adapter.dialect is not None,
        "script": [sys.executable],
        "digest": _digest(adapter),
    }
    if notes := [*adapter.notes, *probed.notes]:
        form["notes"] = notes
    found = getattr(adapter, "findings", None)
    if isinstance(found, Findings):
        form["lacks"] = {table: dict(getattr(found, table)) for table in TABLES}
    if adapter.traits != PYTORCH:
        default = asdict(PYTORCH)
        form["traits"] = {name: value for name, value in asdict(adapter.traits).items() if value != default[name]}
    if adapter.trait_sources:
        form["trait_sources"] = dict(adapter.trait_sources)
    if adapter.modules:
        form["modules"] = list(adapter.modules)
    if adapter.optimizers is not USUAL_OPTIMIZERS:
        form["optimizers"] = {name: list(settings) for name, settings in adapter.optimizers.items()}
    if adapter.writes is not Adapter.writes:
        form["writes"] = sorted(adapter.writes)
    if adapter.autocast:
        form["autocast"] = dict(adapter.autocast)
    if adapter.limits:
        form["limits"] = {name: limits.to_json(limit) for name, limit in adapter.limits.items()}
    if adapter.dialect is not None:
        form["dialect"] = dialects.to_json(adapter.dialect)
    return form


def sources(adapter: Adapter) -> list[Path]:
    """Returns the source files of an adapter's class and its base classes, without `Adapter`."""
    files = set()
    for each in (each for each in type(adapter).__mro__ if each is not Adapter):
        with suppress(TypeError, OSError):  # built-in classes and classes without source
            files.add(inspect.getsourcefile(each))
    return sorted(Path(file) for file in files if file is not None and Path(file).exists())


def _digest(adapter: Adapter) -> str:
    """Returns a hash of the adapter's source files, which shows whether the adapter changed since an earlier run or
    since the worker's first start.
    """
    hasher = hashlib.sha256()
    for source in sources(adapter):
        hasher.update(source.read_bytes())
    return hasher.hexdigest()[:16]
