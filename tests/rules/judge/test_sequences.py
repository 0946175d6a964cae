"""Programs from random sequences that PyTorch runs correctly, but that the judge once reported; one a row."""

from __future__ import annotations

import pytest

from autograd_conformance.checking.check import violation_of
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import is_known, known
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from tests.rules.judge.tampering import TORCH, judged

pytestmark = pytest.mark.filterwarnings("ignore:Use of masked_fill_ on expanded tensors:UserWarning")

LEAF = "a = leaf [1, 2, 3]"
SUM = f"{LEAF}; f = sum a dim=(0,) keepdim=False"

JUDGED = {
    "det keeps its result, of one row, too": "a = leaf [[1]]; d = det a; no_grad: write d abs_; backward d with 1",
    "eigvalsh does, too": "a = leaf [[1]]; d = eigvalsh a; no_grad: write d abs_; backward d with [1]",
    "a value assigned to itself under another name": f"{LEAF}; b = leaf [1, 2, 3] const; assign a b; h = held a; "
    "assign b h; backward a with [1, 2, 3]",
    "what an op returns under no_grad may be a view": f"{LEAF}; no_grad: b = leaf (0, 3) []; no_grad: c = leaf [[1, 2],"
    " [3, 4], [-1, 0]]; no_grad: d = leaf [[1, 2, 3], [4, -1, 0]]; no_grad: e = multi_dot b c d; write e mul_ b; "
    "backward e with (0, 3) []",
    "a step moves a gradient that lies in the leaf's memory": f"{LEAF}; backward a with [1, 2, 3]; b = held a; "
    "d = detach b; requires d True; assign d b; step d sgd lr=0.125; backward d with [1, 2, 3]",
    "what is one object with a value that loses its history loses it": "a = leaf [1, 2] const; b = multiply a a; "
    "assign a b; c = leaf 3; write b mul_ c; d = held a; detach_ b; backward d with [3, 4]",
    "and what is computed from it has none": "a = leaf [1, 2] const; b = multiply a a; assign a b; c = leaf 3; "
    "write b mul_ c; d = held a; detach_ b; e = sin d; f = held a; backward f with [1, 1]",
    "a gradient that came to require grad is a part of the next": f"{LEAF}; b = leaf [1, 2, 3] const; assign a b; "
    "requires b True; backward a with [1, 2, 3] create=True; d = held a; backward d with [1, 2, 3]",
    "and one that ceased to is not": f"{LEAF}; b = leaf [1, 2, 3]; assign a b; requires b False; "
    "backward a with [1, 2, 3] create=True; d = held a; backward d with [1, 2, 3]",
    "clearing to zeros is a write, also of zeros": "a = leaf [1]; b = leaf [2]; c = prelu a b; "
    "backward c with [1] create=True; d = held b; e = multiply d d; requires b False; zero b to zeros; "
    "backward e with [1]",
    "a gradient may be a view whose hooks a write loses": "a = leaf [[1, 2, 3], [4, 5, 6]]; h = leaf [7, 8, 9] const; "
    "b = adaptive_avg_pool1d a output_size=2; c = grad b wrt a with [[1, 2], [3, 4]] create=True; hook c observe; "
    "write c set_index_ h index=0; backward c with [[1, 2, 3], [4, 5, 6]]",
    "a hook after accumulation sees the gradient of a leaf that is dropped": "a = leaf 1.5; b = grad a wrt a with 2; "
    "requires b True; hook b observe accumulated; d = multiply b b; drop b; backward d with 2.5",
    "a write to a factor of a matrix of one element": "a = leaf [[2]]; b, c = lu a; write c abs_; "
    "backward c with [[3]]",
    "a hook after accumulation sees what is no number, too": "a = leaf [1]; hook a observe accumulated; "
    "backward a with [-3]; b = held a; write b log1p_; backward a with [1]",
    "an input may be reached through a derivative alone": "b = leaf [[1, 2]]; c = negative b; d = leaf [[1], [2]]; "
    "e = mm c d; backward e with [[1]] create=True; f = held d; g = multiply f f; backward e with [[1]]; "
    "h = grad g wrt b with [[1], [1]] unused=True",
    "a step of a leaf that is one number in many places": "a = leaf [1, 2]; b = sum a dim=(0,) keepdim=False; "
    "c = grad b wrt a; d = detach c; e = leaf [1, 2] const; assign d e; requires d True; no_grad: f = exp d; "
    "write f zero_; step d sgd lr=0.125 momentum=0.5",
    "and what is undefined": "a = leaf [[2]]; b, c = slogdet a; hook a observe accumulated; backward b",
    "a gradient may be a view that is taken for a leaf": "a = leaf [4]; b = leaf [2]; "
    "c = stack_three a a b dim=-1; d = grad c wrt b with [[1, 2, 3]] create=True; "
    "write d set_slice_ a start=1 stop=1 step=1; write d fill_ value=-1.0",
    "a call adds to a value that was assigned, and that a node kept": "a = leaf [1, 2]; b = leaf [3, 4] const; "
    "c = multiply a b; d = leaf [5, 6]; assign d b; e = add c d; backward e with [1, 1]",
    "a derivative that depends on nothing is not walked": "a = leaf [1, 2]; b = leaf [3, 4]; c = divide a b; "
    "backward c with [1, 1] create=True; d = held a; e = multiply d d; f = grad e wrt b with [1, 1]; "
    "g = grad e wrt a with [1, 1]",
    "a call asked for what was written goes through the write": "a = leaf [2]; backward a with [1]; c = detach a; "
    "d = tanh a; e = broadcast_to d shape=(1,); write e div_ c; g = sin e; step a sgd lr=0.125; "
    "backward g inputs d with [1]",
    "a hook does not make an input one that is used": "a = leaf [[1, 2], [3, 4]]; b = leaf [[1, 2], [3, 4]]; "
    "c = matmul a b; d = leaf [2, 0] const; e = matmul c d; f = grad e wrt a with [3, -4] create=True; "
    "g = hook c replace -1.0; m, n = grad f wrt b, c with [[1, 2], [3, 4]] unused=False",
    "a view of a leaf that is a view is not written": "a = leaf [1, 2] const; b = expand_dims a dim=0; "
    "requires b True; c = expand_dims b dim=0; d = expand_dims c dim=0; write d sin_; no_grad: write d sin_",
    "a derivative that does not depend on the input does not go through a retained one": f"{LEAF}; d = leaf [4]; "
    "b = multiply a d; g = grad b wrt d with [1, 1, 1] create=True; retain g; k = sin g; "
    "l = grad k wrt d with [1] unused=True",
}

