"""HTTP/1.1 to the nodes of a cluster, with one time limit on a whole request, retries on other nodes included.

For the hot path: `http.client` costs more than bare Python to import, httpx several times that. Neither knows a limit
on a whole request, so that a node that sends a byte now and then would hold up a recall for ever.
"""

from __future__ import annotations

import socket
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.store.typesense.connection import Node, Nodes

_CHUNK = 262_144
_HEADER_BYTES = 65_536


class NoAnswerError(Exception):
    """No node answered in time."""


class _NotHTTPError(Exception):
    """What a node sent is no HTTP, or not the whole of it."""


class Transport:
    """Sends requests to the first node that answers, over one kept connection a node.

    Args:
        key: goes into the header of each request.
        limit_s: seconds that a request may take in all; may be changed between requests.
    """

    __slots__ = ("_kept", "_key", "_nodes", "limit_s")

    def __init__(self, nodes: Nodes, key: str, limit_s: float) -> None:
        self.limit_s = limit_s
        self._key = key
        self._nodes = list(nodes.all)
        self._kept: dict[Node, _Connection] = {}

    def request(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and body of the first answer below 500, else of the last one.

        Raises:
            NoAnswerError: no node answered in time.
        """
        status, pieces = self._ask(method, path, body, whole=True)
        return status, b"".join(pieces)

    def stream(self, method: str, path: str) -> tuple[int, Iterator[bytes]]:
        """As `request`, with the body as it comes; the limit holds for each piece.

        Raises:
            NoAnswerError: likewise; the iterator raises it too.
        """
        return self._ask(method, path, b"", whole=False)

    def close(self) -> None:
        """Close every connection."""
        for link in self._kept.values():
            link.close()
        self._kept.clear()

    __del__ = close

    def _ask(self, method: str, path: str, body: bytes, *, whole: bool) -> tuple[int, Iterator[bytes]]:
        until = time.monotonic() + self.limit_s
        reason = ""
        failed: tuple[int, Iterator[bytes]] | None = None
        for asked, node in enumerate(self._nodes):
            now = time.monotonic()
            if now >= until:
                break
            # A silent node must not use up the time of the others.
            share = now + (until - now) / (len(self._nodes) - asked)
            try:
                link, status, headers = self._exchange(node, self._message(node, method, path, body), share)
                link.until = until
                pieces = self._body(node, link, headers)
                answer = status, iter([b"".join(pieces)]) if whole else self._streamed(link, pieces)
            except TimeoutError:
                reason = f"{node.address} took too long"
            except (OSError, _NotHTTPError) as error:
                reason = f"{node.address}: {error}"
            else:
                if status < 500:
                    self._nodes.remove(node)
                    self._nodes.insert(0, node)  # the next request begins with it
                    return answer
                failed = answer
        if failed:
            return failed
        raise NoAnswerError("no answer in time" if time.monotonic() >= until else reason)

    def _message(self, node: Node, method: str, path: str, body: bytes) -> bytes:
        lines = (
            f"{method} {node.path}{path} HTTP/1.1",
            f"Host: {node.address}",
            f"X-TYPESENSE-API-KEY: {self._key}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        )
        return "\r\n".join((*lines, "", "")).encode("latin-1") + body

    def _exchange(self, node: Node, message: bytes, until: float) -> tuple[_Connection, int, dict[str, str]]:
        """Send a request; the connection, and the status and headers of the answer."""
        kept = self._kept.pop(node, None)
        if kept is not None:
            try:
                return kept, *kept.exchange(message, until)
            except TimeoutError:
                raise
            except (OSError, _NotHTTPError):
                pass  # the node may have closed it meanwhile: once more on a new one
        link = _Connection(_connect(node, _left(until)))
        return link, *link.exchange(message, until)

    def _body(self, node: Node, link: _Connection, headers: dict[str, str]) -> Iterator[bytes]:
        try:
            yield from link.body(headers)
        except BaseException:  # a reader that stops in the middle, too
            link.close()
            raise
        if headers.get("connection", "").lower() == "close" or node in self._kept:
            link.close()
        else:
            self._kept[node] = link

    def _streamed(self, link: _Connection, pieces: Iterator[bytes]) -> Iterator[bytes]:
        while True:
            link.until = time.monotonic() + self.limit_s
            try:
                piece = next(pieces, b"")
            except TimeoutError:
                raise NoAnswerError("no answer in time") from None
            except (OSError, _NotHTTPError) as error:
                raise NoAnswerError(str(error)) from None
            if not piece:
                return
            yield piece


class _Connection:
    """A connection to a node, read through a buffer; whatever is done with it must be done by `until`."""

    __slots__ = ("_buffer", "_socket", "until")

    def __init__(self, link: socket.socket) -> None:
        self._socket = link
        self._buffer = b""
        self.until = 0.0

    def close(self) -> None:
        self._socket.close()

    def exchange(self, message: bytes, until: float) -> tuple[int, dict[str, str]]:
        """Send a request, and read status and headers (by lower-case name) of the answer; closes itself on a fault."""
        self.until = until
        try:
            self._socket.settimeout(_left(until))
            self._socket.sendall(message)
            return self._head()
        except BaseException:
            self.close()
            raise

    def body(self, headers: dict[str, str]) -> Iterator[bytes]:
        """The body that follows the headers, in pieces."""
        if headers.get("transfer-encoding", "").lower() == "chunked":
            while size := _number(self._line().split(b";")[0], 16):
                yield from self._exactly(size)
                self._line()
            self._line()
        elif "content-length" in headers:
            yield from self._exactly(_number(headers["content-length"], 10))
        else:
            headers["connection"] = "close"
            while piece := self._some(_CHUNK):
                yield piece

    def _head(self) -> tuple[int, dict[str, str]]:
        words = self._line().decode("latin-1").split(" ", 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
            raise _NotHTTPError("what answers there does not speak HTTP")
        headers: dict[str, str] = {}
        while line := self._line().decode("latin-1"):
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        return int(words[1]), headers

    def _line(self) -> bytes:
        """Up to the next line end, which is dropped."""
        while b"\r\n" not in self._buffer:
            rest, self._buffer = self._buffer, b""
            piece = self._some(_CHUNK)
            if not piece or len(rest) > _HEADER_BYTES:
                raise _NotHTTPError("the connection was closed")
            self._buffer = rest + piece
        line, _, self._buffer = self._buffer.partition(b"\r\n")
        return line

    def _exactly(self, count: int) -> Iterator[bytes]:
        """Pieces of `count` bytes in all."""
        while count:
            piece = self._some(count)
            if not piece:
                raise _NotHTTPError("the connection was closed in the middle of an answer")
            count -= len(piece)
            yield piece

    def _some(self, most: int) -> bytes:
        """Up to `most` bytes; b"" at the end."""
        if self._buffer:
            piece, self._buffer = self._buffer[:most], self._buffer[most:]
            return piece
        self._socket.settimeout(_left(self.until))
        return self._socket.recv(min(most, _CHUNK))


def _connect(node: Node, seconds: float) -> socket.socket:
    link = socket.create_connection((node.host, node.port), seconds)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if node.secure:
        import ssl

        return ssl.create_default_context().wrap_socket(link, server_hostname=node.host)
    return link


def _number(text: str | bytes, base: int) -> int:
    try:
        return int(text, base)
    except ValueError:
        raise _NotHTTPError("an answer that is no HTTP") from None


def _left(until: float) -> float:
    """Seconds until then; raises TimeoutError where that has passed."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
