"""A pytest plugin that records every program that a run checks.

It is loaded by `FROZEN=FILE pytest -p evaluation.frozen.capture ...`.

A line is a JSON object: the suite, whether the framework counts saved tensors, and the program or the related pair.
Each worker writes a separate file, FILE.gw0 and so on.
"""

from __future__ import annotations

import json
import os
from typing import Any, assert_never

from autograd_conformance.checking.check import Check
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Program
from autograd_conformance.rules.relations import codec as relations_codec
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.building.drawn import Drawn

FILE = os.environ["FROZEN"] + "." + os.environ.get("PYTEST_XDIST_WORKER", "main")


def form(case: Program | Drawn | Related) -> Any:
    """The JSON form of a program or of a related pair."""
    match case:
        case Program():
            return codec.to_json(case)
        case Drawn(program):
            return codec.to_json(program)
        case Related():
            return relations_codec.to_json(case)
        case _:
            assert_never(case)


def _install() -> None:
    stream, original = open(FILE, "w", encoding="utf-8"), Check.__call__  # noqa: SIM115

    def call(check: Check, case: Program | Drawn | Related) -> None:
        suite = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0].rpartition("/test_")[2].removesuffix(".py")
        counts = check.target.name.endswith("counting") or "counts saved tensors" in {
            need.value for need in check.target.capabilities
        }
        line = {"suite": suite, "counts": counts, "program": form(case)}
        stream.write(json.dumps(line, separators=(",", ":")) + "\n")
        stream.flush()
        original(check, case)

    Check.__call__ = call  # type: ignore[method-assign]


_install()
