"""Signs the code that is stored on disk, with a key that only this user can read, in a folder to which only this user
can write.

Staged functions are code. Anybody who could write to their file could run code in every later run, or change the
expected values. A file from elsewhere (a shared folder, a cache of continuous integration) is not signed with this key,
so its functions are staged again. Any process of this user can sign, including the framework under test.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from functools import lru_cache
from pathlib import Path

LENGTH = 32
"""The length in bytes of the key, and of a signature."""


def cache() -> Path:
    """Returns the folder of the suite in this user's cache, such as ``~/.cache/autograd-conformance``; raises OSError
    if the user has no home folder.
    """
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "autograd-conformance"
    except RuntimeError as error:
        raise OSError(str(error)) from None


def make_private(folder: Path) -> bool:
    """Make a folder that only this user can write to, or restrict an existing one of this user; returns whether it is
    private.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_own(found := os.lstat(folder)) and stat.S_ISDIR(found.st_mode) and found.st_mode & 0o022:
            folder.chmod(found.st_mode & 0o755)
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and _is_own(found) and (os.name == "nt" or not found.st_mode & 0o022)


def _is_own(found: os.stat_result) -> bool:
    return os.name == "nt" or found.st_uid == os.geteuid()


@lru_cache(maxsize=8)
def key(folder: Path) -> bytes | None:
    """Returns the signing key in a folder, which is made if it does not exist; None if the folder cannot be made
    private.
    """
    path = folder / "key"
    try:
        if not make_private(folder):
            return None
        if not path.exists():
            _make(path)
        return _read(path)
    except OSError:
        return None


def _make(path: Path) -> None:
    aside = path.with_name(f"key.{os.getpid()}")
    file = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, secrets.token_bytes(LENGTH))
    finally:
        os.close(file)
    aside.replace(path)


def _read(path: Path) -> bytes | None:
    """Returns the signing key in a file; None unless the file belongs to this user and nobody else can read it."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    try:
        found, read = os.fstat(file), os.read(file, LENGTH + 1)
    finally:
        os.close(file)
    kept = stat.S_ISREG(found.st_mode) and _is_own(found) and (os.name == "nt" or not found.st_mode & 0o077)
    return read if kept and len(read) == LENGTH else None


def signed(content: bytes, key: bytes, *about: str) -> bytes:
    """Returns the content with a signature in front; the signature covers the content and `about`."""
    return _signature(content, key, about) + content


def checked(text: bytes, key: bytes, *about: str) -> bytes | None:
    """Returns the content of a signed text; None if `key` did not sign this content for `about`."""
    signature, content = text[:LENGTH], text[LENGTH:]
    return content if hmac.compare_digest(signature, _signature(content, key, about)) else None


def _signature(content: bytes, key: bytes, about: tuple[str, ...]) -> bytes:
    return hmac.digest(key, "\0".join((*about, "")).encode() + content, "sha256")
