"""Storage: a file is created once and completely, even by two processes at once, and errors of a store are retried."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("fsspec")

import fsspec
from fsspec.implementations.memory import MemoryFileSystem

from autograd_conformance.campaigns.ownership import FILE, OtherCampaign, claim_storage
from autograd_conformance.campaigns.shards.shard import Series
from autograd_conformance.campaigns.storage.storage import TRIES, Storage, StorageError
from autograd_conformance.package import sources
from tests.campaigns.object_store import bucket

SERIES = Series("a:X", (), "both", "cpu", 100)
OTHER = Series("b:Y", (), "both", "cpu", 100)


class Unsteady(MemoryFileSystem):
    """A store whose first attempts at each operation fail."""

    protocol = "unsteady"
    errors = 0

    def cat_file(self, path: str, *arguments: object, **more: object) -> bytes:
        if Unsteady.errors:
            Unsteady.errors -= 1
            raise TimeoutError("slow down")
        return bytes(super().cat_file(path, *arguments, **more))


fsspec.register_implementation("unsteady", Unsteady, clobber=True)


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.slow)])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    if request.param == "folder":
        yield Storage(str(tmp_path / "kept"), pause=0.01)
        return
    pytest.importorskip("moto")
    with bucket() as options:
        yield Storage("s3://bucket/kept", options, pause=0.01)


def test_a_file_is_made_once_and_stays(storage: Storage) -> None:
    assert storage.read("shards/a/1") is None
    assert storage.names("shards") == []
    assert storage.create("shards/a/1", b"first")
    assert not storage.create("shards/a/1", b"second")
    assert storage.read("shards/a/1") == b"first"
    assert storage.create("shards/b/2", b"")
    assert storage.names("shards") == ["shards/a/1", "shards/b/2"]
    assert storage.names("shards/a") == ["shards/a/1"]
    assert storage.read_all(["shards/a/1"]) == {"shards/a/1": b"first"}
    assert storage.read_all(["shards/b/2", "shards/a/1"]) == {"shards/a/1": b"first", "shards/b/2": b""}
    assert storage.read_all([]) == {}


def test_of_several_that_make_a_file_at_once_one_does(storage: Storage) -> None:
    data = [bytes([k]) * 100_000 for k in range(8)]
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda each: storage.create("shards/a/1", each), data))
    assert made.count(True) == 1
    assert storage.read("shards/a/1") == data[made.index(True)]
    assert storage.names("shards") == ["shards/a/1"]


def test_it_can_be_sent_to_other_processes(storage: Storage) -> None:
    storage.create("shards/a/1", b"first")
    assert pickle.loads(pickle.dumps(storage)).read("shards/a/1") == b"first"


def test_the_first_campaign_claims_it_and_others_are_refused(storage: Storage) -> None:
    first = claim_storage(storage, [SERIES])
    assert claim_storage(storage, [SERIES]) == first
    with pytest.raises(OtherCampaign, match=r"it runs a-x-\w+, which this plan does not and this plan runs b-y-\w+"):
        claim_storage(storage, [OTHER])
    with pytest.raises(OtherCampaign, match="this plan runs b-y"):
        claim_storage(storage, [SERIES, OTHER])


@pytest.mark.slow
def test_a_store_that_is_not_there_is_reported_in_words() -> None:
    pytest.importorskip("moto")
    with bucket() as options:
        none = Storage("s3://none-such/kept", options, pause=0.01)
        with pytest.raises(StorageError, match=r"^s3://none-such/kept: The specified bucket does not exist"):
            none.create("a", b"")
        gone = Storage("s3://bucket/kept", options | {"config_kwargs": {"retries": {"max_attempts": 0}}}, pause=0.01)
        assert gone.create("a", b"")
    with pytest.raises(StorageError, match="s3://bucket/kept: Could not connect to the endpoint"):
        gone.read("a")


def test_another_source_of_the_suite_is_another_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = Storage(str(tmp_path))
    claim_storage(storage, [SERIES])
    monkeypatch.setattr("autograd_conformance.package.sources.suite", lambda: "another")
    with pytest.raises(OtherCampaign, match="it was started with another source of the suite, of the same version"):
        claim_storage(storage, [SERIES])
    monkeypatch.setattr("autograd_conformance.package.sources.SUITE_VERSION", "2031.1.0")
    with pytest.raises(OtherCampaign, match=r"it was started with suite .*, this is 2031\.1\.0"):
        claim_storage(storage, [SERIES])


def test_known_differences_are_part_of_the_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "PACKAGE", tmp_path)
    file = tmp_path / "frameworks" / "pytorch" / "known" / "torch.toml"
    file.parent.mkdir(parents=True)
    digests = set()
    for text in ("known = []", "known = []  # another"):
        file.write_text(text)
        sources.digest.cache_clear()
        digests.add(sources.suite())
    sources.digest.cache_clear()
    assert len(digests) == 2


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff"])
def test_a_file_of_something_else_is_no_claim(tmp_path: Path, data: bytes) -> None:
    (tmp_path / FILE).write_bytes(data)
    with pytest.raises(OtherCampaign, match="does not describe a campaign; choose another storage"):
        claim_storage(Storage(str(tmp_path)), [SERIES])


def test_what_a_killed_process_left_of_a_file_is_no_file(tmp_path: Path) -> None:
    """The process is killed when the file is written but not yet linked to its name."""
    script = (
        "import os, signal, sys; from autograd_conformance.campaigns.storage import storage;"
        "os.link = lambda *paths: os.kill(os.getpid(), signal.SIGKILL);"
        "storage.Storage(sys.argv[1]).create('shards/a/1', b'x')"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path)])
    assert killed.returncode == -signal.SIGKILL
    assert len(list((tmp_path / "shards" / "a").iterdir())) == 1
    storage = Storage(str(tmp_path))
    assert storage.names("shards") == []
    assert storage.create("shards/a/1", b"whole")
    assert storage.names("shards") == ["shards/a/1"]


def test_a_store_that_fails_at_times_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = Storage("unsteady://kept", pause=0.001)
    assert storage.create("a", b"data")
    monkeypatch.setattr(Unsteady, "errors", TRIES - 1)
    assert storage.read("a") == b"data"
    monkeypatch.setattr(Unsteady, "errors", TRIES)
    with pytest.raises(StorageError, match=r"^unsteady://kept: slow down$"):
        storage.read("a")


def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    storage = Storage(str(tmp_path), pause=0.001)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=rf"^{tmp_path}: No space left on device$"):
        storage.create("shards/a/1", b"data")
    assert list((tmp_path / "shards" / "a").iterdir()) == []


@pytest.mark.parametrize(
    ("url", "said"), [("nosuch://x", "Protocol not known"), ("/dev/null/x", "Not a directory"), ("/proc/x", "No such")]
)
def test_a_place_that_takes_no_files(url: str, said: str) -> None:
    with pytest.raises(StorageError, match=f"{url}: {said}"):
        Storage(url, pause=0.001).create("a", b"")
