"""Who may ask for what. Everything that is asked goes through here first, files of scripts included.

- The Host has to be a name of this machine: a page elsewhere that lets its own name lead here is turned away.
- A secret of this start has to come with it, in the address once and in a cookie from then on, or as a
  bearer's token from a program. The cookie goes to no script and with no request of another site.
- What changes anything is a POST of JSON from a page of this address, with a second secret from that page.
- Requests are small. Answers say that nothing else may be loaded, framed or guessed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
MOST_BYTES = 1 << 20  # of a request: a document to review is a few thousand
MOST_ADDRESS = 4096  # bytes of path and query
CSRF_HEADER = b"x-stethoscope"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode("ascii")),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)


class Keys:
    """The secrets of one start."""

    def __init__(self, token: str | None = None) -> None:
        self.token = token or secrets.token_urlsafe(32)
        # Cookies know no ports: two dashboards on one machine each have a name of their own.
        self.cookie = f"stethoscope-{self._derived('cookie')[:12]}"
        self.csrf = self._derived("csrf")

    def opens(self, given: str | None) -> bool:
        """Whether this is the token, in a time that says nothing about how much of it was right."""
        return given is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def confirms(self, given: bytes | None) -> bool:
        """Whether this is the secret that only a page of ours knows."""
        return given is not None and hmac.compare_digest(given, self.csrf.encode("ascii"))

    def _derived(self, purpose: str) -> str:
        return hmac.new(self.token.encode(), purpose.encode("ascii"), hashlib.sha256).hexdigest()


class Gate:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, keys: Keys, names: Iterable[str] = (), read_only: bool = False) -> None:
        self.app = app
        self.keys = keys
        self.names = LOCAL_NAMES | {name.lower() for name in names}
        self.read_only = read_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what is not allowed; let everything else in."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a websocket: nobody answers
        asked = _Asked(scope)
        refusal = self._refusal(asked)
        if refusal is None and asked.method == "GET" and "token" in asked.query:
            await _answer(send, 200, _OPENED.format(_elsewhere(asked)), html=True, also=self._welcome())
        elif refusal is None:
            await self.app(scope, _limited(receive), _with_headers(send))
        else:
            await _answer(send, *refusal)

    def _refusal(self, asked: _Asked) -> tuple[int, str] | None:
        if len(asked.address) > MOST_ADDRESS:
            return 414, "This address is too long."
        if asked.host_name not in self.names:
            return 421, "This name does not belong to the dashboard: open the address that was printed."
        if asked.method not in {"GET", "HEAD", "POST"}:
            return 405, "Only GET, HEAD and POST are answered."
        if asked.length > MOST_BYTES:
            return 413, f"This is too much to send: at most {MOST_BYTES:,} bytes are read."
        if not self.keys.opens(asked.token(self.keys.cookie)):
            return 403, "Open the address that `stethoscope serve` printed: it holds the key to this page."
        return self._refused_change(asked) if asked.method == "POST" else None

    def _refused_change(self, asked: _Asked) -> tuple[int, str] | None:
        if asked.one(b"origin") != asked.origin or asked.one(b"sec-fetch-site") not in {None, b"same-origin"}:
            return 403, "A change has to come from a page of this dashboard."
        if not self.keys.confirms(asked.one(CSRF_HEADER)):
            return 403, "This page is older than the dashboard: load it again."
        if (asked.one(b"content-type") or b"").split(b";")[0].strip() != b"application/json":
            return 415, "Send JSON."
        return None

    def _welcome(self) -> tuple[bytes, bytes]:
        cookie = f"{self.keys.cookie}={self.keys.token}; HttpOnly; SameSite=Strict; Path=/"
        return b"set-cookie", cookie.encode("ascii")


# A redirection would carry on where the link came from, and a strict cookie does not come along from there.
_OPENED = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={0}">'
    '<link rel="icon" href="data:,"><title>Stethoscope</title>'
    '<p><a href="{0}">Open the dashboard</a></p></html>'
)


class _Asked:
    """A request as far as the gate looks at it. A header that comes twice is none."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.method: str = scope["method"]
        self.address: bytes = (scope.get("raw_path") or b"") + b"?" + scope["query_string"]
        self.query: dict[str, str] = dict(
            parse_qsl(scope["query_string"].decode("latin-1"), max_num_fields=50)
        )

    def one(self, name: bytes) -> bytes | None:
        """The value of a header."""
        found = [value for key, value in self.scope["headers"] if key == name]
        return found[0] if len(found) == 1 else None

    @property
    def host_name(self) -> str:
        """The name in the Host header, without the port."""
        host = (self.one(b"host") or b"").decode("latin-1").lower()
        name, _, port = host.rpartition(":")
        return name if name and port.isdigit() and (name.startswith("[") or ":" not in name) else host

    @property
    def origin(self) -> bytes:
        """What a page of ours says where it comes from."""
        return str(self.scope["scheme"]).encode("ascii") + b"://" + (self.one(b"host") or b"")

    @property
    def length(self) -> int:
        """How much is announced to be sent; too much where that cannot be read."""
        told = self.one(b"content-length")
        if told is None:
            return 0
        return int(told) if told.isdigit() and len(told) < 12 else MOST_BYTES + 1

    def token(self, cookie: str) -> str | None:
        """The token, from wherever it comes."""
        given = self.one(b"authorization") or b""
        if given.startswith(b"Bearer "):
            return given.removeprefix(b"Bearer ").decode("latin-1")
        if self.method == "GET" and "token" in self.query:
            return self.query["token"]
        try:
            jar = SimpleCookie((self.one(b"cookie") or b"").decode("latin-1"))
        except CookieError:
            return None
        return str(jar[cookie].value) if cookie in jar else None


def _elsewhere(asked: _Asked) -> str:
    """The same address on this machine without the token, as a value of an attribute."""
    rest = urlencode([(key, value) for key, value in asked.query.items() if key != "token"])
    path = "/" + (asked.scope.get("raw_path") or b"/").decode("latin-1").partition("?")[0].lstrip("/\\")
    safe = "".join(letter if letter.isalnum() or letter in "/._-%" else "" for letter in path)
    return f"{safe}?{rest.replace('&', '&amp;')}" if rest else safe


def _limited(receive: Receive) -> Receive:
    """The body, as far as it is small; more than that is taken for a connection that was cut."""
    taken = 0

    async def limited() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        return message if taken <= MOST_BYTES else {"type": "http.disconnect"}

    return limited


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {key for key, _ in HEADERS}
            kept = [(key, value) for key, value in message["headers"] if key.lower() not in own]
            if not any(key.lower() == b"cache-control" for key, _ in kept):
                kept.append((b"cache-control", b"no-store"))
            message["headers"] = [*kept, *HEADERS]
        await send(message)

    return sending


async def _answer(
    send: Send, status: int, said: str, html: bool = False, also: tuple[bytes, bytes] | None = None
) -> None:
    body = (said if html else said + "\n").encode("utf-8")
    headers = [
        (b"content-type", b"text/html; charset=utf-8" if html else b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode("ascii")),
        *([also] if also else []),
    ]
    send = _with_headers(send)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def as_json(said: str) -> bytes:
    """An error for a script."""
    return json.dumps({"error": said}).encode("utf-8")
