"""HTTP/1.1 for the official client: one connection a node, and a limit on the whole of what is asked, not on each read.

`httpx`, which the client comes with, takes 60 % of its import (docs/typesense.md) and knows no limit on the whole of a
request: a node that sends a byte now and then holds it up for ever. The client only needs what is here.
"""

from __future__ import annotations

import socket
import time
from urllib.parse import quote, urlsplit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

_CHUNK = 262_144
_HEADER_BYTES = 65_536


class HTTPError(Exception):
    """A request that got no answer. The names are those of httpx, which the client catches."""


RequestError = HTTPError


class TimeoutException(RequestError):
    """The node took longer than its share of the time."""


class ConnectError(RequestError):
    """The node does not listen, or hung up."""


class PoolTimeout(RequestError):
    """Never raised."""


class LocalProtocolError(RequestError):
    """Never raised."""


class DecodingError(RequestError):
    """Never raised."""


class TooManyRedirects(RequestError):
    """Never raised."""


class AsyncClient:
    """Never made."""


class DeadlinePassedError(Exception):
    """The time for all of it is over. No kind of HTTPError, so that the client does not try the next node."""


class Response:
    """An answer that was read to its end."""

    __slots__ = ("_body", "headers", "status_code")

    def __init__(self, status_code: int, headers: dict[str, str], body: bytes) -> None:
        self.status_code = status_code
        self.headers = _Headers(headers)
        self._body = body

    @property
    def text(self) -> str:
        """The body."""
        return self._body.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON."""
        from core import json_text

        return json_text.loads(self._body)


class _Headers(dict[str, str]):
    """Headers by lower-case name."""

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name.lower(), default)


class Transport:
    """What stands in for `httpx.Client`.

    Args:
        limit_s: seconds that a request may take in all, its retries on other nodes with it.
        nodes: how many nodes there are to try; each but the last gets its share of what is left.
    """

    __slots__ = ("_attempts", "_nodes", "_open", "_until", "limit_s")

    def __init__(self, limit_s: float, nodes: int) -> None:
        self.limit_s = limit_s
        self._nodes = max(nodes, 1)
        self._open: dict[tuple[str, str, int], socket.socket] = {}
        self._until = 0.0
        self._attempts = 0

    def begin(self) -> None:
        """The clock of the next request starts now."""
        self._until = time.monotonic() + self.limit_s
        self._attempts = 0

    def request(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, object] | None = None,
        content: str | bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """One request to one node, its answer read whole.

        Raises:
            ConnectError, TimeoutException: the client asks the next node.
            DeadlinePassedError: the time for all of them is over.
        """
        status, found, body = self._send(method, url, params, content, headers)
        return Response(status, found, b"".join(body))

    def stream(
        self, method: str, url: str, *, params: Mapping[str, object] | None, headers: Mapping[str, str]
    ) -> tuple[int, Iterator[bytes]]:
        """The status of an answer, and its body as it comes; the limit holds for each piece."""
        status, _, body = self._send(method, url, params, None, headers)
        return status, body

    def close(self) -> None:
        """Close every connection."""
        for one in self._open.values():
            one.close()
        self._open.clear()

    __del__ = close

    def _send(
        self,
        method: str,
        url: str,
        params: Mapping[str, object] | None,
        content: str | bytes | None,
        headers: Mapping[str, str] | None,
    ) -> tuple[int, dict[str, str], Iterator[bytes]]:
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        host, port = parts.hostname or "", parts.port or (443 if secure else 80)
        key = (parts.scheme, host, port)
        until = self._share()
        path = (parts.path or "/") + ("?" + _query(params) if params else "")
        body = content.encode() if isinstance(content, str) else content or b""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {parts.netloc}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        if body:
            lines.append("Content-Type: application/json")
        message = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body
        # The node may have closed a connection that was kept: then, and only then, once more on a new one.
        for fresh in (key not in self._open, True):
            link = self._open.pop(key, None) or _connect(host, port, secure, self.left(until))
            try:
                link.settimeout(self.left(until))
                link.sendall(message)
                status, found, rest = self._head(link, until)
                break
            except TimeoutError:
                link.close()
                raise self._late(url) from None
            except (OSError, ConnectError) as error:
                link.close()
                if fresh:
                    raise ConnectError(f"{_node(url)}: {error}") from None
        return status, found, self._body(link, key, found, rest)

    def _share(self) -> float:
        """Until when this node may take: an equal share of what is left for it and those still to be tried."""
        now = time.monotonic()
        if not self._until:
            self.begin()
        left = self._until - now
        if left <= 0:
            raise DeadlinePassedError
        others = max(self._nodes - self._attempts, 1)
        self._attempts += 1
        return now + left / others

    def left(self, until: float = 0.0) -> float:
        """Seconds until then, by default until all must be done; raises TimeoutError where that has passed."""
        left = (until or self._until) - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _late(self, url: str) -> Exception:
        if time.monotonic() >= self._until:
            return DeadlinePassedError()
        return TimeoutException(f"{_node(url)} took too long")

    def _head(self, link: socket.socket, until: float) -> tuple[int, dict[str, str], bytes]:
        data = b""
        while b"\r\n\r\n" not in data:
            link.settimeout(self.left(until))
            piece = link.recv(_CHUNK)
            if not piece or len(data) > _HEADER_BYTES:
                raise ConnectError("the connection was closed")
            data += piece
        head, _, rest = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        words = first.split(" ", 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
            raise ConnectError("what answers there does not speak HTTP")
        found = {}
        for line in lines:
            name, _, value = line.partition(":")
            found[name.strip().lower()] = value.strip()
        return int(words[1]), found, rest

    def _body(
        self, link: socket.socket, key: tuple[str, str, int], headers: dict[str, str], rest: bytes
    ) -> Iterator[bytes]:
        return _pieces(_Reader(link, rest, self), headers, lambda: self._keep(key, link, headers))

    def _keep(self, key: tuple[str, str, int], link: socket.socket, headers: dict[str, str]) -> None:
        if headers.get("connection", "").lower() == "close" or key in self._open:
            link.close()
        else:
            self._open[key] = link


class _Reader:
    """Bytes of one answer, in order."""

    __slots__ = ("_link", "_rest", "_transport")

    def __init__(self, link: socket.socket, rest: bytes, transport: Transport) -> None:
        self._link = link
        self._rest = rest
        self._transport = transport

    def some(self, most: int) -> bytes:
        """Up to `most` bytes; b"" at the end."""
        if self._rest:
            piece, self._rest = self._rest[:most], self._rest[most:]
            return piece
        try:
            self._link.settimeout(self._transport.left())
            return self._link.recv(min(most, _CHUNK))
        except TimeoutError:
            raise DeadlinePassedError from None
        except OSError as error:
            raise ConnectError(str(error)) from None

    def close(self) -> None:
        """Close the connection."""
        self._link.close()

    def exactly(self, count: int) -> Iterator[bytes]:
        """Pieces of `count` bytes in all."""
        while count:
            piece = self.some(count)
            if not piece:
                raise ConnectError("the connection was closed in the middle of an answer")
            count -= len(piece)
            yield piece

    def line(self) -> bytes:
        """Up to the next line end, which is taken too."""
        while b"\r\n" not in self._rest:
            rest, self._rest = self._rest, b""
            piece = self.some(_CHUNK)
            if not piece or len(rest) > _HEADER_BYTES:
                raise ConnectError("the connection was closed in the middle of an answer")
            self._rest = rest + piece
        line, _, self._rest = self._rest.partition(b"\r\n")
        return line


def _pieces(reader: _Reader, headers: dict[str, str], done: Callable[[], None]) -> Iterator[bytes]:
    try:
        yield from _framed(reader, headers)
    except BaseException:  # a reader that stops in the middle, too
        reader.close()
        raise
    done()


def _framed(reader: _Reader, headers: dict[str, str]) -> Iterator[bytes]:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        while True:
            try:
                size = int(reader.line().split(b";")[0], 16)
            except ValueError:
                raise ConnectError("an answer that is no HTTP") from None
            if not size:
                reader.line()
                break
            yield from reader.exactly(size)
            reader.line()
    elif "content-length" in headers:
        yield from reader.exactly(int(headers["content-length"]))
    else:
        headers["connection"] = "close"
        while piece := reader.some(_CHUNK):
            yield piece


def _connect(host: str, port: int, secure: bool, timeout: float) -> socket.socket:
    try:
        link = socket.create_connection((host, port), timeout)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if secure:
            import ssl

            return ssl.create_default_context().wrap_socket(link, server_hostname=host)
        return link
    except TimeoutError:
        raise TimeoutException(f"{host}:{port} took too long") from None
    except OSError as error:
        raise ConnectError(f"{host}:{port}: {error.strerror or error}") from None


def _query(params: Mapping[str, object]) -> str:
    return "&".join(f"{quote(name, safe='')}={quote(str(value), safe='')}" for name, value in params.items())


def _node(url: str) -> str:
    parts = urlsplit(url)
    return parts.netloc
