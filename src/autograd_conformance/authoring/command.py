"""The commands `autograd-conformance probe`, `check` and `new-adapter`, for the author of an adapter."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from autograd_conformance.authoring import new_adapter
from autograd_conformance.authoring.check import Blame, Remark, check
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.loading.registry import AdapterError, UnknownFramework
from autograd_conformance.frameworks.numpylike.adapter import NumpyLike
from autograd_conformance.frameworks.remote.command import served
from autograd_conformance.frameworks.target import InProcess, open_target
from autograd_conformance.frameworks.torchlike.adapter import TorchLike
from autograd_conformance.frameworks.torchlike.findings import to_toml
from autograd_conformance.known_differences import Known, MalformedKnownDifferences, known, read
from autograd_conformance.ops.catalogue import APPLIED, WRITES
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.reporting.analysis.verdicts import Exit
from autograd_conformance.reporting.prose import counted

NAMED = 8
"""Largest number of ops and capabilities that are named for one problem."""


def main(words: Sequence[str]) -> int:
    """Runs one of the commands; returns the exit code: 0 if nothing is wrong, 1 if an op or a capability breaks a rule,
    10 if the adapter is broken, 4 for wrong usage.
    """
    options = _parser().parse_args(words)
    try:
        if options.command == "new-adapter":
            return _new_adapter(options.name, options.module or options.name, Path(options.folder))
        target = open_target(served(options.name, options.framework_python, None), options.device)
        if options.command == "probe":
            return _probe(target, options.write)
        files = [entry for path in options.known for entry in read(path)]
        return _check(target, files if options.known else known(target.name))
    except (UnknownFramework, FileExistsError, MalformedKnownDifferences) as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return Exit.USAGE
    except AdapterError as error:
        print(f"adapter error: {error}")
        return Exit.ADAPTER_ERROR


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="autograd-conformance", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    probe = commands.add_parser("probe", help="find out by trying which features a framework has")
    probe.add_argument(
        "--write",
        metavar="FILE",
        help="write what is missing to a file, for torch-like:MODULE@FILE or numpy-like:MODULE@FILE",
    )
    one = commands.add_parser("check", help="check an adapter in seconds: each op once, each capability once")
    for each in (probe, one):
        each.add_argument("name", metavar="NAME", help="the framework, as --framework takes it")
        each.add_argument("--framework-python", metavar="PATH", help="the interpreter in which the framework is")
        each.add_argument("--device", default="cpu", help="the device (default: cpu)")
    one.add_argument(
        "--known", type=Path, action="append", default=[], metavar="FILE", help="known differences, which are left out"
    )
    new = commands.add_parser("new-adapter", help="write an adapter, a file of known differences and a CI workflow")
    new.add_argument("name", metavar="NAME", help="the framework's name")
    new.add_argument("--module", help="the module to import (default: NAME)")
    new.add_argument("--folder", default=".", help="where the files are written (default: the current folder)")
    return parser


# -- probe ------------------------------------------------------------------------------------------------------------


def _probe(target: Target, file: str | None) -> int:
    """Prints which features a framework has; writes the missing ones of a torch-like framework to a file."""
    adapter = target.adapter if isinstance(target, InProcess) else None
    whys = adapter.findings.capabilities if isinstance(adapter, TorchLike | NumpyLike) else {}
    print(f"{target.name} {target.version}: dtypes {', '.join(target.dtypes)}")
    print(
        f"ops: {len({*target.ops} & APPLIED)} of {len(APPLIED)}; in-place ops: {len({*target.writes})} of {len(WRITES)}"
    )
    for capability in Capability:
        has = capability in target.capabilities
        print(f"{'claimed' if has else 'not claimed':<12} {capability.name:<18} {_why(capability, has, whys)}")
    for note in target.notes:
        print(f"note: {note}")
    if isinstance(adapter, TorchLike | NumpyLike):
        for table in ("ops", "writes", "modules", "optimizers"):
            for name, why in getattr(adapter.findings, table).items():
                print(f"{'missing':<12} {name:<18} {why}")
    if file is not None:
        if not isinstance(adapter, TorchLike | NumpyLike):
            raise UnknownFramework("--write needs torch-like:MODULE or numpy-like:MODULE in this Python environment")
        Path(file).write_text(to_toml(adapter.findings, file, adapter.like), encoding="utf-8")
        print(f"written to {file}")
    return Exit.PASSED


def _why(capability: Capability, has: bool, whys: Mapping[str, str]) -> str:
    return capability.value if has else whys.get(capability.name, "its adapter does not claim it")


# -- check ------------------------------------------------------------------------------------------------------------


def _check(target: Target, listed: Sequence[Known]) -> int:
    """Prints the remarks about an adapter, without its known differences, and returns the exit code."""
    remarks = list(check(target, listed))
    for blame in Blame:
        _print(blame, [each for each in remarks if each.blame is blame])
    blames = {each.blame for each in remarks}
    if Blame.ADAPTER in blames:
        return Exit.ADAPTER_ERROR
    if Blame.EITHER in blames:
        return Exit.NOT_CONFORMANT
    print(f"{target.name} {target.version}: the check found nothing wrong")
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


def _new_adapter(name: str, module: str, folder: Path) -> int:
    """Writes the first files of an adapter, and prints what to type next."""
    torch_like = _is_torch_like(module)
    paths = new_adapter.write(folder, new_adapter.files(name, module, torch_like))
    kind = "has PyTorch's interface, so its adapter is a few lines" if torch_like else "needs a separate adapter"
    print(f"{name} {kind}. Written:")
    print("\n".join(f"    {path}" for path in paths))
    first = paths[0]
    print(f"Next: autograd-conformance check {first.stem}:{new_adapter.kind_of(name)}")
    return Exit.PASSED


def _is_torch_like(module: str) -> bool:
    """Whether a module can be imported here and has the names with which PyTorch's programs begin."""
    sys.path.insert(0, "")
    try:
        found = importlib.import_module(module)
    except Exception as error:
        raise UnknownFramework(f"importing {module} failed: {error}; name the module with --module") from None
    finally:
        sys.path.remove("")
    return all(hasattr(found, name) for name in ("tensor", "Tensor")) and hasattr(found.Tensor, "backward")
