"""The server: an address that is free, a browser that opens it, and an end that takes everything along."""

from __future__ import annotations

import errno
import logging
import os
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from stethoscope.dashboard.gate import Keys
from stethoscope.dashboard.houses import House
from stethoscope.errors import MissingExtra, StethoscopeError

if TYPE_CHECKING:
    from stethoscope.dashboard.dashboard import Dashboard
    from stethoscope.dashboard.ending_server import Server

INSTALL = "the dashboard needs Starlette and Uvicorn: pip install 'stethoscope[dashboard]'."
LOCAL = "127.0.0.1"
USUAL_PORT = 8765
PORTS_TRIED = 20
LAST_SECONDS = 1  # for answers that are on their way when the server ends


@dataclass(frozen=True, slots=True)
class Wanted:
    """How a dashboard is served. `port` 0 is any that is free; None the usual one or one of the next."""

    host: str = LOCAL
    port: int | None = None
    read_only: bool = False
    browser: bool = True
    seconds: float | None = None


def serve(house: House, wanted: Wanted, say: Callable[[str], None]) -> None:
    """Serve a folder until somebody ends it; `say` is told the address."""
    must_be_installed()
    listening = _listening(wanted.host, wanted.port)
    keys = Keys()
    with listening:
        _serve(house, wanted, listening, keys, say)


def must_be_installed() -> None:
    """Raise MissingExtra where the packages of the extra are missing."""
    if any(find_spec(name) is None for name in ("starlette", "uvicorn")):
        raise MissingExtra(INSTALL)


def is_local(host: str) -> bool:
    """Whether only this machine can reach an address."""
    return host in {LOCAL, "localhost", "::1"}


def _serve(
    house: House, wanted: Wanted, listening: socket.socket, keys: Keys, say: Callable[[str], None]
) -> None:
    import uvicorn

    from stethoscope.dashboard.app import application
    from stethoscope.dashboard.dashboard import opened
    from stethoscope.dashboard.ending_server import Server

    _be_quiet()
    dashboard = opened(house, keys, wanted.read_only)
    address = _address(wanted.host, listening.getsockname()[1])
    try:
        settings = uvicorn.Config(
            application(dashboard, _names(wanted.host)),
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=LAST_SECONDS,
            limit_concurrency=200,
        )
        server = Server(settings, dashboard)
        timer = _timer(server, dashboard, wanted.seconds)
        say(f"{address}/?token={keys.token}")
        if wanted.browser:
            threading.Thread(target=_open, args=(f"{address}/?token={keys.token}",), daemon=True).start()
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
        timer.cancel()
    finally:
        dashboard.close()


def _be_quiet() -> None:
    """Let no line of the server's own logs out; what a person has to know stands on the page."""
    if not os.environ.get("STETHOSCOPE_DEBUG"):
        for name in ("uvicorn", "uvicorn.error", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _timer(server: Server, dashboard: Dashboard, seconds: float | None) -> threading.Timer:
    def end() -> None:
        dashboard.closing = True
        server.should_exit = True

    timer = threading.Timer(seconds or 0.0, end)
    timer.daemon = True
    if seconds is not None:
        timer.start()
    return timer


def _open(address: str) -> None:
    # What a browser prints on its start is not ours to show.
    with suppress(Exception):
        webbrowser.open(address)


def _listening(host: str, port: int | None) -> socket.socket:
    """A socket at the port that was asked for, or at the first free one from the usual on."""
    tried = range(USUAL_PORT, USUAL_PORT + PORTS_TRIED) if port is None else (port,)
    for number in (*tried, *([0] if port is None else [])):
        try:
            return _bound(host, number)
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE:
                reason = (problem.strerror or str(problem)).lower()
                raise StethoscopeError(f"--host {host}, port {number}: {reason}.") from None
    raise StethoscopeError(f"port {port} is in use; leave --port away to take one that is free.")


def _bound(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError):
        raise StethoscopeError(f"--host {host} is no address of this machine.") from None
    made = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
        made.listen(128)
        made.set_inheritable(False)
    except BaseException:
        made.close()
        raise
    return made


def _address(host: str, port: int) -> str:
    name = socket.gethostname() if host in {"0.0.0.0", "::"} else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def _names(host: str) -> tuple[str, ...]:
    """The names, beside the local ones, under which the dashboard may be asked."""
    if is_local(host):
        return ()
    if host in {"0.0.0.0", "::"}:
        return (socket.gethostname(), socket.getfqdn(), *_addresses())
    return (f"[{host}]" if ":" in host else host,)


def _addresses() -> tuple[str, ...]:
    with suppress(OSError):
        return tuple(socket.gethostbyname_ex(socket.gethostname())[2])
    return ()
