"""The commands `autograd-conformance probe`, `check` and `new-adapter`, for the author of an adapter."""

from __future__ import annotations

import argparse
import io
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path

from autograd_conformance.authoring import new_adapter
from autograd_conformance.authoring.check import Blame, Remark
from autograd_conformance.authoring.found import findings_of
from autograd_conformance.authoring.new_adapter import Probed
from autograd_conformance.authoring.watched import Outcome, watched_check
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.loading.entry_points import LIKE
from autograd_conformance.frameworks.loading.registry import AdapterError, LoadingEnded, UnknownFramework
from autograd_conformance.frameworks.numpylike.adapter import NumpyLike
from autograd_conformance.frameworks.remote.command import served
from autograd_conformance.frameworks.target import InProcess, open_target
from autograd_conformance.frameworks.torchlike.adapter import TorchLike
from autograd_conformance.frameworks.torchlike.findings import needs_adapter, to_toml
from autograd_conformance.ops.catalogue import APPLIED, WRITES
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.reporting.analysis.verdicts import Exit
from autograd_conformance.reporting.prose import counted

PATIENCE = 60.0
"""Seconds that a part of a step of a check may take, if the user does not say otherwise."""

NAMED = 8
"""Largest number of ops and capabilities that are named for one problem."""


def main(words: Sequence[str]) -> int:
    """Runs one of the commands; returns the exit code: 0 if nothing is wrong, 1 if an op or a capability breaks a rule,
    10 if the adapter is broken, 4 for wrong usage.
    """
    options = _parser().parse_args(words)
    try:
        if options.command == "new-adapter":
            return _new_adapter(options.name, options.module, options.framework_python, Path(options.folder))
        name = served(options.name, options.framework_python, None)
        if options.command == "check":
            return _check(watched_check(name, options.device, options.known, options.patience))
        with _quiet():
            target = open_target(name, options.device)
        return _probe(options.name, target, options.write)
    except (UnknownFramework, FileExistsError) as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return Exit.USAGE
    except AdapterError as error:
        print(f"adapter error: {error}")
        return Exit.ADAPTER_ERROR


def _quiet() -> redirect_stdout[io.StringIO]:
    """Hides what a framework prints while it is tried."""
    return redirect_stdout(io.StringIO())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="autograd-conformance", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    probe = commands.add_parser("probe", help="find out by trying which features a framework has")
    probe.add_argument(
        "--write",
        metavar="FILE",
        help="write what is missing to a file, for torch-like:MODULE@FILE, numpy-like:MODULE@FILE or a class's `path`",
    )
    one = commands.add_parser("check", help="check an adapter in seconds: each op once, each capability once")
    new = commands.add_parser("new-adapter", help="write an adapter, a file of known differences and a CI workflow")
    for each in (probe, one, new):
        each.add_argument("--framework-python", metavar="PATH", help="the interpreter in which the framework is")
    for each in (probe, one):
        each.add_argument("name", metavar="NAME", help="the framework, as --framework takes it")
        each.add_argument("--device", default="cpu", help="the device (default: cpu)")
    one.add_argument(
        "--known", type=Path, action="append", default=[], metavar="FILE", help="known differences, which are left out"
    )
    one.add_argument(
        "--patience",
        type=float,
        default=PATIENCE,
        metavar="SECONDS",
        help=f"seconds after which a step counts as hung (default: {PATIENCE:g})",
    )
    new.add_argument("name", metavar="NAME", help="the framework's name, torch-like:MODULE or numpy-like:MODULE")
    new.add_argument("--module", help="the module to import (default: NAME)")
    new.add_argument("--folder", default=".", help="where the files are written (default: the current folder)")
    return parser


# -- probe ------------------------------------------------------------------------------------------------------------


def _probe(name: str, target: Target, file: str | None) -> int:
    """Prints which features a framework has; writes the missing ones to a file, if it has a known interface."""
    with _quiet():
        found, like = findings_of(target), _interface(name, target)
    print(f"{target.name} {target.version}: dtypes {', '.join(target.dtypes)}")
    print(_there(target))
    for capability in Capability:
        has = capability in target.capabilities
        why = _why(capability, has, found.capabilities)
        print(f"{'claimed' if has else 'not claimed':<12} {capability.name:<18} {why}")
    for note in target.notes:
        print(f"note: {note}")
    for table in ("ops", "dimensions", "broadcasts", "writes", "modules", "optimizers") if like else ():
        for missing, why in getattr(found, table).items():
            print(f"{'missing':<12} {missing:<18} {why}")
    if file is not None:
        if like is None:
            those = " or ".join(f"{each}:MODULE" for each in LIKE)
            raise UnknownFramework(f"--write needs {those}, or a subclass of one of their adapters")
        Path(file).write_text(to_toml(found, file, like), encoding="utf-8")
        print(f"written to {file}")
    return Exit.PASSED


