"""Writing the claims of articles fails."""

from __future__ import annotations

from typing import Any

from autograd_conformance.plugin.recording import run_end


def fail(*arguments: Any, **options: Any) -> Any:
    """Raise as a library might."""
    raise TypeError("must be real number, not complex")


run_end.claim_records = fail
