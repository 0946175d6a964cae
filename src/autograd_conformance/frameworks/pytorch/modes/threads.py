"""PyTorch whose backward calls run in threads: https://docs.pytorch.org/docs/stable/notes/autograd.html."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from autograd_conformance.frameworks.pytorch.eager import TorchEager

IN_THREAD = """
from concurrent.futures import ThreadPoolExecutor


def in_thread(call):
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(call).result()
"""


class TorchThreads(TorchEager):
    """PyTorch that makes each backward call in a new thread, and waits for the thread."""

    name = "torch-threads"

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        names: dict[str, Any] = {}
        exec(IN_THREAD, names)
        self.in_thread: Callable[[Callable[[], Any]], Any] = names["in_thread"]
        self.dialect = replace(
            self.dialect,
            prelude=f"{self.dialect.prelude}\n{IN_THREAD}",
            backward=f"in_thread(lambda: {self.dialect.backward})",
            backward_many=f"in_thread(lambda: {self.dialect.backward_many})",
            grad=f"in_thread(lambda: {self.dialect.grad})",
        )

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns eager PyTorch alone."""
        return {"in one thread": partial(TorchEager, self.requested_device)}

    def backward(self, *given: Any, **named: Any) -> None:
        """Call `backward` in a new thread."""
        self.in_thread(partial(super().backward, *given, **named))

    def grad(self, *given: Any, **named: Any) -> Sequence[torch.Tensor | None]:
        """Call `torch.autograd.grad` in a new thread."""
        made: Sequence[torch.Tensor | None] = self.in_thread(partial(super().grad, *given, **named))
        return made
