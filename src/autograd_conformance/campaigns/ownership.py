"""Ensures that a storage belongs to one campaign.

The first campaign stores a fingerprint of everything on which programs and verdicts of its shards depend: the suite's
source and the series. A campaign with another fingerprint is refused. The amount of runs is not part of the
fingerprint, so that a campaign can be extended.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autograd_conformance.campaigns.shards.shard import Series
from autograd_conformance.campaigns.storage.storage import Storage, StorageError
from autograd_conformance.package import sources
from autograd_conformance.reporting.prose import listed

FILE = "campaign.json"
"""The name of the file in the storage that contains the fingerprint."""


class OtherCampaign(Exception):
    """The storage belongs to another campaign; the message names the difference."""


def claim_storage(storage: Storage, series: Sequence[Series]) -> str:
    """Stores the campaign's fingerprint in the storage, unless one is stored already; returns the fingerprint. Raises
    `OtherCampaign` if the stored fingerprint is another campaign's.
    """
    contents = _contents(series)
    fingerprint = hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()
    storage.create(FILE, (json.dumps({"fingerprint": fingerprint, **contents}, indent=1) + "\n").encode())
    found = storage.read(FILE)  # read even if it was created, as a store may ignore the condition
    if found is None:
        raise StorageError(f"{storage.url}: {FILE} was created and cannot be found")
    try:
        stored = json.loads(found)
        is_same = stored["fingerprint"] == fingerprint
    except (ValueError, KeyError, TypeError):
        raise OtherCampaign(f"{storage.url}: {FILE} does not describe a campaign; choose another storage") from None
    if not is_same:
        raise OtherCampaign(
            f"{storage.url} holds another campaign: {_difference(stored, contents)}; choose another storage"
        )
    return fingerprint


def _contents(series: Iterable[Series]) -> dict[str, Any]:
    """Returns the data of which the fingerprint is a digest."""
    return {
        "suite": sources.SUITE_VERSION,
        "source": sources.suite(),
        "series": {each.name: each.about | {"suites": list(each.suites), "known": list(map(list, each.known))}
                   for each in sorted(series, key=lambda each: each.name)},
    }  # fmt: skip


def _difference(stored: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """Returns the difference between two campaigns, as text."""
    if stored.get("suite") != own["suite"]:
        return f"it was started with suite {stored.get('suite')}, this is {own['suite']}"
    if stored.get("source") != own["source"]:
        return "it was started with another source of the suite, of the same version"
    there, here = (each.get("series", {}) for each in (stored, own))
    missing, new = ([name for name in one if name not in other] for one, other in ((there, here), (here, there)))
    parts = [f"it runs {listed(missing, 3)}, which this plan does not" if missing else ""]
    parts += [f"this plan runs {listed(new, 3)}, which it does not" if new else ""]
    return " and ".join(filter(None, parts)) or "its series differ"
