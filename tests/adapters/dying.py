"""An adapter whose framework does not come back from some ops: it ends the process, or hangs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence

from examples.tiny import Tensor
from examples.tiny_adapter import Tiny
from rules.language import Attrs


class Dying(Tiny):
    """`exp` dies of SIGSEGV, `negative` ends the process without a word, `mm` never comes back."""

    name = "dying"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        match op:
            case "exp":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "negative":
                os._exit(0)
            case "mm":
                time.sleep(1e6)
        return super().apply(op, operands, attrs)
