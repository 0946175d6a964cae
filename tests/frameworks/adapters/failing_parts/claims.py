"""The claims of articles cannot be written."""

from __future__ import annotations

from typing import Any

from autograd_conformance.plugin.recording import recorder


def fail(*arguments: Any, **options: Any) -> Any:
    """Fail as a library might."""
    raise TypeError("must be real number, not complex")


recorder.claim_records = fail
