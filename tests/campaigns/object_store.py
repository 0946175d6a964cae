"""An S3 server in a separate process, by moto."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

SECRETS = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_DEFAULT_REGION": "us-east-1"}


@contextmanager
def bucket() -> Iterator[dict[str, str]]:
    """A bucket named `bucket`, and the options with which fsspec finds its server."""
    import boto3

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    before = dict(os.environ)
    os.environ.update(SECRETS)
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _listening(port)
        url = f"http://127.0.0.1:{port}"
        boto3.client("s3", endpoint_url=url).create_bucket(Bucket="bucket")
        yield {"endpoint_url": url}
    finally:
        process.kill()
        process.wait()
        for name in SECRETS:
            os.environ.pop(name)
            os.environ.update({name: before[name]} if name in before else {})


def _listening(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert time.monotonic() < deadline, "the server did not come up"
            time.sleep(0.1)
        else:
            return