def _interface(name: str, target: Target) -> str | None:
    """Returns the word for the known interface that a framework has, ``torch-like`` or ``numpy-like``, by its name or
    by its adapter's class; None if there is no such interface.
    """
    if name.partition(":")[0] in LIKE:
        return name.partition(":")[0]
    adapter = target.adapter if isinstance(target, InProcess) else None
    return adapter.like if isinstance(adapter, TorchLike | NumpyLike) else None


def _there(target: Target) -> str:
    """Returns how many ops and in-place ops a framework has, in words."""
    ops = f"{len({*target.ops} & APPLIED)} of {len(APPLIED)} ops"
    writes = len({*target.writes}) if Capability.WRITES in target.capabilities else 0
    return f"{ops}, {writes} of {len(WRITES)} in-place ops"


def _why(capability: Capability, has: bool, whys: Mapping[str, str]) -> str:
    return capability.value if has else whys.get(capability.name, "its adapter does not claim it")


# -- check ------------------------------------------------------------------------------------------------------------


def _check(outcome: Outcome) -> int:
    """Prints the remarks about an adapter, without its known differences, and returns the exit code."""
    for blame in Blame:
        _print(blame, [each for each in outcome.remarks if each.blame is blame])
    blames = {each.blame for each in outcome.remarks}
    if Blame.ADAPTER in blames:
        return Exit.ADAPTER_ERROR
    if Blame.EITHER in blames:
        return Exit.NOT_CONFORMANT
    print(f"{outcome.framework}: the check found nothing wrong")
    return Exit.PASSED


HEADS = {
    Blame.ADAPTER: "To mend in the adapter",
    Blame.EITHER: "Wrong, in the adapter or in the framework",
    Blame.NOTE: "Notes",
}


def _print(blame: Blame, remarks: Sequence[Remark]) -> None:
    """Prints the remarks of one kind. Those with one text are one problem, printed with the first program."""
    problems: dict[str, list[Remark]] = {}
    for remark in remarks:
        problems.setdefault(remark.text, []).append(remark)
    if problems:
        print(f"\n{HEADS[blame]} ({counted(len(problems), 'problem')}):\n")
    for text, same in problems.items():
        print(f"- {_places([each.about for each in same])}: {text}")
        for line in same[0].program.splitlines():
            print(f"      {line}")


def _places(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMED])
    return f"{shown} and {len(names) - NAMED} more" if len(names) > NAMED else shown


# -- new-adapter ------------------------------------------------------------------------------------------------------


def _new_adapter(given: str, module: str | None, python: str | None, folder: Path) -> int:
    """Writes the first files of an adapter, and prints what to type next."""
    like, colon, word = given.rpartition(":")
    if colon and like not in LIKE:
        raise UnknownFramework(f"{given!r}: write NAME, or one of {', '.join(f'{each}:MODULE' for each in LIKE)}")
    name, module = word, module or word
    with _quiet():
        tried = [_probed(each, module, python) for each in ([like] if like else LIKE)]
    probed = next((each for each in tried if isinstance(each, Probed)), None)
    if probed is None and like:
        raise AdapterError(f"{tried[0]}")
    written = new_adapter.write(folder, new_adapter.files(name, module, probed))
    if probed is None:
        print(f"{name} needs an adapter with all methods:")
        print("\n".join(f"    {_reason(each, module)}" for each in tried))
        print("Written:")
    else:
        print(f"{name} is {probed.like} ({probed.there}), so its adapter is a few lines. Written:")
    print("\n".join(f"    {path}" for path in written.new))
    for path in written.left:
        print(f"Left as it was: {path}; to run this adapter there, too, add: {new_adapter.run_of(name)}")
    here = f" --framework-python {shlex.quote(python)}" if python else ""
    print(f"Next: autograd-conformance check {written.new[0].stem}:{new_adapter.kind_of(name)}{here}")
    return Exit.PASSED


def _reason(refused: Probed | AdapterError, module: str) -> str:
    """Returns why a module has not the interface that was tried."""
    text = str(refused).removesuffix(f"; {needs_adapter(module)}")
    return text.partition(" raised ")[2] or text


def _probed(like: str, module: str, python: str | None) -> Probed | AdapterError:
    """Returns what the probe finds of a module with the interface of another framework, or why it is none."""
    try:
        target = open_target(served(f"{like}:{module}", python, None))
    except AdapterError as error:
        if isinstance(error, LoadingEnded):
            raise
        return error
    return Probed(like, findings_of(target), _there(target))
