"""The audit in a process of its own: an op that ends its process, or never comes back, is only one more wrong op.

The process notes each op before it runs it and what came of it afterwards. Where it dies, the op that it had begun is
lost, and another process goes on with the ops behind it. An op that is right is then differentiated twice, and if that
is right, too, three times.
"""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from autograd_conformance.frameworks.target import InProcess, loaded
from autograd_conformance.harness.alphabet import alphabet_of
from autograd_conformance.harness.audit.outcome import Audited, Outcome
from autograd_conformance.harness.audit.programs import outcomes
from autograd_conformance.strategies.building import alphabet

END = "end"
"""Stands for an op after the last one."""

FAILED = 93
"""The exit code where the audit itself fails, which says nothing about the op."""


class AuditFailed(Exception):
    """The audit could not be held; the message says why."""


def audit(name: str, device: str, dtypes: Sequence[str], timeout: float, thrice: bool) -> Audited:
    """How often each op of a framework can be differentiated; three times is not tried unless `thrice` says so.

    `timeout` is how many seconds one op may take.
    """
    asked = name, device, ",".join(dtypes), str(timeout), "thrice" if thrice else "twice"
    with TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        notes.touch()
        command = [sys.executable, "-m", "autograd_conformance.harness.audit.process", *asked, str(notes)]
        begun = -1
        while len(found := _read(notes)) > begun:
            begun = len(found)
            done = subprocess.run(command, env=_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            found = _read(notes)
            if END in found:
                return Audited.of({op: outcome for op, outcome in found.items() if op != END})
            if done.returncode == FAILED:
                break
    raise AuditFailed(f"the audit of the ops failed:\n{done.stderr.decode(errors='replace')[-2000:]}")


def _environment() -> dict[str, str]:
    """This process's environment, in which another finds what this one finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _read(notes: Path) -> dict[str, Outcome]:
    """The last outcome noted for each op that was begun."""
    lines = map(str.split, notes.read_text().splitlines())
    return {op: cast(Outcome, outcome) for outcome, op in lines}


def main(name: str, device: str, dtypes: str, timeout: str, depth: str, path: str) -> int:
    """Hold the audit, from the first op of which there is no note."""
    notes = Path(path)
    seen = _read(notes)
    try:
        target = InProcess(loaded(name, device))
        tried = tuple(dtypes.split(","))
        everything = alphabet_of(target, tried)
        alphabet.use(everything)
        with notes.open("a") as file:
            for op in (op for op in everything.ops if op not in seen):
                faulthandler.dump_traceback_later(float(timeout), exit=True)
                print("begun", op, file=file, flush=True)
                for outcome in outcomes(op, target, tried, depth == "thrice"):
                    print(outcome, op, file=file, flush=True)
            print("fine", END, file=file)
    except Exception:
        traceback.print_exc()
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
