"""Files of known differences: every entry has a witness that shows it, and an invalid file is refused with the reason
and line.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import MalformedKnownDifferences, is_known, known, read
from autograd_conformance.known_differences.applicable import applicable
from autograd_conformance.known_differences.entry import Environment, Known
from autograd_conformance.known_differences.entry_checks import witness_problem
from autograd_conformance.known_differences.file import shipped, tried_versions
from autograd_conformance.known_differences.parts import FOLDERS, own_files
from autograd_conformance.known_differences.versions import untried
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Ref
from autograd_conformance.rules.violations.shared import (
    Flag,
)
from autograd_conformance.rules.violations.violation import Violation
from examples.tiny_adapter import Tiny

WITNESS = 'witness = "a = leaf [1]; b = sin a; backward b"'


def name(entry: Known) -> str:
    return f"{entry.rule}-{entry.op}"


OF_THIS_VERSION = applicable(known("torch", device="cpu"), "torch", InProcess(Torch()).version, "cpu")


@pytest.mark.parametrize("entry", OF_THIS_VERSION, ids=name)
def test_torch_shows_what_is_listed(entry) -> None:
    assert FrameworkUnderTest(Settings("torch")).run_witness(entry)


@pytest.mark.parametrize("entry", [entry for entry in known("torch", device="cuda") if entry.device], ids=name)
def test_torch_shows_what_is_listed_on_cuda(entry) -> None:
    pytest.importorskip("torch").cuda.is_available() or pytest.skip("there is no CUDA device")
    assert FrameworkUnderTest(Settings("torch", device="cuda")).run_witness(entry)


@pytest.mark.parametrize(
    "mode",
    [
        "torch-checkpoint",
        "torch-checkpoint-reentrant",
        "torch-compile-eager",
        "torch-checkpoint-selective",
        pytest.param("torch-compile-aot_eager", marks=pytest.mark.slow),
        "torch-func",
        "torch-functionalize",
        "torch-jvp",
        "torch-jvp-in-place",
        "torch-jacfwd",
        "torch-reverse-over-forward",
        "torch-jacrev",
        "torch-vmap",
        "torch-per-sample",
        "torch-reverse-over-vmap",
        "torch-batched",
        "torch-allow-mutation",
        "torch-save-on-cpu",
        "torch-saved-arrays",
        "torch-dispatch-mode",
        "torch-subclass",
        "torch-custom",
        pytest.param("torch-compile-eager-custom", marks=pytest.mark.slow),
        "torch-export",
    ],
)
def test_a_mode_shows_what_is_listed_of_it_and_inherits_the_rest(mode: str) -> None:
    framework = FrameworkUnderTest(Settings(mode))
    own = [entry for entry in known(mode) if not entry.inherited]
    assert own and all(framework.run_witness(entry) for entry in own)
    assert {entry for entry in known(mode) if entry.inherited} >= {*known("torch")}


FILES = {file.stem: file for folder in FOLDERS for file in folder.glob("*.toml")}
INCLUDED = frozenset({"torch-batches", "torch-determinants", "torch-nested-tangents"})
"""Files that are parts of others."""


@pytest.mark.parametrize("mode", sorted(name for name in FILES if name.partition("-")[0] in FILES and "-" in name))
def test_a_mode_inherits_what_is_listed_of_its_framework(mode: str) -> None:
    inherits = {*read(FILES[mode.partition("-")[0]])} <= {*read(FILES[mode])}
    assert inherits == (mode not in INCLUDED)


def test_what_two_included_files_include_is_there_once() -> None:
    entries = known("torch-compile-checkpoint")
    assert len(entries) == len(set(entries)) > len(known("torch"))


def test_a_file_of_ones_own_may_include_one_that_comes_with_the_suite() -> None:
    entries = read(Path(__file__).parents[2] / "examples" / "device" / "known.toml")
    assert {entry for entry in entries if entry.inherited} == {*known("torch")}


def test_files_that_include_each_other_are_refused(tmp_path: Path) -> None:
    for name, other in (("one", "two"), ("two", "one"), ("three", "three"), ("four", "none")):
        (tmp_path / f"{name}.toml").write_text(f'include = ["{other}"]\n')
    for name, said in (("one", "one.toml includes this file"), ("three", "includes this"), ("four", "no file none")):
        with pytest.raises(MalformedKnownDifferences, match=said):
            known(name, [tmp_path])
        for reader in (tried_versions, own_files):
            with pytest.raises(MalformedKnownDifferences, match=said):
                reader(tmp_path / f"{name}.toml")


def test_a_witness_that_shows_nothing_is_told(tmp_path: Path) -> None:
    (tmp_path / "torch.toml").write_text(
        f'[[known]]\nrule = "gradients/op"\nop = "sin"\nreason = "none"\nrelative = 0.1\n{WITNESS}\n'
    )
    (entry,) = known("torch", [tmp_path])
    assert not FrameworkUnderTest(Settings("torch")).run_witness(entry)


def test_no_file_means_nothing_known(tmp_path: Path) -> None:
    assert known("nothing", [tmp_path]) == ()


ENTRY = f'[[known]]\nrule = "gradients/op"\nop = "sin"\nreason = "r"\n{WITNESS}\n'


def refused(path: Path, text: str | bytes) -> str:
    """The message with which a file is refused."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(MalformedKnownDifferences) as caught:
        read(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("relativ = 1e-7", "there is no key 'relativ'; 'relative' is one"),
        ('relative = "lots"', "relative has to be a finite number, 0 or more, not 'lots'"),
        ("relative = inf", "relative has to be a finite number, 0 or more, not inf"),
        ("relative = nan", "relative has to be a finite number, 0 or more, not nan"),
        ("relative = true", "relative has to be a finite number, 0 or more, not True"),
        ("absolute = -1", "absolute has to be a finite number, 0 or more, not -1"),
        (f"absolute = 1{'0' * 400}", "absolute has to be a finite number"),
        ("elements = 1.5", "elements has to be a whole number, 0 or more, not 1.5"),
        ("zero_operand = -1", "zero_operand has to be the number of an operand, from 0, not -1"),
        ("nan = 1", "nan has to be true or false, not 1"),
        ("reason = 3", "reason has to be a text, not 3"),
        ('message = ""', "message has to be a text, not ''"),
        ('raised = "wrong"', "raised has to be a kind of error: graph freed, no grad, "),
        ('step = "sdg fused=True"', "step has to be an optimizer with settings, such as 'sgd fused=True', not 'sdg"),
        ('after = "unfolded"', "after has to be an op, an instruction's word, a hook's effect"),
        ('link = "see the forum"', "link has to be an address that begins with https://, or 'not reported', not 'see"),
        ('since = "last year"', "since has to be a day, such as 2026-11-22, not 'last year'"),
        ('version = "newest"', "version has to be versions of the framework, such as '>=2.12,<2.14', not 'newest'"),
        ('dtype = "float8"', "dtype has to be float32 or float64 or float16 or bfloat16, not 'float8'"),
        ('rule = "no/such"', "rule: there is no rule 'no/such'"),
        ('op = "frobnicate"', "op: there is no op 'frobnicate'"),
        ('op = "exp"', "witness: the program does not apply 'exp', the op of the entry"),
        ('witness = "b = sin a"', "witness: the program is malformed: statement 1"),
        ("any_value = true\nrelative = 1", "any_value: it waives all values; leave out relative, absolute and nan"),
        ("", "relative: 'gradients/op' is about values, and no key limits how far they may be off"),
        (
            "relative = 1.5",
            "relative: 1.5 is above 1, which waives almost any value; write any_value = true instead",
        ),
        ("relative = 1e300", "relative: 1e+300 is above 1"),
        ("relative = 0.1\nabsolute = 1e308", "absolute: 1e+308 is above 1"),
        ("nan = true\nabsolute = 2", "absolute: 2.0 is above 1"),
        ('result_dtype = "florp"', "result_dtype has to be the name of a dtype: bool, int8, "),
        ('result_dtype = "float"', "result_dtype has to be the name of a dtype"),
        ("result_dtype = 3", "result_dtype has to be the name of a dtype"),
        (
            'result_dtype = "float64"\nrelative = 0.1',
            "result_dtype: it is about a dtype, and relative about values; write",
        ),
        ('raised = "unknown"\nrelative = 0.1', "raised: it is about an error, and relative about values"),
        (
            'wrong_shape = true\nresult_dtype = "float64"',
            "result_dtype: it is about a dtype, and wrong_shape about",
        ),
        ("returned = true\nany_value = true", "returned: it is about a call that returned, and any_value about values"),
        ("relative = 0.1\nelements = 0\ndimensions = 0", "elements: a value without dimensions has 1 element, not 0"),
        ("relative = 0.1\nelements = 0\ndimensions = 7", "witness: no value of the program has this number"),
        ("relative = 0.1\ndimensions = 3", "witness: no value of the program has this number of"),
        (
            "relative = 0.1\nwrong_elements = 0",
            "wrong_elements: with 0 wrong elements there is no",
        ),
        (
            "relative = 0.1\nelements = 1\nwrong_elements = 2",
            "wrong_elements: at most 1 of 1 elements can be",
        ),
        (
            "relative = 0.1\ngraph_reused = true",
            "witness: no instruction of the program fulfils graph_reused",
        ),
        ('relative = 0.1\nstep = "sgd"', "witness: no instruction of the program fulfils step"),
        ('relative = 0.1\nafter = "exp"', "witness: no instruction of the program fulfils after"),
        (
            'relative = 0.1\nafter = "sin"\nempty_value = true',
            "witness: no instruction of the program fulfils",
        ),
        (
            "relative = 0.1\nzero_operand = 3",
            "witness: no instruction of the program fulfils zero_operand",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_line(line: str, says: str, tmp_path: Path) -> None:
    key = line.partition(" ")[0]
    entry = "\n".join(each for each in ENTRY.splitlines() if not each.startswith(f"{key} =") or not key)
    fine = f"{ENTRY}relative = 1e-7\n\n# [[known]]\n"
    said = refused(tmp_path / "x.toml", f"{fine}{entry}\n{line}\n")
    assert said.startswith(f"{tmp_path / 'x.toml'}, line 9: {says}")
    assert "\n" not in said


BARE = (
    '[[known]]\nrule = "accumulation/adds"\nreason = "r"\nwitness = "a = leaf 1; b = sin a; backward b; backward a"\n'
)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "elements = 1",
        "dimensions = 1\nelements = 1",
        "any_value = true",
        "relative = 0.1\nabsolute = 0.1",
        'dtype = "float64"\ndevice = "cpu"\nplatform = "Linux"\nversion = ">1"',
        'raised = "unknown"',
        'message = "e"',
        'call = "backward"',
        'after = "leaf"',
        'after = "backward"',
        "makes_view = false\ngrad_already_set = false",
        "wrong_shape = true",
        'result_dtype = "float64"',
        "left_out = false",
        "since = 2026-11-22",
    ],
)
def test_an_entry_that_names_no_case_is_refused(said: str, tmp_path: Path) -> None:
    text = refused(tmp_path / "x.toml", f"{BARE}{said}\n")
    assert text.startswith(
        f"{tmp_path / 'x.toml'}, line 1: op: nothing names the case, so the entry would cover every violation of "
    )
    assert "give an op, or a key that says where" in text


