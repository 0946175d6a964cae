"""Writing the page fails."""

from __future__ import annotations

from typing import Any

from autograd_conformance.plugin.recording.record_buffer import RecordBuffer


def fail(*arguments: Any, **options: Any) -> Any:
    """Raise as a library might."""
    raise TypeError("must be real number, not complex")


RecordBuffer.write_page = fail  # type: ignore[method-assign]
