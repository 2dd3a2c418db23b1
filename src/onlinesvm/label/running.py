"""The server as a process: a free port, a random key, the address to open."""

from __future__ import annotations

import gc
import secrets
import signal
import socket
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from .errors import LabelError
from .safety import Gate
from .server import Config, make_app
from .session import Session

LOOPBACK = ("127.0.0.1", "localhost", "::1")

TRIES = 50
"""Ports tried after the one asked for."""


@dataclass
class Place:
    """Where the server listens."""

    socket: socket.socket
    host: str
    port: int
    is_other: bool


def bind(host: str, port: int) -> Place:
    """A socket at the port, or at the next one that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in [0] if port == 0 else range(port, min(port + TRIES, 65536)):
        # With the protocol named, asyncio sends at once: a reply in two parts otherwise waits 40 ms.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, number))
            listening.listen(64)
        except OSError as error:
            listening.close()
            if error.errno is not None and isinstance(error, PermissionError | socket.gaierror):
                raise LabelError(f"{host}:{number} cannot be used: {error.strerror}.") from error
            continue
        found = listening.getsockname()[1]
        return Place(listening, host, found, port not in (0, found))
    raise LabelError(
        f"No port from {port} to {port + TRIES - 1} is free on {host}; choose another --port."
    )


def names_of(host: str) -> list[str]:
    """Host names under which the server accepts requests."""
    if host in LOOPBACK:
        return list(LOOPBACK)
    own = [*LOOPBACK, host, socket.gethostname()]
    with suppress(OSError):
        own += socket.gethostbyname_ex(socket.gethostname())[2]
    return own


def run(
    session: Session, config: Config, place: Place, opens: bool, say: Callable[[str], None]
) -> None:
    """Serve until Ctrl-C."""
    import uvicorn

    token = secrets.token_urlsafe(24)
    address = _address(place, token)
    app = Gate(make_app(session, config), token, place.port, names_of(place.host))
    settings: dict[str, Any] = {"log_level": "error", "access_log": False, "lifespan": "off"}
    server = uvicorn.Server(
        uvicorn.Config(app, server_header=False, timeout_graceful_shutdown=2, **settings)
    )
    with _ended_by_ctrl_c(server):
        say(f"Label here: {address}")
        say("Every answer changes the next question. Press Ctrl-C to stop; nothing is lost.")
        if opens:
            webbrowser.open(address)
        # A collection of everything that was imported and opened stops all threads for up to 0.2 s.
        gc.collect()
        gc.freeze()
        server.run(sockets=[place.socket])


def _address(place: Place, token: str) -> str:
    shown = "127.0.0.1" if place.host in ("0.0.0.0", "::") else place.host
    shown = f"[{shown}]" if ":" in shown else shown
    return f"http://{shown}:{place.port}/?token={token}"


@contextmanager
def _ended_by_ctrl_c(server: Any) -> Iterator[None]:
    """Ctrl-C ends the server, and is raised when it has ended.

    Raised at once, it would be lost where it falls into a finalizer or a callback of the import system,
    of which there are many between the invitation and the first request.
    """
    heard = []

    def end(number: int, frame: Any) -> None:
        heard.append(number)
        server.should_exit = True

    before = signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard:
        raise KeyboardInterrupt
