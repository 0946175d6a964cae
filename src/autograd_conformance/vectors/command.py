"""The command `autograd-conformance vectors`: makes vectors, and judges the answers of a runner to them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from autograd_conformance.frameworks.loading.registry import AdapterError, UnknownFramework
from autograd_conformance.frameworks.remote import protocol
from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.frameworks.remote.protocol import MalformedReply
from autograd_conformance.frameworks.remote.worker import handshake
from autograd_conformance.frameworks.target import InProcess, open_target
from autograd_conformance.ops.catalogue import APPLIED
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import USUAL
from autograd_conformance.reporting.analysis.verdicts import Exit
from autograd_conformance.reporting.command import Parser
from autograd_conformance.reporting.prose import counted
from autograd_conformance.reporting.render.failures import SHOWN_IN_FULL
from autograd_conformance.reporting.render.terminal import print_summary
from autograd_conformance.vectors import file, making
from autograd_conformance.vectors.checking import PAGE, answers_in, check
from autograd_conformance.vectors.claims import Answers
from autograd_conformance.vectors.file import UnusableFile
from autograd_conformance.vectors.vector import LEVELS

OBSERVER = "torch"
"""The framework that shows which outcome the rules require; its known differences make no vectors."""

PLAIN = ("protocol", "name", "version", "language", "capabilities", "ops", "dtypes", "writes", "optimizers", "modules")
"""The claims of the observer that a file of vectors names, if the user gives none."""

Json = Any


def main(words: Sequence[str], program: str = "autograd-conformance vectors") -> int:
    """Makes or checks vectors, and returns the exit code: of `check`, that of a run with the same verdict; 3 for a file
    that is damaged or malformed, 4 for wrong usage, 10 if the framework that observes cannot be loaded.
    """
    given = [*words]
    if given[:1] not in (["check"], ["make"], ["-h"], ["--help"]):
        given.insert(0, "make")
    options = _parser(program).parse_args(given)
    try:
        return int(options.run(options))
    except (UnusableFile, OSError) as error:
        print(f"vectors: {error}", file=sys.stderr)
        return Exit.INTERNAL
    except (UnknownFramework, MalformedReply) as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return Exit.USAGE
    except AdapterError as error:
        print(f"adapter error: {error}")
        return Exit.ADAPTER_ERROR


def _parser(program: str) -> argparse.ArgumentParser:
    parser = Parser(prog=program, description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="write programs with the expected numbers (the command if none is named)")
    make.add_argument("out", type=Path, metavar="OUT", help="the file for the vectors; .gz: compressed")
    make.add_argument(
        "--claims", type=Path, metavar="FILE", help="the claims of your framework, as the handshake of docs/protocol.md"
    )
    for name, known in (("ops", APPLIED), ("capabilities", Capability.__members__), ("dtypes", USUAL)):
        make.add_argument(
            f"--{name}", type=_listed(name, known), metavar="NAMES", help=f"use only these {name}, as in one,two"
        )
    make.add_argument(
        "--level",
        type=int,
        choices=range(1, LEVELS + 1),
        default=LEVELS,
        help=f"leave out higher levels (default: {LEVELS}); docs/vectors.md lists them",
    )
    make.add_argument(
        "--each",
        type=int,
        default=making.EACH,
        metavar="N",
        help=f"number of vectors for each op alone (default: {making.EACH})",
    )
    make.set_defaults(run=_make)
    judge = commands.add_parser("check", help="judge a file of answers, and write the report of a run")
    judge.add_argument("answers", type=Path, metavar="ANSWERS", help="the file of answers")
    judge.add_argument("--vectors", type=Path, required=True, metavar="FILE", help="the vectors that were answered")
    judge.add_argument("--report", type=Path, default=Path("report"), metavar="DIR", help="folder (default: report)")
    judge.add_argument("--known", type=Path, action="append", default=[], metavar="FILE", help="known differences")
    judge.set_defaults(run=_check)
    return parser


def _listed(what: str, known: Iterable[str]) -> Callable[[str], tuple[str, ...]]:
    def read(text: str) -> tuple[str, ...]:
        names = tuple(filter(None, text.split(",")))
        unknown = sorted({*names} - {*known})
        if unknown or not names:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown) or 'nothing'}: no such {what}")
        return names

    return read


def _make(options: argparse.Namespace) -> int:
    observer = open_target(OBSERVER)
    assert isinstance(observer, InProcess)
    if options.claims is None:
        described = handshake(observer.adapter)
        form: Mapping[str, Json] = {name: described[name] for name in PLAIN if name in described}
    else:
        form = _claims_in(options.claims)
    chosen = {name: getattr(options, name) for name in ("ops", "capabilities", "dtypes") if getattr(options, name)}
    form = {**form, **{name: [each for each in form[name] if each in only] for name, only in chosen.items()}}
    claimed = Remote(Answers(protocol.handshake(json.dumps(form).encode())))
    count = file.write(options.out, making.vectors(claimed, observer, options.each, options.level), form)
    print(f"{options.out}: {counted(count, 'vector')}")
    return Exit.PASSED if count else Exit.NO_VERDICT


def _claims_in(path: Path) -> Mapping[str, Json]:
    """Returns the claims in a file. Raises `UnusableFile` if it is no JSON object."""
    try:
        form = json.loads(file.lines_of(path)[0])
    except ValueError as error:
        raise UnusableFile(f"{path} is no JSON: {error}") from None
    if not isinstance(form, dict):
        raise UnusableFile(f"{path} is no JSON object with the keys of the protocol's handshake")
    return form


def _check(options: argparse.Namespace) -> int:
    questions = file.read(options.vectors)
    report = check(questions, answers_in(options.answers, questions), options.report, tuple(options.known))
    print_summary(report, Console(), options.report / PAGE, in_full=SHOWN_IN_FULL)
    assert report.footer is not None
    return report.footer.exit_code
