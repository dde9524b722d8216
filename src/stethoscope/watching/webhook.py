"""Tells somebody elsewhere by an HTTP POST, in a thread of its own: the watching never waits for it.

A webhook's address is a secret: whoever has it may write there. Only its host is ever shown.
"""

from __future__ import annotations

import http.client
import json
import queue
import threading
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from stethoscope.errors import StethoscopeError
from stethoscope.watching.json_lines import Json

TIMEOUT_SECONDS = 10.0
TRIES = 5
FIRST_PAUSE = 1.0  # seconds, doubled with every try
LONGEST_PAUSE = 60.0
MOST_WAITING = 100  # messages; a receiver that is down for hours gets the last ones
LAST_WORDS_SECONDS = 5.0  # how long the end of the watching waits for what is still under way
TRY_AGAIN = frozenset({408, 425, 429})  # and every 5xx; any other refusal is final
AGENT = "stethoscope"


class BadAddress(StethoscopeError):
    """The address of a webhook is not one that can be posted to."""


@dataclass(slots=True)
class Webhook:
    """An address that is told. `post` returns at once; `problem` says what last went wrong, "" if nothing."""

    url: str
    pause: float = FIRST_PAUSE
    timeout: float = TIMEOUT_SECONDS
    problem: str = ""
    sent: int = 0
    _waiting: queue.Queue[bytes | None] = field(default_factory=lambda: queue.Queue(MOST_WAITING))
    _closing: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __post_init__(self) -> None:
        must_be_http(self.url)

    @property
    def shown(self) -> str:
        """The address as it may be printed."""
        return shown(self.url)

    def post(self, message: Json) -> None:
        """Send a message when its turn comes; the oldest gives way where too many wait."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="webhook", daemon=True)
            self._thread.start()
        _put(self._waiting, json.dumps(message, ensure_ascii=False, allow_nan=False).encode())

    def close(self, seconds: float = LAST_WORDS_SECONDS) -> None:
        """Let what waits be sent, for a few seconds at most."""
        if self._thread is not None:
            _put(self._waiting, None)
            self._closing.set()
            self._thread.join(seconds)

    def _work(self) -> None:
        while (body := self._waiting.get()) is not None:
            try:
                self._deliver(body)
            except Exception as bug:  # the thread must live: it is the only one that sends
                self.problem = f"{self.shown}: {type(bug).__name__}"

    def _deliver(self, body: bytes) -> None:
        pause = self.pause
        for number in range(1, TRIES + 1):
            answer = _posted(self.url, body, self.timeout)
            if answer.ok:
                self.problem, self.sent = "", self.sent + 1
                return
            self.problem = f"{self.shown}: {answer.said}"
            if answer.final or number == TRIES:
                break
            # Whoever ends the watching does not want to wait for the pauses.
            self._closing.wait(min(max(pause, answer.wait), LONGEST_PAUSE))
            pause *= 2
        self.problem += f"; given up after {number} {'try' if number == 1 else 'tries'}"


def must_be_http(url: str) -> None:
    """Raise BadAddress, without repeating what may be a secret, for anything but an http(s) address."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise BadAddress("--webhook is not an address that can be understood.") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise BadAddress("--webhook must begin with https:// or http:// and name a host.")
    if parts.username or parts.password:
        raise BadAddress("--webhook must not hold a user name or password; use an address that needs none.")
    if any(not letter.isprintable() or letter.isspace() for letter in url):
        raise BadAddress("--webhook holds white space or a control character.")


def shown(url: str) -> str:
    """An address without what may be secret in it: its scheme and host."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}/..."


@dataclass(frozen=True, slots=True)
class _Answer:
    ok: bool
    said: str = ""
    final: bool = False
    wait: float = 0.0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected POST would become a GET, which tells nobody; and the secret would go elsewhere."""

    def redirect_request(self, *_: object) -> None:
        return None


def _posted(url: str, body: bytes, timeout: float) -> _Answer:
    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": AGENT}
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(request, timeout=timeout) as response:
            response.read(1)
        return _Answer(True)
    except urllib.error.HTTPError as refused:
        with refused:
            return _refused(refused.code, refused.headers.get("Retry-After", ""))
    except TimeoutError:
        return _Answer(False, f"no answer within {timeout:g} s")
    except urllib.error.URLError as problem:
        return _Answer(False, _reason(problem.reason, timeout))
    except (OSError, http.client.HTTPException, ValueError) as problem:
        return _Answer(False, _reason(problem, timeout))


def _refused(status: int, retry_after: str) -> _Answer:
    wait = float(retry_after) if retry_after.isdigit() else 0.0
    return _Answer(False, f"answered {status}", not (status >= 500 or status in TRY_AGAIN), wait)


def _reason(problem: object, timeout: float) -> str:
    """What went wrong; texts that might repeat the address are not shown."""
    if isinstance(problem, TimeoutError):
        return f"no answer within {timeout:g} s"
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror.lower()
    return type(problem).__name__


def _put(waiting: queue.Queue[bytes | None], body: bytes | None) -> None:
    while True:
        try:
            waiting.put_nowait(body)
            return
        except queue.Full:
            _drop_oldest(waiting)


def _drop_oldest(waiting: queue.Queue[bytes | None]) -> None:
    try:
        waiting.get_nowait()
    except queue.Empty:
        return
