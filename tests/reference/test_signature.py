"""The store of staged functions runs only code that this user signed, and stores nothing where others can write."""

from __future__ import annotations

import os
import pickle
import sqlite3
import stat
from pathlib import Path

import pytest

from autograd_conformance.reference.staging import cache as cache_module
from autograd_conformance.reference.staging.cache import Store
from autograd_conformance.reference.staging.signature import LENGTH, cache, checked, key, make_private, signed
from tests.reference.test_reference import double, never, works

SECRET, OTHER = b"s" * LENGTH, b"o" * LENGTH
posix = pytest.mark.skipif(os.name == "nt", reason="folders have other rights there")
root = pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")


class Touches:
    """An object that makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with one function on disk."""
    made = Store(tmp_path / "cache" / "staged.sqlite", SECRET)
    assert works(made)
    made.close()
    return made


def rewritten(store: Store, content: bytes) -> None:
    """Replace the content of all rows."""
    with sqlite3.connect(store.path) as database:
        database.execute("UPDATE staged SET source = ?", (content,))


def test_what_was_signed_is_read(store: Store) -> None:
    assert works(Store(store.path, SECRET), never)


def test_what_another_signed_is_made_again(store: Store) -> None:
    with pytest.raises(AssertionError, match="made again"):
        works(Store(store.path, OTHER), never)
    assert works(Store(store.path, OTHER))


@pytest.mark.parametrize("signature", [b"", b"\0" * LENGTH, OTHER])
def test_what_nobody_signed_is_not_run(store: Store, signature: bytes, tmp_path: Path) -> None:
    mark = tmp_path / "PWNED"
    rewritten(store, signature + pickle.dumps(Touches(mark)))
    with pytest.raises(AssertionError, match="made again"):
        works(Store(store.path, SECRET), never)
    assert works(Store(store.path, SECRET))
    assert not mark.exists()


def test_the_signature_is_of_the_key_too(store: Store, tmp_path: Path) -> None:
    with sqlite3.connect(store.path) as database:
        database.execute("UPDATE staged SET key = ?", (repr(("another",)),))
    with pytest.raises(AssertionError, match="made again"):
        Store(store.path, SECRET).staged(("another",), never)


@pytest.mark.parametrize("content", ["text", 7, None, b""])
def test_a_row_of_another_type_is_made_again(store: Store, content: object) -> None:
    rewritten(store, content)  # type: ignore[arg-type]
    assert works(Store(store.path, SECRET))


def test_without_a_key_nothing_is_read_and_nothing_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_secret", lambda: None)
    keyless = Store(store.path)
    with pytest.raises(AssertionError, match="made again"):
        works(keyless, never)
    assert works(keyless, double)
    keyless.close()
    assert works(Store(store.path, SECRET), never)


def test_what_is_signed_reads_back_for_what_it_is_about_alone() -> None:
    text = signed(b"content", SECRET, "a", "b")
    assert checked(text, SECRET, "a", "b") == b"content"
    assert checked(text, OTHER, "a", "b") is None
    assert checked(text, SECRET, "ab", "") is None
    assert checked(text, SECRET, "a") is None
    assert checked(text + b"!", SECRET, "a", "b") is None
    assert checked(text[:LENGTH], SECRET, "a", "b") is None


# -- the key and its folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for a key that no other test has cached."""
    return tmp_path / "user" / "autograd-conformance"


def test_a_key_is_made_once(folder: Path) -> None:
    made = key(folder)
    assert made is not None and len(made) == LENGTH
    key.cache_clear()
    assert key(folder) == made


@posix
def test_a_key_and_its_folder_are_the_users_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        assert key(folder)
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "key").stat().st_mode) == 0o600


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_key_that_others_can_read_is_none(folder: Path, mode: int) -> None:
    assert key(folder)
    key.cache_clear()
    (folder / "key").chmod(mode)
    assert key(folder) is None


@posix
@pytest.mark.parametrize("content", [b"", b"short", b"l" * (LENGTH + 1)])
def test_a_key_of_another_length_is_none(folder: Path, content: bytes) -> None:
    folder.mkdir(parents=True)
    (folder / "key").write_bytes(content)
    (folder / "key").chmod(0o600)
    assert key(folder) is None


@posix
def test_a_link_in_the_place_of_a_key_is_none(folder: Path, tmp_path: Path) -> None:
    folder.mkdir(parents=True)
    (tmp_path / "elsewhere").write_bytes(SECRET)
    (tmp_path / "elsewhere").chmod(0o600)
    (folder / "key").symlink_to(tmp_path / "elsewhere")
    assert key(folder) is None


@posix
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757])
def test_the_users_own_folder_is_closed_to_others(folder: Path, mode: int) -> None:
    folder.mkdir(parents=True)
    folder.chmod(mode)
    assert make_private(folder)
    assert not folder.stat().st_mode & 0o022


@posix
def test_what_is_no_folder_or_a_link_to_one_is_not_used(folder: Path, tmp_path: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.symlink_to(tmp_path)
    assert not make_private(folder)
    folder.unlink()
    folder.write_text("")
    assert not make_private(folder)
    assert key(folder) is None


@root
def test_what_is_another_users_is_not_used(folder: Path, store: Store) -> None:
    assert key(folder)
    key.cache_clear()
    os.chown(folder / "key", 1, 1)
    assert key(folder) is None
    os.chown(folder, 1, 1)
    assert not make_private(folder)
    os.chown(store.path.parent, 1, 1)
    with pytest.raises(AssertionError, match="made again"):
        works(Store(store.path, SECRET), never)


def test_the_folder_is_where_caches_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache() == tmp_path / "autograd-conformance"


def test_where_no_folder_can_be_there_is_no_key() -> None:
    assert key(Path(os.devnull) / "nowhere") is None
