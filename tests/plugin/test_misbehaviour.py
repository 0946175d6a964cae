"""Misbehaving frameworks and adapters, as observed in their own process."""

from __future__ import annotations

import gc
import re
import signal

import pytest

from autograd_conformance.frameworks.environment import interrupts
from autograd_conformance.frameworks.loading.registry import AdapterError, load
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.reading import reader
from autograd_conformance.frameworks.running.runner import run as observed
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Program
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.judge.judge import judge
from examples.tiny_adapter import Tiny
from tests.frameworks.adapters.misbehaving import ReadsLiveGradients

MISBEHAVING = "tests.frameworks.adapters.misbehaving"

TWICE = "a = leaf [1, 2]; b = exp a; c = sum b dim=(0,) keepdim=False; backward c; backward c"
DETACHED = "a = leaf [1, 2]; b = detach a; c = exp a; backward c with [1, 2]"


def program(text: str) -> Program:
    return parse(text, VOCABULARY)


# -- what a framework raises -------------------------------------------------------------------------------------------


@pytest.fixture
def watching():
    interrupts.watch()


UNKNOWN = "raised an error that the adapter's `classify` does not know"

RAISED = {
    "Exits": f"{UNKNOWN} (SystemExit: 0)",
    "ExitsNumbered": f"{UNKNOWN} (SystemExit: 3)",
    "Stops": f"{UNKNOWN} (KeyboardInterrupt: )",
    "Closes": f"{UNKNOWN} (GeneratorExit: )",
    "Escapes": f"{UNKNOWN} (Escape: out of here)",
    "Skips": f"{UNKNOWN} (Skipped: not today)",
    "Fails": f"{UNKNOWN} (Failed: so be it)",
    "EndsPytest": f"{UNKNOWN} (Exit: enough)",
    "IsSpeechless": f"{UNKNOWN} (Speechless: its str() raises ValueError)",
    "OutOfMemory": f"{UNKNOWN} (ValueError: array is too big",
    "Recurses": f"{UNKNOWN} (RecursionError: maximum recursion depth exceeded",
    "Asserts": f"{UNKNOWN} (AssertionError: so much for that)",
    "StopsIterating": f"{UNKNOWN} (StopIteration: )",
}


@pytest.mark.parametrize("name", RAISED)
def test_whatever_a_framework_raises_is_an_outcome(name, watching):
    adapter = load(f"{MISBEHAVING}:{name}")
    smoke(adapter)
    seen = observed(program(TWICE), adapter)
    claims = InProcess(adapter).capabilities
    violation = judge(program(TWICE), seen, Reference(program(TWICE)), claims).violation
    assert violation is not None
    assert violation.rule == "lifetime/same-root-raises"
    assert violation.observed_text().startswith(RAISED[name])


OBSERVED = {
    "LooksLater": (
        "errors/legal-returns",
        "raised RuntimeError: the gradient cannot be computed after all",
    ),
    "Huge": ("gradients/form", "a gradient of shape (1000000, 1000000)"),
    "HugeCopied": (
        "errors/legal-returns",
        "raised MemoryError: Unable to allocate",
    ),
    "WritesCotangent": ("gradients/cotangent-kept", "the call wrote into the cotangent that it was given"),
}


@pytest.mark.parametrize("name", OBSERVED)
def test_what_shows_when_a_framework_is_looked_at(name):
    adapter, case = load(f"{MISBEHAVING}:{name}"), program(DETACHED)
    smoke(adapter)
    violation = judge(case, observed(case, adapter), Reference(case), adapter.capabilities).violation
    assert violation is not None
    rule, said = OBSERVED[name]
    assert violation.rule == rule
    assert said.removeprefix("a gradient of ") in violation.observed_text()


def test_a_signal_that_stops_the_run_is_no_outcome(watching):
    adapter = load(f"{MISBEHAVING}:Interrupted")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are deaf to it
    try:
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                observed(program(TWICE), adapter)
    finally:
        signal.signal(signal.SIGINT, before)


# -- what an adapter does wrong ----------------------------------------------------------------------------------------

