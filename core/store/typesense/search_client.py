"""Searches a cluster by the standard library alone: the official client costs 13 x bare Python to import. Hot path."""

from __future__ import annotations

from core import json_text
from core.errors import Failure
from core.store.typesense import connection
from core.store.typesense.transport import NoAnswerError, Transport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from core.config import Config
    from core.store.typesense.connection import Nodes, Row


def connect(config: Config, *, limit_s: float | None = None) -> SearchClient:
    """A client for the cluster of the settings; nothing is sent yet.

    Args:
        limit_s: seconds that one request may take in all; by default `store.timeout_ms`.

    Raises:
        Failure: TYPESENSE_API_KEY_MISSING; CONFIG_INVALID.
    """
    limit = config.number("store.timeout_ms") / 1000 if limit_s is None else limit_s
    return SearchClient(
        connection.nodes(config), connection.key(config), prefix=config.text("store.prefix"), limit_s=limit
    )


class SearchClient:
    """Searches and reads documents.

    Its methods raise Failure: TYPESENSE_UNREACHABLE (no node answers in time), TYPESENSE_UNAUTHORIZED,
    TYPESENSE_NOT_INITIALISED (a collection is missing), TYPESENSE_REFUSED (anything else that the server said no to).

    Args:
        prefix: what the names of the collections begin with on the server.
        limit_s: seconds that one request may take in all, retries on other nodes included.
    """

    __slots__ = ("_transport", "nodes", "prefix")

    def __init__(self, nodes: Nodes, key: str, *, prefix: str = "", limit_s: float) -> None:
        self.nodes = nodes
        self.prefix = prefix
        self._transport = Transport(nodes, key, limit_s)

    def within(self, limit_s: float) -> None:
        """Let each further request take that long in all."""
        self._transport.limit_s = limit_s

    def multi_search(self, searches: Sequence[Mapping[str, Any]]) -> list[Row]:
        """The answers to several searches in one request; each names its `collection`, without prefix."""
        named = [{**search, "collection": self.prefix + search["collection"]} for search in searches]
        body = json_text.dumps({"searches": named}).encode()
        answer = self._ask("POST", f"/multi_search?limit_multi_searches={max(len(named), 1)}", body)
        results: list[Row] = answer["results"]
        for result in results:
            if "error" in result:
                raise connection.refusal(self.nodes, int(result.get("code", 400)), str(result["error"]))
        return results

    def retrieve(self, collection: str, identifier: str) -> Row | None:
        """A document by its id, None where there is none."""
        from urllib.parse import quote  # seldom needed: an id with a backtick

        path = f"/collections/{self.prefix}{collection}/documents/{quote(identifier, safe='')}"
        try:
            found: Row = self._ask("GET", path)
        except Failure as failure:
            if connection.is_missing_document(failure):
                return None
            raise
        return found

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def _ask(self, method: str, path: str, body: bytes = b"") -> Any:
        try:
            status, data = self._transport.request(method, path, body)
            answer = json_text.loads(data)
        except NoAnswerError as error:
            raise connection.unreachable(self.nodes, str(error)) from None
        except json_text.InvalidJSON:
            raise connection.unreachable(self.nodes, "what answers there is no Typesense") from None
        if not 200 <= status < 300:
            message = answer.get("message") if isinstance(answer, dict) else ""
            raise connection.refusal(self.nodes, status, str(message))
        return answer
