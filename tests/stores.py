"""A local S3 server whose answers can be spoilt: moto behind a layer that knows what to do to the next requests."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

BUCKET = "pools"
_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "very-secret-testing-key",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@dataclass(frozen=True)
class Fault:
    """What happens to a request: a status and headers in place of its answer, or an answer cut short.

    Attributes:
        method: of the requests that it happens to, "" for any.
        truncate: leave out the second half of the body.
        then: called before the request is answered.
    """

    status: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    method: str = ""
    truncate: bool = False
    then: Callable[[], None] | None = None


@dataclass
class Store:
    """The server: `faults` are taken from the front, each by the next request that it fits."""

    address: str
    faults: list[Fault] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    client: Any = None

    def put(self, key: str, data: bytes) -> str:
        """Store an object, and return its address."""
        self.client.put_object(Bucket=BUCKET, Key=key, Body=data)
        return f"s3://{BUCKET}/{key}"

    def all_keys(self) -> list[str]:
        """Return all keys, sorted."""
        listed = self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        return sorted(one["Key"] for one in listed)

    def get(self, key: str) -> bytes:
        """Return an object."""
        return bytes(self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read())

    def empty(self) -> None:
        """Forget faults and requests, and remove all objects."""
        self.faults.clear()
        for key in self.all_keys():
            self.client.delete_object(Bucket=BUCKET, Key=key)
        self.requests.clear()


class _Spoilt:
    """The WSGI application, spoilt."""

    def __init__(self, application: Any, store: Store) -> None:
        self._application, self._store = application, store

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        method, agent = environ["REQUEST_METHOD"], environ.get("HTTP_USER_AGENT", "")
        fault = Fault()
        if not agent.startswith("Boto3"):  # the test's own client
            self._store.requests.append((method, environ["PATH_INFO"]))
            if self._store.faults and self._store.faults[0].method in ("", method):
                fault = self._store.faults.pop(0)
        if fault.then:
            fault.then()
        if fault.status:
            start(fault.status, [("Content-Length", "0"), *fault.headers])
            return [b""]
        body = b"".join(self._application(environ, start))
        return [body[: len(body) // 2]] if fault.truncate else [body]


@contextmanager
def s3_store() -> Iterator[Store]:
    """Serve an empty bucket on loopback; the environment names it to all clients."""
    import boto3
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log(self, type: str, message: str, *args: Any) -> None:
            """Say nothing."""

    store = Store("")
    application = _Spoilt(DomainDispatcherApplication(create_backend_app), store)
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Quiet)
    store.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        with mock.patch.dict(os.environ, {**_ENVIRONMENT, "AWS_ENDPOINT_URL": store.address}):
            store.client = boto3.client("s3")
            store.client.create_bucket(Bucket=BUCKET)
            yield store
            store.client.close()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