@pytest.mark.parametrize(
    "said",
    [
        'op = "sin"',
        "grad_already_set = true",
        'after = "sin"',
        'message = "no such leaf"',
        "elements = 1\ngrad_already_set = true",
    ],
)
def test_an_entry_that_names_its_case_is_taken(said: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(f"{BARE}{said}\n")
    assert len(read(tmp_path / "x.toml")) == 1


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("a = leaf [1, 2]; b = leaf [1, 2, 3]; c = add a b", "the program is not well-formed: "),
        ("a = leaf [[1, 2]]; b = add a a; c = matmul b b", "the program is not well-formed: "),
        ("a = leaf [1]; b = add a a; c = reshape b shape=(2,)", "the program is not well-formed: "),
        (
            "a = leaf [[1]]; b = add a a; c = sum b dim=() keepdim=False",
            "the program is not well-formed: ValueError: dim=() names none of its dimensions; all are dim=(0, 1)",
        ),
        (
            "a = leaf [1]; b, c = add a a",
            "the program is not well-formed: ValueError: the number of results is 1, not 2",
        ),
    ],
)
def test_a_witness_that_no_framework_can_run_is_refused(program: str, says: str, tmp_path: Path) -> None:
    text = f'[[known]]\nrule = "gradients/op"\nop = "add"\nreason = "r"\nrelative = 0.1\nwitness = "{program}"\n'
    assert f"x.toml, line 1: witness: {says}" in refused(tmp_path / "x.toml", text)