DECLARED = {
    "NoName": "name has to be a str of one line, of 1 to 80 characters, not None",
    "LongName": "name has to be a str of one line",
    "PathName": "name has to be no path that leads elsewhere, not '../../evil'",
    "NumberVersion": "version has to be a str of one line, of 1 to 80 characters, not 3",
    "LongVersion": "version has to be a str of one line, of 1 to 80 characters, not '111",
    "LinesVersion": "version has to be a str of one line",
    "NumberOps": "ops has to be a collection of the names of ops, each a str, not 3",
    "TextOps": "ops has to be a collection of the names of ops, each a str, not 'sin'",
    "NumbersOps": "ops has to be a collection of the names of ops, each a str, not (1, 2)",
    "NumberCapabilities": "capabilities has to be a collection of members of programs.capabilities.Capability, not 3",
    "TextCapabilities": "capabilities has to be a collection of members of programs.capabilities.Capability, not ('de",
    "TextDtypes": "dtypes has to be a collection of the names of dtypes, each a str, not 'float64'",
    "NoDtypes": "dtypes has to be a collection of the names of dtypes, each a str, not None",
    "TextDialect": "dialect has to be a printing.dialect.Dialect or None, not 'python'",
    "ReadsList": "read(leaf([1, 2])) gave [1.0, 2.0], not array([1., 2.]), which went in",
    "ReadsLive": "read() of a leaf gave the same memory twice; it has to give a copy",
}

ANSWERED = {
    "ReadsText": "read() gave '[1, 2]', not a plain NumPy array of float64",
    "ReadsNone": "read() gave None, not a plain NumPy array of float64",
    "ReadsLiveGradients": "read() of a gradient gave the same memory twice; it has to give a copy",
    "AppliesNone": "apply('exp') gave None, not a tuple or a list of all results",
    "AppliesTensor": "apply('exp') gave <examples.tiny.Tensor object at",
    "AppliesNoResult": "apply('exp') gave 0 results, not 1",
    "AppliesTwice": "apply('exp') gave 2 results, not 1",
    "AppliesNoTensor": "apply('exp') gave (None,), not a tensor in each place",
    "TellsNoDtype": "dtype() gave dtype('float64'), not a str",
    "TellsTextIdentity": "identity() gave 'a', not an int or None",
    "RequiresText": "requires_grad() gave 'yes', not a bool or None",
    "RequiresTextLater": "requires_grad() gave 'yes', not a bool or None",
    "DetachesNothing": "detach() gave None, not a tensor",
    "ClassifiesText": "classify() of GraphFreed gave 'freed', not a Kind",
    "ClassifyRaises": "classify() of GraphFreed raised LookupError: which error is that?",
    "Subscripts": "apply('sum') raised TypeError: tuple indices must be integers or slices, not str (misbehaving.py, ",
    "Misnames": "backward() raised NameError: name 'rots' is not defined (misbehaving.py, ",
    "MissesOp": "apply('cos') raised AttributeError: module 'examples.tiny' has no attribute 'cos' (tiny_adapter.py, ",
    "MissesArgument": "zero_grad() raised TypeError: MissesArgument.zero_grad() takes 2 positional arguments but 3",
    "AsksWrongly": "apply('exp') raised TypeError: 'str' object cannot be interpreted as an integer (misbehaving.py, ",
    "ResetRaises": "reset() raised RuntimeError: nothing to reset",
}
WITH_MORE = {
    "MissesOp": "a = leaf [1, 2]; b = cos a",
    "MissesArgument": "a = leaf [1, 2]; b = exp a; zero a",
}


@pytest.mark.parametrize("name", DECLARED)
def test_the_smoke_test_names_the_mistake(name):
    with pytest.raises(AdapterError, match=re.escape(DECLARED[name])):
        smoke(load(f"{MISBEHAVING}:{name}"))


@pytest.mark.parametrize("name", ANSWERED)
def test_a_program_names_the_mistake(name):
    adapter = load(f"{MISBEHAVING}:{name}")
    smoke(adapter)
    programs = [program(text) for text in (TWICE, DETACHED, *([WITH_MORE[name]] if name in WITH_MORE else []))]
    with pytest.raises(AdapterError, match=re.escape(ANSWERED[name])):
        [observed(each, adapter) for each in programs]


def test_an_adapter_in_the_place_of_a_trusted_one_is_not_trusted(monkeypatch):
    monkeypatch.setattr(reader, "id", lambda adapter: 0, raising=False)
    observed(program(DETACHED), Tiny())
    gc.collect()
    with pytest.raises(AdapterError, match=re.escape(ANSWERED["ReadsLiveGradients"])):
        observed(program(DETACHED), ReadsLiveGradients())
