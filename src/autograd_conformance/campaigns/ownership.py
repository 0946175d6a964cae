"""Whose storage it is: the first campaign there writes down what it runs, and any other is refused.

What decides is a fingerprint of all that a shard's programs and verdicts depend on: the suite's source and the series.
How much is run is no part of it, so that a campaign can be made longer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autograd_conformance import sources
from autograd_conformance.campaigns.shards.shard import Series
from autograd_conformance.campaigns.storage.storage import Storage, StorageError
from autograd_conformance.reporting.prose import listed

FILE = "campaign.json"
"""The file in the storage that says whose it is."""


class OtherCampaign(Exception):
    """A storage that holds another campaign; the message says in what it differs."""


def claim_storage(storage: Storage, series: Sequence[Series]) -> str:
    """Make a storage this campaign's, or find that it is; the fingerprint. `OtherCampaign` where it is another's."""
    contents = _contents(series)
    fingerprint = hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()
    storage.create(FILE, (json.dumps({"fingerprint": fingerprint, **contents}, indent=1) + "\n").encode())
    found = storage.read(FILE)  # also what was made: a store that ignores the condition may have had another one
    if found is None:
        raise StorageError(f"{storage.url}: {FILE} was made and is not there")
    try:
        stored = json.loads(found)
        is_same = stored["fingerprint"] == fingerprint
    except (ValueError, KeyError, TypeError):
        raise OtherCampaign(f"{storage.url}: {FILE} is no campaign's; name another storage") from None
    if not is_same:
        raise OtherCampaign(
            f"{storage.url} holds another campaign: {_difference(stored, contents)}; name another storage"
        )
    return fingerprint


def _contents(series: Iterable[Series]) -> dict[str, Any]:
    """What the fingerprint is of."""
    return {
        "suite": sources.SUITE_VERSION,
        "source": sources.suite(),
        "series": {each.name: each.about | {"suites": list(each.suites), "known": list(map(list, each.known))}
                   for each in sorted(series, key=lambda each: each.name)},
    }  # fmt: skip


def _difference(stored: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """In what two campaigns differ, in words."""
    if stored.get("suite") != own["suite"]:
        return f"it was begun with suite {stored.get('suite')}, this is {own['suite']}"
    if stored.get("source") != own["source"]:
        return "it was begun with another source of the suite, of the same version"
    there, here = (each.get("series", {}) for each in (stored, own))
    missing, new = ([name for name in one if name not in other] for one, other in ((there, here), (here, there)))
    parts = [f"it runs {listed(missing, 3)}, which this plan does not" if missing else ""]
    parts += [f"this plan runs {listed(new, 3)}, which it does not" if new else ""]
    return " and ".join(filter(None, parts)) or "its series are not the same"