LEFT_OPEN = {
    "which of two leaves moves first, where one is the other's gradient": f"{LEAF}; backward a with [1, 2, 3]; "
    "b = held a; c = detach b; d = leaf [4, 5, 6]; assign c d; step a, c sgd lr=0.125",
    "a gradient under a name that is gone": "a = leaf [2]; e = silu a; backward e with [1] create=True; f = held a; "
    "g = held a; retain g; h = multiply g g; drop g; i = grad h wrt f with [0.25]; j = held a; backward j inputs j, a",
    "zeros that were computed, or put in the place of nothing": "a = leaf [[1]]; b = leaf [[2]]; c = mm a b; "
    "backward c with [[1]] create=True; d = held b; e = grad d wrt b with [[1]] create=True unused=True "
    "materialize=True; backward e with [[1]]; retain e; backward e inputs e with [[1]]",
    "what a value that was once asked holds of a later call": "a = leaf [1, 2]; b = leaf [3, 4] const; write b sub_ a; "
    "backward b inputs b, a with [1, 1]; d = sin b; backward d with [1, 1] create=True; o = held b; p = negative o",
    "an input whose base was written to": "a = leaf [1]; b = unflatten a dim=0 sizes=(1,-1); c = sin b; "
    "backward c with [[3]]; e = leaf 3 const; no_grad: write a add_ e; backward c inputs b with [[3]]",
    "a hook on a view between the written one and its base": f"{LEAF}; b = sin a; c = expand_dims b dim=0; "
    "hook c raise; d = squeeze c dim=(0,); h = leaf 7; write d set_index_ h index=-1; backward b with [1, 2, 3]",
    "a hook that makes something of a gradient of zeros": "a = leaf [[2]]; b = leaf [[3]]; c = matmul a b; "
    "d = grad c wrt b with [[1]] create=True; hook b replace 2.0; backward d with [[1]]",
    "an op that is given what it is not defined for": "a = leaf [[0, 0], [0, 0]]; backward a with [[1, 1], [1, 1]]; "
    "b = held a; no_grad: write b zero_; c = inv b",
    "a hook on an input through which another is reached by a derivative": f"{LEAF}; b = sqrt a; c = tanh b; "
    "hook b scale 2.0; d = grad c wrt b with [1, 2, 3] create=True; e, f = grad d wrt a, b with [1, 1, 1]",
    "an empty gradient that was added to keeps a history": "a = leaf (0,) []; b = acos a; backward b with (0,) [] "
    "create=True; backward b with (0,) []; c = leaf 1; assign c none; d = held a; e = negative d",
    "and keeps it whatever other calls do": "a = leaf (0,) []; b = acos a; backward b with (0,) [] create=True; "
    "backward b with (0,) []; c = leaf 1; d = sin c; backward d create=True; e = held a; f = negative e",
    "a hook on what may be a view, part of which was written": f"{LEAF}; b = repeat a repeats=2 dim=0; hook b raise; "
    "d = slice b start=0 stop=0 step=1; write d abs_; backward d with (0,) []",
    "a write to a gradient that is one number in many places": f"{SUM}; g = grad f wrt a with 1 create=True; "
    "write g masked_fill_ mask=(True,False,True) value=0.0; backward g with [1, 2, 3]",
    "one that reads it": f"{SUM}; g = grad f wrt a with 1 create=True; write g add_index_ f index=0",
    "what a hook on such a value makes of a call that fails": f"{LEAF}; b = selu a; c = grad b wrt a with [1, 2, 3] "
    "create=True; backward c with [1, 2, 3]; detach_ b; retain c; d = multiply c c; e = reshape d shape=(3,); "
    "f = hook e scale 2.0; write e abs_; backward e with [1, 2, 3]",
    "empty gradients of one input, which may be one object": "a = leaf (0,) []; b = sin a; d, e = grad b wrt a, a "
    "with (0,) [] create=True; backward e inputs a, e with (0,) []",
    "a gradient that is a view of what came to require grad": "b = leaf [[1, 2], [3, 4]] const; c = transpose b dim0=0 "
    "dim1=1; g = leaf [[5, 6], [7, 8]]; assign g c; requires b True; l = held g",
}


