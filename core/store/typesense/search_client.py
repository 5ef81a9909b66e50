"""Searches a cluster over `http.client`: the official client costs 13 x bare Python to import. Hot path."""

from __future__ import annotations

import http.client
import time
from urllib.parse import quote, urlsplit

from core import json_text
from core.store.typesense import connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from core.config import Config

    Row = dict[str, Any]

_CHUNK = 65_536
_FAULTS = (OSError, http.client.HTTPException)


def connect(config: Config, *, limit_s: float | None = None) -> SearchClient:
    """A client for the cluster of the settings; nothing is sent yet.

    Args:
        limit_s: seconds that all its requests may take together; by default `store.timeout_ms`.

    Raises:
        Failure: TYPESENSE_API_KEY_MISSING; CONFIG_INVALID.
    """
    limit = config.get_float("store.timeout_ms") / 1000 if limit_s is None else limit_s
    return SearchClient(
        connection.nodes(config), connection.key(config), prefix=config.get_str("store.prefix"), limit_s=limit
    )


class SearchClient:
    """Asks the first node that answers, over one connection.

    Its methods raise Failure: TYPESENSE_UNREACHABLE (no node answers in time), TYPESENSE_UNAUTHORIZED,
    TYPESENSE_NOT_INITIALISED (a collection is missing), TYPESENSE_REFUSED (anything else that the server said no to).

    Args:
        prefix: what the names of the collections begin with on the server.
        limit_s: seconds that all requests may take together, other nodes included.
    """

    def __init__(self, nodes: Sequence[str], key: str, *, prefix: str = "", limit_s: float) -> None:
        self.nodes = list(nodes)
        self.prefix = prefix
        self._headers = {"X-TYPESENSE-API-KEY": key, "Content-Type": "application/json"}
        self._limit_s = limit_s
        self._until = time.monotonic() + limit_s
        self._kept: http.client.HTTPConnection | None = None

    def multi_search(self, searches: Sequence[Mapping[str, Any]]) -> list[Row]:
        """The answers to several searches in one request; each names its `collection`, without prefix."""
        if not searches:
            return []
        named = [{**search, "collection": self.prefix + search["collection"]} for search in searches]
        body = json_text.dumps({"searches": named}).encode()
        answer = self._answer("POST", f"/multi_search?limit_multi_searches={len(named)}", body)
        results: list[Row] = answer["results"]
        for result in results:
            if "error" in result:
                raise connection.refusal(self.nodes, int(result.get("code", 400)), str(result["error"]))
        return results

    def retrieve(self, collection: str, identifier: str) -> Row | None:
        """A document by its id, None where there is none."""
        path = f"/collections/{self.prefix}{collection}/documents/{quote(identifier, safe='')}"
        found: Row | None = self._answer("GET", path, missing="Could not find a document")
        return found

    def ping(self) -> None:
        """See that a node answers, healthy or not."""
        status, _ = self._ask("GET", "/health", b"")
        if status >= 500:
            raise connection.unreachable(self.nodes, f"status {status}")

    def lines(self, path: str) -> Iterator[bytes]:
        """The lines of a long answer as they come; here the limit holds for each read."""
        why = ""
        for node in self.nodes:
            link = _link(node, self._limit_s)
            try:
                link.request("GET", urlsplit(node).path + path, headers=self._headers)
                response = link.getresponse()
                if response.status < 500:
                    if response.status != 200:
                        raise connection.refusal(self.nodes, response.status, _message(response.read()))
                    yield from response
                    return
                why = f"status {response.status}"
            except ConnectionRefusedError as error:
                why = str(error)
            except _FAULTS as error:  # in the middle of an answer, perhaps: no second node goes on there
                raise connection.unreachable(self.nodes, str(error)) from None
            finally:
                link.close()
        raise connection.unreachable(self.nodes, why)

    def close(self) -> None:
        """Close the connection."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _answer(self, method: str, path: str, body: bytes = b"", *, missing: str = "") -> Any:
        status, data = self._ask(method, path, body)
        if status == 404 and missing and missing in _message(data):
            return None
        if not 200 <= status < 300:
            raise connection.refusal(self.nodes, status, _message(data))
        try:
            return json_text.loads(data)
        except json_text.InvalidJSON:
            raise connection.unreachable(self.nodes, "what answers there is no Typesense") from None

    def _ask(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of the first answer below 500, else of the last one."""
        why = "no answer in time"
        failed: tuple[int, bytes] | None = None
        for number, node in enumerate(list(self.nodes)):
            now = time.monotonic()
            if now >= self._until:
                break
            # A silent node must not use up the time of the others.
            until = now + (self._until - now) / (len(self.nodes) - number)
            try:
                answer = self._ask_node(node, method, path, body, until)
            except TimeoutError:
                why = f"{urlsplit(node).netloc} took too long"
            except _FAULTS as error:
                why = f"{urlsplit(node).netloc}: {error}"
            else:
                if answer[0] < 500:
                    self.nodes.insert(0, self.nodes.pop(number))  # the next request begins with it
                    return answer
                failed = answer
            self.close()
        if failed is not None:
            return failed
        raise connection.unreachable(self.nodes, why)

    def _ask_node(self, node: str, method: str, path: str, body: bytes, until: float) -> tuple[int, bytes]:
        whole = urlsplit(node).path + path
        if self._kept is not None:
            try:
                return self._exchange(self._kept, method, whole, body, until)
            except TimeoutError:
                raise
            except _FAULTS:
                self.close()  # the node may have closed it meanwhile: once more on a new one
        self._kept = _link(node, _left(until))
        self._kept.connect()
        return self._exchange(self._kept, method, whole, body, until)

    def _exchange(
        self, link: http.client.HTTPConnection, method: str, path: str, body: bytes, until: float
    ) -> tuple[int, bytes]:
        socket = link.sock
        socket.settimeout(_left(until))
        link.request(method, path, body, self._headers)
        response = link.getresponse()
        pieces = []
        while piece := response.read1(_CHUNK):
            pieces.append(piece)
            socket.settimeout(_left(until))
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
        if response.will_close:
            self.close()
        return response.status, b"".join(pieces)


def _link(node: str, seconds: float) -> http.client.HTTPConnection:
    parts = urlsplit(node)
    made = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return made(parts.netloc, timeout=seconds)


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _message(data: bytes) -> str:
    try:
        return str(json_text.loads(data)["message"])
    except (ValueError, KeyError, TypeError):
        return ""
