"""A local HTTP server that answers as it is told to, and keeps what it was sent."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver(ThreadingHTTPServer):
    """Answers with the statuses in turn, the last one for ever; 0 stands for no answer at all."""

    daemon_threads = True

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses) or [200]
        self.received: list[dict[str, Any]] = []
        self.asked = 0
        self.closing = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        """An address with a secret in it."""
        return f"http://127.0.0.1:{self.server_address[1]}/hooks/SECRET"

    def wait_for(self, messages: int, seconds: float = 10.0) -> None:
        """Wait until so many messages were taken."""
        until = time.monotonic() + seconds
        while len(self.received) < messages and time.monotonic() < until:
            time.sleep(0.01)


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = self.server.statuses[min(self.server.asked, len(self.server.statuses) - 1)]
        self.server.asked += 1
        if status == 0:
            self.server.closing.wait(30)
            return
        if status == 200:
            self.server.received.append(json.loads(body))
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def receiving(*statuses: int) -> Iterator[Receiver]:
    """A server for as long as the block lasts."""
    server = Receiver(*statuses)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
