"""Programs that generalise the examples of articles about autograd: other shapes, ops, depths and numbers of calls than
in the articles.

The point of an example is fixed: that two networks share nothing, or their parameters, or are chained; that one model
is run twice; that an optimizer steps between two backward calls; that a value is carried over to the next iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import strategies as st

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Apply, AssignGrad, Attrs, Backward, ReadGrad, Ref, Step
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.optimizers import plain_optimizer
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.situations.base import FREEING, situation

Layer = tuple[str, tuple[Ref, ...]]
"""A linear layer: the name of its op, such as "linear_bias", and its parameters."""

KEEPING = (None, True, False)


# -- pieces ------------------------------------------------------------------------------------------------------------


def _needs(b: Draft, need: Capability) -> None:
    if not b.can(need):
        raise Unsupported(f"needs {need.value}, not claimed")


def _layer(b: Draft, inputs: int, outputs: int) -> Layer:
    name = b.available("linear_bias", "linear", "matmul")[0]
    shape = (inputs, outputs) if name == "matmul" else (outputs, inputs)
    bias = (b.leaf((outputs,)),) if name == "linear_bias" else ()
    return name, (b.leaf(shape), *bias)


def _model(b: Draft, inputs: int, depth: int, outputs: int = 0) -> list[Layer]:
    """Adds the parameters of `depth` linear layers for inputs of width `inputs`; the widths between layers are
    drawn.
    """
    widths = [inputs, *(1 + b.below(2) for _ in range(depth - 1)), outputs or 1 + b.below(2)]
    return [_layer(b, *pair) for pair in pairwise(widths)]


def _data(b: Draft, width: int, batch: int = 1) -> Ref:
    return b.leaf((batch, width), requires_grad=False)


def _run(b: Draft, model: Sequence[Layer], value: Ref) -> Ref:
    """Adds a forward pass of a model, with an activation between layers, and returns the output."""
    for n, (name, parameters) in enumerate(model):
        if n:
            value = b.apply(b.available("tanh", "sigmoid", "sin")[0], (value,))[0]
        value = b.apply(name, (value, *parameters))[0]
    return value


def _loss(b: Draft, output: Ref) -> Ref:
    """Adds a loss of an output: its sum, or the sum of its squares."""
    squares = b.available("square", "multiply")[0] if b.below(2) else None
    return b.ops.total(output if squares is None else b.ops.nonlinear(output, squares))


def _parameters(*models: Sequence[Layer]) -> tuple[Ref, ...]:
    return tuple(ref for model in models for _, parameters in model for ref in parameters)


def _step(b: Draft, leaves: Sequence[Ref], which: tuple[str, Attrs] | None = None) -> None:
    b.script.add(Step(tuple(leaves), *(which or plain_optimizer(b))))


def _read_grad(b: Draft, leaf: Ref) -> Ref:
    """Adds a read of a leaf's `.grad`, and returns the gradient as a value."""
    _needs(b, Capability.ASSIGNS)
    return Ref(b.script.add(ReadGrad(leaf)))


# -- networks ----------------------------------------------------------------------------------------------------------


@situation
def two_networks(b: Draft) -> None:
    """Draws two or three networks that share nothing, with a backward call on each one's loss, after all forward passes
    or after each.
    """
    first = bool(b.below(2))
    losses = []
    for _ in range(2 + b.below(2)):
        width = 1 + b.below(3)
        model = _model(b, width, 1 + b.below(2))
        losses.append(_loss(b, _run(b, model, _data(b, width, 1 + b.below(2)))))
        if not first:
            b.actions.backward(losses[-1], retain=b.pick(KEEPING))
    for loss in losses if first else ():
        b.actions.backward(loss, retain=b.pick(KEEPING))


@situation
def shared_parameters(b: Draft) -> None:
    """Draws two or three graphs with the same parameters: one model on several inputs, or models with a common
    layer.
    """
    width = 1 + b.below(3)
    shared = _model(b, width, 1 + b.below(2), 2)
    losses = []
    for _ in range(2 + b.below(2)):
        own = _model(b, 2, 1) if b.below(2) else []
        losses.append(_loss(b, _run(b, [*shared, *own], _data(b, width))))
    for loss in losses:
        b.actions.backward(loss, retain=b.pick(KEEPING))