@pytest.mark.parametrize("file", sorted(FILES.values()), ids=lambda file: file.stem)
def test_the_witness_of_each_entry_that_comes_with_the_suite_can_show_it(file: Path) -> None:
    for entry in read(file):
        assert entry.inherited or witness_problem(entry) is None, (entry.rule, entry.op, witness_problem(entry))


def test_an_entry_may_be_about_an_op_in_place(tmp_path: Path) -> None:
    written = '[[known]]\nrule = "writes/requires-grad"\nop = "add_"\nreason = "r"\nleft_out = false\n'
    witness = 'witness = "a = leaf [1] const; b = leaf [2]; write a add_ b"'
    (tmp_path / "x.toml").write_text(written + witness)
    (entry,) = read(tmp_path / "x.toml")
    for op, holds in (("add_", True), ("mul_", False)):
        program = parse(f"a = leaf [1] const; b = leaf [2]; write a {op} b")
        assert is_known(entry, program, Violation(entry.rule, 2, Flag(False), (), Ref(0), op)) is holds
    assert "the program does not apply 'add_'" in refused(tmp_path / "y.toml", written + WITNESS)


@pytest.mark.parametrize("key", ["rule", "reason", "witness"])
def test_what_every_entry_needs(key: str, tmp_path: Path) -> None:
    entry = "\n".join(each for each in ENTRY.splitlines() if not each.startswith(key))
    said = refused(tmp_path / "x.toml", f"{entry}\nrelative = 1e-7")
    assert said.endswith(f"line 1: {key!r} is missing; every [[known]] needs rule, reason, witness")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[known]\n", "x.toml: Expected ']]' at the end of an array declaration (at line 1, column 8)"),
        ("known = 3", "x.toml: known has to be a list of entries; begin each with [[known]]"),
        ("known = [3]", "x.toml: known has to be a list of entries; begin each with [[known]]"),
        ("[[knwon]]\nrule = 1", "x.toml: there is no key 'knwon'; 'known' is one; each entry begins with [[known]]"),
        (b"reason = '\xff'", "x.toml: the file is not UTF-8 from byte 10 on"),
        ("a = " + "[" * 90_000, "x.toml: the TOML is nested too deeply"),
        ("\na = " + "1" * 90_000, "x.toml: Exceeds the limit (4300 digits) for integer string conversion: value has"),
        ("\na = " + "1" * 100_000, "x.toml, line 2: the line is longer than 100,000 characters"),
        (
            "known = 1\n" + "a." * 40_000 + "a = 1",
            "x.toml, line 2: a key has too many parts; no key",
        ),
        ("[[" + " 'a' ." * 40 + " a ]]", "x.toml, line 1: a key has too many parts; no key"),
        ("# \n" * 2**21, "x.toml: the file is larger than 4 MiB; write several files"),
    ],
)
def test_a_file_that_is_none(text: str | bytes, says: str, tmp_path: Path) -> None:
    assert refused(tmp_path / "x.toml", text).startswith(f"{tmp_path}/{says}")


