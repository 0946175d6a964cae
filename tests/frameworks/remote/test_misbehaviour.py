"""Faults of a server: each results in a verdict on the program, or in one clear sentence."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from random import Random
from threading import Timer

import pytest

from autograd_conformance.frameworks.environment.process_end import Crashed, TimedOut
from autograd_conformance.frameworks.loading.registry import AdapterError, UnknownFramework
from autograd_conformance.frameworks.remote.__main__ import main
from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.frameworks.remote.command import Command, parse, served
from autograd_conformance.frameworks.remote.connection import Connection
from autograd_conformance.frameworks.remote.smoke import smoke
from autograd_conformance.programs.formats.text import parse as program
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Observation, Raised, Returned, Skipped

FAR = Path(__file__).with_name("server.py")
LEAF, SINE = program("a = leaf [1, 2]"), program("a = leaf [1, 2]; b = sin a; backward b with [1, 1]")


def far(*fault: str, programs: int | None = None, timeout: float = 5.0) -> Remote:
    return Remote(Connection(Command((sys.executable, str(FAR), *fault), programs), timeout=timeout))


def test_a_server_without_a_line_of_the_suite_is_a_target():
    target = far()
    smoke(target)
    assert (target.name, target.ops, target.dialect, target.prints) == ("far", {"sin"}, None, False)
    seen = target.observe(SINE)[-1]
    assert [held.value.round(3).tolist() for held in seen.gradients.values() if held] == [[0.54, -0.416]]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("no ops", "its handshake lacks ops"),
        ("an op that there is not", "ops names sine, which does not exist"),
        (
            "a capability that there is not",
            "capabilities names TELEPATHY, which does not exist; the known names are IMPERATIVE, ",
        ),
        ("another version", "it speaks version 2 of the protocol, but this suite speaks 1"),
        ("a word that there is not", "'colour' is not a key of a handshake; the keys are name, "),
        ("a trait that there is not", "traits has to be an object of some of scalars, "),
        ("a source of no trait", "trait_sources names friendly, which does not exist"),
        (
            "a package without a version",
            "packages['numpy'] has to be text of one line, of 1 to 300 characters, not None",
        ),
        ("a claim that needs another", "lacks a claim of UNUSED or MATERIALIZES, as it claims FUNCTIONAL"),
        ("no dtype", "dtypes is empty"),
        ("half a program", "programs_each has to be a whole number, not 0.5"),
        ("a name that leads elsewhere", "name has to be no path that leads elsewhere, not '../../evil'"),
        ("a name from the root", "name has to be no path that leads elsewhere, not '/etc/evil'"),
        ("a name that turns back", "name has to be no path that leads elsewhere, not 'far/../../evil'"),
        ("no such device", "far has no device 'cpu'"),
        (
            "ends before the handshake",
            "sent no handshake: the process ended itself with exit code 1; its last output was: no such li",
        ),
        (
            "prints a banner",
            "it wrote 'Welcome to Far!', which is no JSON: its standard output may contain only replies",
        ),
        ("rounds", "numbers of float64 that are hard to write: it gave ["),
        ("another dtype", "its dtype is 'float32', not 'float64'; the program was: a = leaf [1, 2]"),
        ("dies after its reply", "the same program again: the process ended itself with exit code 3"),
        ("dies", "the op sin: the process died of SIGSEGV; the program was: a = leaf [1, 2]; b = sin a"),
        ("garbage", "it wrote 'computing sin...', which is no JSON"),
        ("not an object", "it wrote '[]'; a reply is a JSON object"),
        ("an older reply", "not 4: each request has one reply with its 'id', in the order of the requests"),
        ("no observation", "has no 'observation'"),
        ("an error message", "far: sin is not wired up"),
        ("too short", "it has 1 instructions, but the program has 2"),
        ("null for a number", 'instruction 0: null is not a number; write "nan", "inf" or "-inf"'),
        ("data of another dtype", "'array' is 'float32', and its data have to be an array of float64"),
        ("a short dtype", "'f8' is a short name; that dtype is called 'float64'"),
        ("a dtype with a blank", "'float64 ' is not the name of a dtype, like 'float64' or 'bfloat16'"),
        ("a flag that is a number", "'requires_grad' has to be true, false or null, not 1"),
        ("skips all", "instruction 0: it was skipped, although all values that it needs exist"),
        ("skips the op", "instruction 1: it was skipped, although all values that it needs exist"),
    ],
)
def test_what_no_run_begins_with(fault: str, said: str):
    with pytest.raises(AdapterError) as caught:
        smoke(far(fault))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "ending", "how"),
    [
        ("dies", Crashed, "the process died of SIGSEGV"),
        ("ends", Crashed, "the process ended itself with exit code 7; its last output was: warming up / out of luck"),
        ("half a line, then the end", Crashed, "the process ended itself with exit code 0 in the middle of a reply"),
        ("closes its output", Crashed, "the process closed its output"),
        ("ends, and leaves a child", Crashed, "the process ended itself with exit code 0"),
        (
            "is killed, and leaves a child",
            Crashed,
            "the process died of SIGKILL, by the framework or from outside, as where memory runs out",
        ),
        ("hangs", TimedOut, "did not come back in time (0.3 s)"),
        ("drips", TimedOut, "did not come back in time (0.3 s), after an incomplete reply"),
        ("half a line, then nothing", TimedOut, "did not come back in time (0.3 s), after an incomplete reply"),
    ],
)
def test_an_end_is_about_the_program_and_another_process_continues(fault: str, ending: type, how: str):
    target = far(fault, timeout=0.3)
    for _ in range(2):
        assert isinstance(target.observe(LEAF)[0].outcome, Returned)
        with pytest.raises(ending) as caught:
            target.observe(SINE)
        assert (caught.value.program, caught.value.how) == (SINE, how)
    outcomes = [seen.outcome for seen in target.crash_as_error().observe(SINE)]
    assert isinstance(outcomes[0], Raised)
    assert outcomes[0].message == how
    assert outcomes[1:] == [Skipped(), Skipped()]


def test_a_restarted_server_may_word_and_order_its_handshake_otherwise():
    target = far("another order each time", programs=1)
    for _ in range(6):
        assert isinstance(target.observe(LEAF)[0].outcome, Returned)


def test_a_restarted_server_is_told_what_its_handshake_changed():
    target = far("another digest each time", programs=1)
    target.observe(LEAF)
    with pytest.raises(AdapterError, match=r"^far: after a restart its handshake differs, in digest$"):
        target.observe(LEAF)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("a truth for an identity", "a number has to be a whole number, not True"),
        ("skips the call", "instruction 2: it was skipped, although all values that it needs exist"),
        ("continues without a value", "instruction 2: it returned, although %1, which it needs, does not exist"),
        ("no gradients", "instruction 2: 'gradients' has to contain %0, but contains none"),
    ],
)
def test_what_ends_a_program(fault: str, said: str):
    with pytest.raises(AdapterError) as caught:
        far(fault).observe(SINE)
    assert said in str(caught.value)


def test_skips_after_an_error_are_accepted():
    outcomes = [seen.outcome for seen in far("skips after an error").observe(SINE)]
    assert [type(each) for each in outcomes] == [Returned, Raised, Skipped]


def test_identities_over_the_wire_tell_gradients_apart():
    two = program(
        "a = leaf [1, 2]; b = leaf [1, 2]; c = sin a; d = sin b; backward c with [1, 1]; backward d with [1, 1]"
    )
    target = far("one identity")
    target.observe(SINE)
    with pytest.raises(AdapterError, match=r"far: identity\(\) gave 7 for two different gradients, \["):
        target.observe(two)
    far().observe(two)


def test_an_answer_that_a_child_writes_is_taken():
    assert isinstance(far("ends, and its child writes on").observe(SINE)[0].outcome, Returned)


def test_a_command_may_start_what_answers_and_end():
    target = far("is a launcher")
    for _ in range(3):
        assert isinstance(target.observe(SINE)[-1].outcome, Returned)
        time.sleep(0.2)


def test_a_long_line_takes_no_longer_for_each_byte():
    began = time.monotonic()
    assert isinstance(far("pads its reply", timeout=60).observe(SINE)[-1].outcome, Returned)
    assert time.monotonic() - began < 30


def test_many_programs_are_on_their_way_at_a_time():
    programs = [LEAF, SINE] * 300
    one, all_ = far(), far()
    assert list(map(len, all_.observe_all(programs))) == [1, 3] * 300
    assert repr(list(all_.observe_all(programs))) == repr([one.observe(each) for each in programs])


def test_the_end_of_one_of_many_names_it():
    seen = far("dies").observe_all([LEAF, LEAF, SINE, LEAF])
    assert [len(next(seen)), len(next(seen))] == [1, 1]
    with pytest.raises(Crashed) as caught:
        next(seen)
    assert caught.value.program == SINE


@pytest.mark.parametrize("batched", [False, True])
def test_the_process_is_replaced_after_some_programs(batched: bool):
    target, seen = far(programs=3), []

    def noted() -> list[Program]:
        for _ in range(7):
            seen.append(target.connection.process and target.connection.process.child.process.pid)
            yield LEAF

    if batched:
        assert len(list(target.observe_all(noted()))) == 7
    else:
        for each in noted():
            target.observe(each)
    assert target.connection.process is not None
    assert len({*seen, target.connection.process.child.process.pid} - {None}) == 3


@pytest.mark.parametrize("kills", [10, pytest.param(50, marks=pytest.mark.slow)])
def test_kills_at_random_times_lose_nothing(kills: int):
    """A killed process affects only the program that it was running; the next program runs."""
    target, random, due = far(), Random(kills), shown(far().observe(SINE))
    hit = observed = 0
    while hit < kills:
        target.observe(LEAF)
        assert target.connection.process is not None
        pid = target.connection.process.child.process.pid
        killer = Timer(random.random() / 50, os.kill, (pid, signal.SIGKILL))
        killer.start()
        try:
            while True:
                assert shown(target.observe(SINE)) == due
                observed += 1
        except Crashed as error:
            assert (error.program, error.how.partition(",")[0]) == (SINE, "the process died of SIGKILL")
            hit += 1
        killer.join()
    assert observed


def shown(observation: Observation) -> str:
    return repr(observation)


def test_a_server_that_stays_is_ended():
    target = far("stays")
    target.observe(LEAF)
    process = target.connection.process
    assert process is not None
    target.connection.close()
    assert process.child.status is not None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("remote:", "'remote:' names no command"),
        ("remote/0: far", "names no command; write 'remote: COMMAND', or 'remote/100: COMMAND'"),
        ("remote: 'far", "is no command line: No closing quotation"),
    ],
)
def test_what_is_no_command(name: str, said: str):
    with pytest.raises(UnknownFramework, match=said.replace("(", r"\(")):
        parse(name)


def test_a_command_that_there_is_not():
    with pytest.raises(UnknownFramework, match="'far-away' cannot be started: No such file or directory"):
        _ = Remote(Connection(Command(("far-away",)))).name
    with pytest.raises(UnknownFramework, match="--framework-python=/far/python: there is no such program"):
        served("examples.tiny_adapter:Tiny", "/far/python", None)
    with pytest.raises(UnknownFramework, match="--framework-python is only for Python adapters"):
        served("remote: far", sys.executable, None)


def test_a_command_is_read_as_it_is_written():
    for name in ("remote: far 'away from' here", "remote/7: far"):
        assert str(parse(name)) == name
    assert served("torch", None, None) == "torch"
    assert str(parse(served("remote: far", None, 7))) == "remote/7: far"
    assert parse("remotes.adapter:Mine") is None


# -- the kit


def test_the_kit_prints_the_handshake(capsys: pytest.CaptureFixture[str]):
    assert main(["check", sys.executable, str(FAR)]) == 0
    said = capsys.readouterr().out
    assert "ok      handshake: far 0.1, Plain 1, protocol 1" in said
    assert "ok      the op sin" in said
    assert f"autograd-conformance '--framework=remote: {sys.executable} {FAR}'" in said


def test_the_kit_names_the_fault_and_a_line_to_try(capsys: pytest.CaptureFixture[str]):
    assert main(["check", sys.executable, str(FAR), "garbage"]) == 10
    said = capsys.readouterr().out
    assert "ok      a float64 leaf" in said
    assert "not ok  far: it wrote 'computing sin...', which is no JSON" in said
    assert "to try it by hand: python -m autograd_conformance.frameworks.remote lines | " in said


def test_the_kit_tries_a_program(capsys: pytest.CaptureFixture[str]):
    assert main(["try", "a = leaf [1]; b = sin a", sys.executable, str(FAR)]) == 0
    assert '"data": [0.8414709848078965]' in capsys.readouterr().out
    assert main(["try", "a = leef [1]", sys.executable, str(FAR)]) == 4
    assert main(["try", "a = leaf [1]; b = sin a", sys.executable, str(FAR), "dies"]) == 10
    assert "not ok  the process died of SIGSEGV" in capsys.readouterr().out


def test_the_lines_to_try_by_hand_are_those_that_go_over(capsys: pytest.CaptureFixture[str]):
    assert main(["lines"]) == 0
    hello, run = capsys.readouterr().out.splitlines()
    assert hello.startswith('{"do":"hello","protocol":1')
    assert run.startswith('{"do":"run","id":1,"program":{"version":')