@situation
def chained_networks(b: Draft) -> None:
    """Draws a network whose input is another one's output, perhaps detached; a backward call on the first one's loss,
    then on the second one's.
    """
    first, second = _model(b, 2, 1 + b.below(2), 2), _model(b, 2, 1 + b.below(2))
    output = _run(b, first, _data(b, 2))
    b.actions.backward(_loss(b, output), retain=b.pick(KEEPING))
    between = b.detach(output) if b.can(Capability.DETACH) and b.below(2) else output
    b.actions.backward(_loss(b, _run(b, second, between)), retain=b.pick((None, True)))


@situation
def two_forwards(b: Draft) -> None:
    """Draws one model run two or three times on the same input, and a backward call on the loss of each run."""
    width = 1 + b.below(3)
    model, data = _model(b, width, 1 + b.below(3)), _data(b, width, 1 + b.below(2))
    losses = [_loss(b, _run(b, model, data)) for _ in range(2 + b.below(2))]
    for loss in losses if b.below(2) else reversed(losses):
        b.actions.backward(loss, retain=b.pick(KEEPING))


# -- graphs traversed again --------------------------------------------------------------------------------------------


@situation
def rebuilt_last_op(b: Draft) -> None:
    """Draws a freed graph whose last op is applied again, and a backward call on the new result."""
    root = b.ops.successor(b.ops.root(3)) if b.below(2) else b.ops.root(3)
    b.actions.backward(root, retain=b.pick(FREEING))
    step = b.reference.steps[root.at]
    assert isinstance(step, Apply)
    again = b.apply(step.op, step.args, step.attrs)[root.output]
    b.actions.backward(again, retain=b.pick((None, True)))


@situation
def zeroed_then_backward(b: Draft) -> None:
    """Draws a backward call, clearing of the gradients, and another call on the same root."""
    root = b.ops.root()
    b.actions.backward(root, retain=b.pick((None, False, True)))
    b.actions.zero_grad(*(leaf for leaf in b.script.leaves if b.requires(leaf)), to_none=bool(b.below(2)))
    b.actions.backward(root, retain=b.pick((None, True)))


@situation
def carried_state(b: Draft) -> None:
    """Draws two to four iterations, each of which computes a state from the previous one, perhaps detached, and calls
    backward.
    """
    shape = b.pick(b.alphabet.shapes(((3,), (), (2, 3))))
    weight, state = b.leaf(shape), b.leaf(shape, requires_grad=False)
    (product,) = b.available("multiply")
    cut = b.can(Capability.DETACH) and bool(b.below(2))
    for _ in range(2 + b.below(3)):
        if cut:
            state = b.detach(state)
        state = b.ops.nonlinear(
            b.apply(product, (weight, state))[0], b.available("tanh", "sigmoid", "sin", "multiply")[0]
        )
        b.actions.backward(state, retain=b.pick(FREEING))


@situation
def recurrent_two_losses(b: Draft) -> None:
    """Draws a recurrent network over one to four time steps, and two losses of its last state, perhaps with an
    optimizer's step or a detach in between.
    """
    inputs, again = _model(b, 2, 1, 2), _model(b, 2, 1, 2)
    parameters = _parameters(inputs, again)
    state, squash, add = (
        _data(b, 2),
        b.available("tanh", "sigmoid", "sin")[0],
        b.available("add", "subtract")[0],
    )
    for _ in range(1 + b.below(4)):
        parts = (_run(b, inputs, _data(b, 2)), _run(b, again, state))
        state = b.apply(squash, b.apply(add, parts))[0]
    b.actions.backward(_loss(b, state), retain=b.pick(KEEPING))
    if b.can(Capability.OPTIMIZERS) and b.below(2):
        _step(b, parameters)
    if b.can(Capability.DETACH) and b.below(3) == 2:
        state = b.detach(state)
    b.actions.backward(_loss(b, state))


# -- second derivatives ------------------------------------------------------------------------------------------------