def test_a_folder_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "x.toml").mkdir()
    with pytest.raises(MalformedKnownDifferences, match="Is a directory"):
        known("x", [tmp_path])


def test_an_entry_in_a_string_is_none(tmp_path: Path) -> None:
    text = ENTRY.replace('"r"', '"""\n[[known]]\n"""') + "relative = 1\n" + ENTRY
    assert ", line 9: relative: " in refused(tmp_path / "x.toml", text)


# -- conditions --------------------------------------------------------------------------------------------------------

HERE = Environment("2.13.0+cpu", "cuda:1", "Linux", "x86_64")


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ('version = ">=2.12,<2.14"', True),
        ('version = "<2.13"', False),
        ('version = "==2.13.0"', True),
        ('device = "cuda"', True),
        ('device = "cuda:1"', True),
        ('device = "cuda:0"', False),
        ('device = "cpu"', False),
        ('device = ["cpu", "cuda"]', True),
        ('device = ["cpu", "cuda:0"]', False),
        ('platform = "linux"', True),
        ('platform = "Linux x86_64"', True),
        ('platform = "Darwin"', False),
        ("since = 2026-11-22", True),
    ],
)
def test_conditions(condition: str, holds: bool, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(f"{ENTRY}relative = 0.1\n{condition}\n")
    (entry,) = known("x", [tmp_path])
    assert entry.applies(HERE) is holds


def test_an_entry_that_does_not_hold_here_is_not_in_force(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(f'{ENTRY}relative = 0.1\nversion = "<1"\n')
    framework = FrameworkUnderTest(Settings("examples.tiny_adapter:Tiny", known_files=(tmp_path / "x.toml",)))
    assert framework.known == ()
    assert "sin" not in framework.faulty_ops


def test_a_version_that_cannot_be_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.toml").write_text(f'{ENTRY}relative = 0.1\nversion = "<1"\n')
    monkeypatch.setattr(Tiny, "version", "newest")
    framework = FrameworkUnderTest(Settings("examples.tiny_adapter:Tiny", known_files=(tmp_path / "x.toml",)))
    with pytest.raises(MalformedKnownDifferences, match="tiny calls its version 'newest', which cannot be compared"):
        _ = framework.known


def test_files_add_up(tmp_path: Path) -> None:
    for name, op in (("x", "sin"), ("y", "exp")):
        (tmp_path / f"{name}.toml").write_text(
            f"{ENTRY.replace('sin', op)}relative = 0.1\nleft_out = {str(op == 'exp').lower()}\n"
        )
    files = (tmp_path / "x.toml", tmp_path / "y.toml")
    framework = FrameworkUnderTest(Settings("examples.tiny_adapter:Tiny", known_files=files))
    assert [entry.op for entry in framework.known] == ["sin", "exp"]
    assert framework.faulty_ops == {"exp"}


def test_a_version_that_nobody_tried_is_said() -> None:
    torch = shipped("torch")
    assert torch is not None and untried("torch", "2.13.0+cpu", torch) is None
    assert "torch 2.999 yet; its known differences are those of 2.13.0" in str(untried("torch", "2.999", torch))


def test_a_file_without_tried_versions_has_those_of_the_files_that_it_includes(tmp_path: Path) -> None:
    for name, text in (
        ("a", 'tried = ["1.0", "x-7"]'),
        ("b", 'include = ["a"]'),
        ("c", 'include = ["a"]\ntried = ["2"]'),
    ):
        (tmp_path / f"{name}.toml").write_text(text)
    assert [tried_versions(tmp_path / f"{name}.toml") for name in "abc"] == [("1.0", "x-7"), ("1.0", "x-7"), ("2",)]
    assert untried("a", "x-7", tmp_path / "a.toml") is None and untried("a", "1.0.0+cuda", tmp_path / "b.toml") is None
    (tmp_path / "d.toml").write_text("tried = [2.13]")
    with pytest.raises(MalformedKnownDifferences, match="tried has to be a list of versions, such as"):
        tried_versions(tmp_path / "d.toml")


@pytest.mark.parametrize("path", FILES.values(), ids=FILES)
def test_each_file_of_the_suite_says_what_was_tried(path: Path) -> None:
    assert tried_versions(path)


def test_a_run_says_that_nobody_tried_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    assert FrameworkUnderTest(Settings("torch")).untried is None
    newer = FrameworkUnderTest(Settings("torch"))
    monkeypatch.setattr(type(newer.target), "version", "3.0")
    assert newer.untried and "torch 3.0" in newer.untried
