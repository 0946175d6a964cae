"""Sources of the rules: pages of documentation, and five articles about `retain_graph` and the errors of a second
backward call.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a rule: a page of documentation, or a section of an article."""

    title: str
    where: str


_ARTICLE = "article, 2025-01-30"

BACKWARD = Source("torch.Tensor.backward", "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html")
AUTOGRAD_BACKWARD = Source(
    "torch.autograd.backward", "https://docs.pytorch.org/docs/stable/generated/torch.autograd.backward.html"
)
MECHANICS = Source("Autograd mechanics", "https://docs.pytorch.org/docs/stable/notes/autograd.html")
ACCURACY = Source("Numerical accuracy", "https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html")
KINKS = Source(
    "Gradients for non-differentiable functions",
    "https://docs.pytorch.org/docs/stable/notes/autograd.html#gradients-for-non-differentiable-functions",
)
LAYOUTS = Source(
    "Default gradient layouts", "https://docs.pytorch.org/docs/stable/autograd.html#default-gradient-layouts"
)
DETACH = Source("torch.Tensor.detach", "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html")
IN_PLACE = Source(
    "In-place correctness checks",
    "https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks",
)
VIEWS = Source("Tensor views", "https://docs.pytorch.org/docs/stable/tensor_view.html")
NO_GRAD = Source(
    "Locally disabling gradient computation",
    "https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation",
)
GRAD = Source("torch.autograd.grad", "https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html")
HOOKS = Source(
    "torch.Tensor.register_hook", "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html"
)
HOOKS_EXECUTION = Source(
    "Backward hooks execution", "https://docs.pytorch.org/docs/stable/notes/autograd.html#backward-hooks-execution"
)
ACCUMULATED = Source(
    "torch.Tensor.register_post_accumulate_grad_hook",
    "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_post_accumulate_grad_hook.html",
)
RETAIN = Source(
    "torch.Tensor.retain_grad", "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html"
)
DETACH_IN_PLACE = Source(
    "torch.Tensor.detach_", "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach_.html"
)
OPTIM = Source("torch.optim", "https://docs.pytorch.org/docs/stable/optim.html")
ZERO_GRAD = Source(
    "Optimizer.zero_grad", "https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html"
)
CLIP_NORM = Source(
    "torch.nn.utils.clip_grad_norm_",
    "https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html",
)
CLIP_VALUE = Source(
    "torch.nn.utils.clip_grad_value_",
    "https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_value_.html",
)
AMP = Source("Automatic mixed precision", "https://docs.pytorch.org/docs/stable/amp.html")
AMP_EXAMPLES = Source(
    "Automatic mixed precision examples", "https://docs.pytorch.org/docs/stable/notes/amp_examples.html"
)
RANDOMNESS = Source("Reproducibility", "https://docs.pytorch.org/docs/stable/notes/randomness.html")
NN = Source("torch.nn", "https://docs.pytorch.org/docs/stable/nn.html")
PACK = Source(
    "torch.nn.utils.rnn.pack_padded_sequence",
    "https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_padded_sequence.html",
)
CHAIN_RULE = Source("the chain rule, as computed by JAX", "https://docs.jax.dev/en/latest/_autosummary/jax.vjp.html")
CONTROLS = Source("What does the `retain_graph` parameter control?", f"{_ARTICLE}, section 1 and examples 1 to 3")
TWO_NETWORKS = Source(
    "Why does calling .backward() on two different networks trigger an error?", f"{_ARTICLE}, examples 1 to 3"
)
GRUS = Source("How to resolve the `retain_graph` issue when using GRUs", f"{_ARTICLE}, section 1 and examples 1 to 3")
BUFFERS = Source(
    "How can I avoid freeing model buffers before a second backward pass", f"{_ARTICLE}, section 1 and examples 1 to 3"
)
SECOND_TIME = Source(
    "How to avoid 'Trying to backward through the graph a second time'", f"{_ARTICLE}, sections 1 and 2a to 2c"
)
ARTICLES = (CONTROLS, TWO_NETWORKS, GRUS, BUFFERS, SECOND_TIME)
