"""Tools for authors of a server: `python -m autograd_conformance.frameworks.remote check COMMAND`.

`check` starts the server, prints its handshake and runs the smoke test. `try PROGRAM COMMAND` runs one program, in the
notation of programs/formats/text.py, and prints each observation. `lines PROGRAM` prints the request lines alone, to be
piped to a server by hand. Exit code 0: it speaks the protocol; 10: it does not; 4: wrong usage.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress

from autograd_conformance.frameworks.environment.process_end import ENDED
from autograd_conformance.frameworks.loading.registry import AdapterError, UnknownFramework
from autograd_conformance.frameworks.remote import protocol
from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.frameworks.remote.command import Command
from autograd_conformance.frameworks.remote.connection import Connection
from autograd_conformance.frameworks.remote.smoke import passed_trials
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats import observation_codec
from autograd_conformance.programs.formats.parser import parse
from autograd_conformance.programs.formats.text import lines
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.validation import MalformedProgram

NOT_CONFORMING, USAGE = 10, 4
EXAMPLE = "a = leaf [1, 2]; b = sin a; backward b with [1, 1]"


def main(words: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m autograd_conformance.frameworks.remote",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--device", default="cpu", help="the device of the handshake (default: cpu)")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long a reply may take (default: 10)")
    actions = parser.add_subparsers(dest="action", required=True)
    check = actions.add_parser("check", help="start a server and run the smoke test")
    trial = actions.add_parser("try", help="run a program and print its observations")
    alone = actions.add_parser("lines", help="print the request lines, to be piped to a server by hand")
    for each in (trial, alone):
        each.add_argument("program", nargs="?" if each is alone else None, default=EXAMPLE, help=f'like "{EXAMPLE}"')
    for each in (check, trial):
        each.add_argument("command", nargs=argparse.REMAINDER, help="the command that starts the server")
    options = parser.parse_args(words)
    try:
        program = parse(options.program, VOCABULARY) if options.action != "check" else Program(())
        if options.action == "lines":
            sys.stdout.write((protocol.hello(options.device) + protocol.run(1, program)).decode())
            return 0
        command = Command(tuple(options.command))
        if not command.words:
            parser.error("name the command that starts the server")
        target = Remote(Connection(command, options.device, timeout=options.seconds))
        _print_handshake(target)
        return _check(target, command) if options.action == "check" else _try(target, program)
    except (MalformedProgram, UnknownFramework) as error:
        print(error, file=sys.stderr)
        return USAGE
    except AdapterError as error:
        print(f"not ok  {error}")
        print(f"to try it by hand: {_by_hand(options.command)}")
        return NOT_CONFORMING


def _by_hand(command: Sequence[str]) -> str:
    return f"python -m autograd_conformance.frameworks.remote lines | {shlex.join(command)}"


def _print_handshake(target: Remote) -> None:
    handshake = target.handshake
    print(f"ok      handshake: {handshake.name} {handshake.version}, {handshake.language}, protocol {protocol.VERSION}")
    claimed = ", ".join(sorted(capability.name for capability in handshake.capabilities)) or "none"
    print(f"        {len(handshake.ops)} ops in {', '.join(handshake.dtypes)}; capabilities: {claimed}")
    if handshake.traits.named:
        print(f"        traits: {', '.join(handshake.traits.named)}")
    if target.dialect is None:
        print("        it has no Python dialect: failures are printed in the suite's own notation")


def _check(target: Remote, command: Command) -> int:
    for trial in passed_trials(target):
        print(f"ok      {trial.about}")
    target.connection.close()
    target.observe(Program(()))
    print("ok      it exits when its input is closed, and can be restarted")
    print(f"It speaks the protocol. To test it: autograd-conformance {shlex.quote(f'--framework={command}')}")
    return 0


def _try(target: Remote, program: Program) -> int:
    print(f"> {protocol.run(1, program).decode()}", end="")
    try:
        observation = target.observe(program)
    except ENDED as error:
        print(f"not ok  {error.how}")
        return NOT_CONFORMING
    for line, observed in zip(lines(program), observation_codec.to_json(observation), strict=True):
        print(f"{line}\n    {json.dumps(observed)}")
    return 0


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        sys.exit(main())
