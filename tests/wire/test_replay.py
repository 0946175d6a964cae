"""Replay files of an earlier version are read, written back unchanged, and replayed with the same verdict.

The files in `replay/` were written by that version. They contain every instruction and both earlier versions of the
JSON form. Each passes on PyTorch and fails on a mutant.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.plugin.replay import read, replay
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Instruction, Program
from autograd_conformance.rules.relations import codec as relations_codec
from autograd_conformance.rules.relations.relation import Related
from evaluation.mutants import (
    accumulation,
    atomicity,
    default_dtype,
    derivatives,
    detach,
    errors,
    functional,
    gradient_objects,
    graphs,
    higher,
    hooks,
    lifetime,
    memory,
    modes,
    optimizers,
    recurrent,
    relations,
    training,
    views,
)
from evaluation.mutants.mutant import Mutant

FOLDER = Path(__file__).with_name("replay")

FILES: tuple[tuple[str, type[Mutant], str], ...] = (
    ("accumulation-adds.adds", accumulation.Overwrites, "accumulation/adds"),
    ("accumulation-adds.assigned", gradient_objects.AssignedIsReplaced, "accumulation/adds"),
    ("detach-in-place.in_place", detach.DetachInPlaceIgnored, "detach/in-place"),
    ("detach-values.values", detach.DetachKeepsHistory, "detach/values"),
    ("errors-goes-on.goes_on", atomicity.NothingAfterAnError, "errors/recovers"),
    ("errors-non-scalar-root.non_scalar_root", errors.ImplicitOnes, "errors/non-scalar-root"),
    ("errors-not-torn.not_torn", atomicity.TornAtTheFirst, "errors/atomic"),
    ("failure-record", atomicity.TornAtTheFirst, "errors/atomic"),
    ("functional-no-accumulation.no_accumulation", functional.FunctionalAccumulates, "functional/no-accumulation"),
    ("gradients-fan-out.fan_out", graphs.UseOnce, "gradients/fan-out"),
    ("gradients-op.default_dtype", default_dtype.TwiceUnderAnotherDefault, "gradients/cotangent"),
    ("gradients-op.op-matmul", derivatives.MatmulTransposed, "gradients/op"),
    ("gradients-several-results.several_results", graphs.FirstResultOnly, "gradients/several-results"),
    ("higher-differentiable.twice-multiply", higher.MixedDropped, "higher/differentiable"),
    ("hooks-removed.removed", hooks.RemovesNothing, "hooks/removed"),
    ("hooks-result.result", hooks.HookResultIgnored, "hooks/result"),
    ("hooks-retained.retained", hooks.RetainOverwrites, "hooks/retained"),
    ("lifetime-same-root-raises.same_root_raises", lifetime.NeverFrees, "lifetime/same-root-raises"),
    ("lifetime-walked-only.walked_only", lifetime.FreesWholeGraph, "lifetime/traversed-only"),
    ("memory-dropped.let_go", memory.DetachedKeeps, "memory/dropped"),
    ("memory-freed.released", memory.KeepsWhatItWalked, "memory/freed"),
    ("modes-recorded.recorded", modes.EnableGradIgnored, "modes/recorded"),
    ("modes-switch-refused.switch_refused", modes.SwitchesAnything, "modes/toggle-refused"),
    ("optimizers-clears.clears", optimizers.ClearsFirstGroup, "optimizers/clears"),
    ("optimizers-clips.clips", optimizers.ClipsEachLeaf, "optimizers/clips"),
    ("optimizers-groups.groups", optimizers.GroupsIgnored, "optimizers/groups"),
    ("optimizers-variants.variants", optimizers.FusedWithoutDecay, "optimizers/variants"),
    ("recurrent-packed.packed", recurrent.PaddingContributes, "recurrent/packed"),
    ("relations-order.orders", relations.WeakensLater, "relations/order"),
    ("relations-sum.sums", relations.AddFavours, "relations/sum"),
    ("training-loop.any_loop", training.DerivesYesterday, "training/loop"),
    ("writes-error-or-recorded.history", views.ViewsWriteUnrecorded, "writes/error-or-recorded"),
)
"""Each file, with a mutant that fails on its program, and the current slug of the violated rule."""

NAMES = [*(name for name, _, _ in FILES), "nan-and-infinity"]


def path(name: str) -> Path:
    """Path of a file."""
    return FOLDER / f"{name}.json"


def programs(name: str) -> tuple[Program, ...]:
    """The one or two programs in a file."""
    found, _ = read(path(name))
    return (found.first, found.second) if isinstance(found, Related) else (found,)


def test_each_file_is_tried() -> None:
    assert {each.stem for each in FOLDER.iterdir()} == set(NAMES)


def test_each_instruction_and_each_version_is_there() -> None:
    assert {type(step) for name in NAMES for program in programs(name) for step in program} == set(
        get_args(Instruction)
    )
    versions = re.findall(r'"version": (\d+)', "".join(path(name).read_text(encoding="utf-8") for name in NAMES))
    assert set(map(int, versions)) == set(codec.READ)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_written_back_as_it_was(name: str) -> None:
    text, (found, _) = path(name).read_text(encoding="utf-8"), read(path(name))
    form = relations_codec.to_json(found) if isinstance(found, Related) else codec.to_json(found)
    if name == "failure-record":
        assert form == json.loads(text)["program"]
    else:
        assert json.dumps(form, indent=1) + "\n" == re.sub(r'"version": \d+', f'"version": {codec.VERSION}', text)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_fixed_on_torch(name: str) -> None:
    replayed = replay(path(name), InProcess(Torch()))
    if name == "nan-and-infinity":  # of what an op makes of these nothing is judged, so that nothing can be fixed
        assert replayed.verdict == "cannot run"
        assert "relu is not smooth at its operands" in (replayed.reason or "")
    else:
        assert replayed.verdict == "fixed"


@pytest.mark.parametrize(("name", "mutant", "rule"), FILES, ids=[name for name, _, _ in FILES])
def test_a_file_is_still_failing_on_its_mutant(name: str, mutant: type[Mutant], rule: str) -> None:
    replayed = replay(path(name), InProcess(mutant()))
    assert (replayed.verdict, replayed.reason) == ("still failing", rule)