@situation
def backward_on_gradients(b: Draft) -> None:
    """Draws a backward call with create_graph, retain_graph or neither, and a backward call on the gradient."""
    leaf = b.leaf_of(((3,), (), (2, 3), (1,)))
    root = b.ops.nonlinear(leaf)
    for _ in range(b.below(3)):
        root = b.ops.nonlinear(root)
    if b.can(Capability.CREATES_IN_LEAVES) and b.below(2):
        b.script.add(Backward((root,), (b.actions.cotangent(root),), b.pick((None, True)), create_graph=True))
    else:
        b.actions.backward(root, retain=b.pick((True, None)))
    gradient = _read_grad(b, leaf)
    if b.below(2):
        b.actions.zero_grad(leaf)
    b.actions.backward(gradient, retain=b.pick((None, True)))
    if b.below(2):
        b.actions.backward(root)


# -- optimizers --------------------------------------------------------------------------------------------------------


def _stepping(b: Draft, depth: int) -> None:
    width = 1 + b.below(3)
    model = _model(b, width, depth)
    parameters = _parameters(model)
    loss = _loss(b, _run(b, model, _data(b, width, 1 + b.below(2))))
    for _ in range(1 + b.below(2)):
        b.actions.backward(loss, retain=True)
        _step(b, parameters[: 1 + b.below(len(parameters))])
        if b.below(2):
            b.actions.zero_grad(*parameters)
    b.actions.backward(loss)


@situation
def steps_between_calls(b: Draft) -> None:
    """Draws one linear layer, and backward calls on its retained graph with optimizer steps in between."""
    _stepping(b, 1)


@situation
def deep_steps_between_calls(b: Draft) -> None:
    """Draws two or three linear layers, whose weights the graph saved, with backward calls and optimizer steps in
    turn.
    """
    _stepping(b, 2 + b.below(2))


@situation
def accumulating_iterations(b: Draft) -> None:
    """Draws two to five iterations of a training loop, each of which clears the gradients with probability one half;
    with an optimizer's step in each or in none.
    """
    width = 1 + b.below(3)
    model = _model(b, width, 1 + b.below(2))
    parameters, data = _parameters(model), _data(b, width)
    optimizer = plain_optimizer(b) if b.can(Capability.OPTIMIZERS) and b.below(3) else None
    for _ in range(2 + b.below(4)):
        loss = _loss(b, _run(b, model, data))
        if b.below(2):
            b.actions.zero_grad(*parameters, to_none=not b.below(2))
        b.actions.backward(loss, retain=b.pick(KEEPING))
        if optimizer is not None:
            _step(b, parameters, optimizer)


@situation
def reassigned_gradients(b: Draft) -> None:
    """Draws gradients of one or more of a model's parameters that are copied, cleared and assigned again, and perhaps
    an optimizer's step or another backward call, which adds to them.
    """
    width = 1 + b.below(3)
    model, data = _model(b, width, 1 + b.below(2)), _data(b, width)
    loss = _loss(b, _run(b, model, data))
    b.actions.backward(loss, retain=b.pick(KEEPING))
    parameters = _parameters(model)
    chosen = parameters[: 1 + b.below(len(parameters))]
    copies = [b.apply(b.available("clone", "negative")[0], (_read_grad(b, leaf),))[0] for leaf in chosen]
    b.actions.zero_grad(*chosen, to_none=not b.below(2))
    for leaf, copy in zip(chosen, copies):
        b.script.add(AssignGrad(leaf, b.detach(copy) if b.can(Capability.DETACH) else copy))
    if b.can(Capability.OPTIMIZERS) and b.below(2):
        _step(b, chosen)
    if b.below(2):
        b.actions.backward(loss if b.below(2) else _loss(b, _run(b, model, data)))


DOCUMENTED: dict[str, st.SearchStrategy[Drawn]] = {
    make.__name__: make()
    for make in (
        two_networks,
        shared_parameters,
        chained_networks,
        two_forwards,
        rebuilt_last_op,
        zeroed_then_backward,
        carried_state,
        recurrent_two_losses,
        backward_on_gradients,
        steps_between_calls,
        deep_steps_between_calls,
        accumulating_iterations,
        reassigned_gradients,
    )
}
"""The strategies of this module by name, such as "two_networks"."""
