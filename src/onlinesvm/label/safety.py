"""Access control: only a page opened with the printed address may send requests to the server.

Every request is checked before anything else sees it:

- ``Host`` is one of a fixed list, compared whole. A name that an attacker lets point to 127.0.0.1 (DNS
  rebinding) is not on it, whatever ``Origin`` says.
- ``Origin``, where there is one, is of the same list; a request that changes something must have one.
- The token of the printed address becomes a cookie that scripts cannot read and other sites do not send;
  without it every request is refused.
- A body is JSON and at most ``MOST_BODY`` bytes.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

MOST_BODY = 1 << 20
"""Bytes of a request, at most."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
"""Headers of every response that does not set them itself."""

SAFE = ("GET", "HEAD")


class Gate:
    """An ASGI application in front of another one."""

    def __init__(self, app: Any, token: str, port: int, hosts: Sequence[str]):
        self._app, self._token = app, token
        self.cookie = f"onlinesvm_label_{port}"
        self._hosts = {(host.lower(), port) for host in hosts}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let a request pass, or answer it here."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no web sockets
            return
        headers = _headers(scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _reply(send, *refusal)
        elif self._brings_token(scope):
            await self._welcome(send)
        elif not self._has_cookie(headers):
            message = "Open the address that `onlinesvm label` printed: it contains a key."
            await _reply(send, 403, message)
        else:
            await self._app(scope, _Limited(receive), _with_headers(send))

    def _refusal(self, scope: Any, headers: dict[str, list[str]]) -> tuple[int, str] | None:
        method = scope["method"]
        if method not in (*SAFE, "POST"):
            return 405, "This method is not allowed."
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return 421, "This host name is not served here."
        origins = headers.get("origin", [])
        if len(origins) > 1 or any(not self._is_own_origin(origin) for origin in origins):
            return 403, "Requests from other sites are refused."
        if method == "POST":
            return self._refused_post(headers, origins)
        return None

    def _refused_post(
        self, headers: dict[str, list[str]], origins: list[str]
    ) -> tuple[int, str] | None:
        if not origins:
            return 403, "A request that changes something must have an Origin header."
        kind = headers.get("content-type", [""])[0].split(";")[0].strip().lower()
        if kind != "application/json":
            return 415, "The request must be JSON."
        length = headers.get("content-length", ["0"])[0]
        if not length.isdigit() or int(length) > MOST_BODY:
            return 413, f"A request may have at most {MOST_BODY:,} bytes."
        return None

    def _is_own(self, netloc: str) -> bool:
        """Whether a host with its port is of the list."""
        try:
            parts = urlsplit("//" + netloc)
            found = (parts.hostname or "").lower(), parts.port
        except ValueError:
            return False
        plain = netloc == parts.netloc and parts.username is None and not parts.path
        return plain and found in self._hosts

    def _is_own_origin(self, origin: str) -> bool:
        scheme, _, rest = origin.partition("://")
        return scheme == "http" and self._is_own(rest)

    def _brings_token(self, scope: Any) -> bool:
        if scope["path"] != "/" or scope["method"] != "GET":
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])
        return hmac.compare_digest(given[0].encode(), self._token.encode())

    def _has_cookie(self, headers: dict[str, list[str]]) -> bool:
        for line in headers.get("cookie", []):
            try:
                found = SimpleCookie(line).get(self.cookie)
            except CookieError:
                continue
            if found is not None and hmac.compare_digest(
                found.value.encode(), self._token.encode()
            ):
                return True
        return False

    async def _welcome(self, send: Any) -> None:
        """Turn the token into a cookie, and take it out of the address bar."""
        value = f"{self.cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        await _reply(send, 303, "", [(b"set-cookie", value.encode()), (b"location", b"/")])


class _Limited:
    """A body that is not read beyond the limit, whatever its headers say."""

    def __init__(self, receive: Any):
        self._receive, self._read = receive, 0

    async def __call__(self) -> Any:
        message = await self._receive()
        if message["type"] == "http.request":
            self._read += len(message.get("body", b""))
            if self._read > MOST_BODY:
                return {"type": "http.disconnect"}
        return message


def _headers(scope: Any) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        out.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return out


def _with_headers(send: Any) -> Any:
    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [
                *message["headers"],
                *((n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in there),
            ]
        await send(message)

    return sending


async def _reply(
    send: Any, status: int, message: str, more: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    body = json.dumps({"error": message}).encode()
    headers = [(b"content-type", b"application/json"), *more]
    start = {"type": "http.response.start", "status": status, "headers": headers}
    await _with_headers(send)(start)
    await send({"type": "http.response.body", "body": body})
