"""The audit in a process of its own: an op that ends its process, or never comes back, is only one more wrong op.

The process notes each op before it runs it and what came of it afterwards. Where it dies, the op that it had begun is
wrong, and another process goes on with the ops behind it. An op that is right is then differentiated twice, and if that
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

from autograd_conformance.harness.audit.programs import is_once_only, is_twice_only, is_wrong
from autograd_conformance.harness.session import Session

BEGUN, FINE, WRONG, ONCE, TWICE, END = "begun", "fine", "wrong", "once", "twice", "end"

FAILED = 93
"""The exit code where the audit itself fails, which says nothing about the op."""


class AuditFailed(Exception):
    """The audit could not be held; the message says why."""


def audit(name: str, device: str, dtypes: Sequence[str], patience: float, thrice: bool) -> dict[str, str]:
    """What came of each op of the framework of that name: `FINE`, `WRONG`, `ONCE` where its second derivative is wrong
    or not implemented, `TWICE` where its third is (if `thrice`), or `BEGUN` where it never came back.
    """
    asked = name, device, ",".join(dtypes), str(patience), "thrice" if thrice else "twice"
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
                return {op: outcome for op, outcome in found.items() if op != END}
            if done.returncode == FAILED:
                break
    raise AuditFailed(f"the audit of the ops failed:\n{done.stderr.decode(errors='replace')[-2000:]}")


def _environment() -> dict[str, str]:
    """This process's environment, in which another finds what this one finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _read(notes: Path) -> dict[str, str]:
    """The last outcome noted for each op that was begun."""
    return {op: outcome for outcome, op in map(str.split, notes.read_text().splitlines())}


def main(name: str, device: str, dtypes: str, patience: str, depth: str, path: str) -> int:
    """Hold the audit, from the first op of which there is no note."""
    notes = Path(path)
    seen = _read(notes)
    try:
        session = Session(name, notes.parent, tuple(dtypes.split(",")), device)
        with notes.open("a") as file:
            for op in (op for op in session.use_all_ops() if op not in seen):
                faulthandler.dump_traceback_later(float(patience), exit=True)
                print(BEGUN, op, file=file, flush=True)
                asked = op, session.framework, session.claims, session.drawable
                wrong = is_wrong(*asked)
                print(WRONG if wrong else ONCE, op, file=file, flush=True)
                if not wrong and not is_once_only(*asked):
                    print(TWICE, op, file=file, flush=True)
                    if depth == "twice" or not is_twice_only(*asked):
                        print(FINE, op, file=file, flush=True)
            print(FINE, END, file=file)
    except Exception:
        traceback.print_exc()
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