@pytest.mark.parametrize("text", JUDGED.values(), ids=JUDGED.keys())
def test_the_outcome_of_pytorch_is_allowed(text: str):
    program = parse(text, VOCABULARY)
    judgement = judged(program, run(program, TORCH))
    assert judgement.violation is None
    assert not judgement.unspecified


@pytest.mark.parametrize("text", LEFT_OPEN.values(), ids=LEFT_OPEN.keys())
def test_the_outcome_of_pytorch_is_unspecified(text: str):
    program = parse(text, VOCABULARY)
    judgement = judged(program, run(program, TORCH))
    assert judgement.violation is None
    assert judgement.unspecified


def test_gradients_under_two_names_are_one():
    text = (
        f"{LEAF}; b = sin a; backward b with [1, 2, 3] create=True; c = held a; backward c inputs c with [1, 2, 3]; "
        "d = held a; backward d inputs d with [1, 2, 3]"
    )
    program = parse(text, VOCABULARY)
    judgement = judged(program, run(program, TORCH))
    assert judgement.violation is None
    assert not judgement.unspecified


def test_a_known_error_is_known_under_every_rule_by_which_the_call_must_return():
    text = (
        f"{LEAF}; b = abs a; f = grad b wrt a with [1, 2, 3] create=True; backward f with [1, 2, 3] retain=True; "
        "backward f with [1, 2, 3]"
    )
    program = parse(text, VOCABULARY)
    violation = violation_of(program, InProcess(TORCH))
    assert violation is not None
    assert violation.rule != "errors/legal-returns"
    assert any(is_known(entry, program, violation) for entry in known("torch"))


KNOWN_STEPS = (
    (
        "optimizers/variants",
        "a = leaf f32 [0.125, 2, 3]; backward a with f32 [0.670166, 2, 3]; "
        "step a adagrad lr=0.125 foreach=False groups=((1,(('initial_accumulator_value',0.25),)),)",
    ),
    (
        "optimizers/keeps-gradients",
        "a = leaf [1, 2, 3]; backward a with [1, 2, 3]; b = held a; c = detach b; "
        "step a, c sgd lr=0.125 momentum=0.5 nesterov=True foreach=True",
    ),
    (  # one leaf twice: where it goes is left open, and its gradient is not
        "optimizers/keeps-gradients",
        "a = leaf [1, 2, 3]; backward a with [1, 2, 3]; b = held a; "
        "step a, a sgd lr=0.125 momentum=0.5 nesterov=True foreach=True",
    ),
)


@pytest.mark.parametrize(("rule", "text"), KNOWN_STEPS)
def test_a_known_step_is_known_under_every_rule_about_its_movement(rule: str, text: str):
    """Also where a leaf of the step is the gradient that it changes."""
    program = parse(text, VOCABULARY)
    violation = violation_of(program, InProcess(TORCH))
    assert violation is not None
    assert violation.rule == rule
    assert any(is_known(entry, program, violation) for entry in known("torch"))
