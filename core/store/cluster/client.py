"""Access to the cluster for recall: its nodes and key, the search client, and what its errors mean. Hot path."""

from __future__ import annotations

import http.client
import os
import time
from urllib.parse import urlsplit

from core import TYPE_CHECKING, json_text
from core.errors import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from core.config import Config

    Row = dict[str, Any]
    """A document as the server has it."""

UNREACHABLE = "TYPESENSE_UNREACHABLE"
KEY_MISSING = "TYPESENSE_API_KEY_MISSING"
UNAUTHORIZED = "TYPESENSE_UNAUTHORIZED"
NOT_INITIALISED = "TYPESENSE_NOT_INITIALISED"
REFUSED = "TYPESENSE_REFUSED"
PAGE = 250  # documents in an answer, the server's maximum

NETWORK_ERRORS = (OSError, http.client.HTTPException)


def nodes(config: Config) -> list[str]:
    """The node URLs of JOELCLAW_STORE_URLS, TYPESENSE_URL, config.toml or the default. See `parse_nodes`."""
    return parse_nodes(_configured_urls(config))


def parse_nodes(text: str) -> list[str]:
    """Return comma-separated URLs in the form `http://host:port/path`. Raises Failure: CONFIG_INVALID."""
    urls = []
    for url in filter(None, (part.strip().rstrip("/") for part in text.split(","))):
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            raise _invalid_url(url) from None
        if parts.scheme not in ("http", "https") or not parts.hostname or any(sign in url for sign in "@?# "):
            raise _invalid_url(url)
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        urls.append(f"{parts.scheme}://{host}:{port}{parts.path}")
    if not urls:
        raise _invalid_url(text)
    return urls


def api_key(config: Config) -> str:
    """The key from the environment or from `store.key_command`. Raises Failure: TYPESENSE_API_KEY_MISSING."""
    key = os.environ.get("TYPESENSE_API_KEY", "").strip()
    command = config.get_str("store.key_command").strip()
    if not key and command:
        key = _output_of(command)
    if not key or not key.isascii() or not key.isprintable():
        raise Failure(
            KEY_MISSING,
            "the cluster's key contains invalid characters" if key else "the cluster's key is not set",
            "set TYPESENSE_API_KEY, or set store.key_command in config.toml to a command that prints it",
        )
    return key


def connect(config: Config, *, limit_s: float) -> SearchClient:
    """A client for the configured cluster. Nothing is sent yet."""
    return SearchClient(nodes(config), api_key(config), prefix=config.get_str("store.prefix"), limit_s=limit_s)


def unreachable(nodes: Sequence[str], reason: str) -> Failure:
    """The failure to raise when no node answers."""
    return Failure(
        UNREACHABLE,
        f"the Typesense cluster ({', '.join(node.partition('://')[2] for node in nodes)}) cannot be reached: {reason}",
        "check that it runs, and store.urls (TYPESENSE_URL); recall uses the local file meanwhile",
    )


def refusal(nodes: Sequence[str], status: int, message: str) -> Failure:
    """The failure for an HTTP status of the server."""
    message = " ".join(message.split())[:200]
    if status in (401, 403):
        return Failure(UNAUTHORIZED, "the Typesense cluster refuses the key", "check TYPESENSE_API_KEY")
    if status == 404:
        return Failure(NOT_INITIALISED, f"the Typesense cluster reports: {message}", "run `joelclaw store init`")
    if status >= 500 or status == 0:
        return unreachable(nodes, message or f"status {status}")
    return Failure(
        REFUSED,
        f"the Typesense cluster refuses the request ({status}): {message}",
        "run `joelclaw store init`; if that does not help, report this",
    )


class SearchClient:
    """Searches the first node that answers, within `limit_s` seconds for all requests together."""

    def __init__(self, nodes: Sequence[str], key: str, *, prefix: str = "", limit_s: float) -> None:
        self.nodes = list(nodes)
        self.prefix = prefix
        self._headers = {"X-TYPESENSE-API-KEY": key, "Content-Type": "application/json"}
        self._deadline = time.monotonic() + limit_s

    def multi_search(self, searches: Sequence[Mapping[str, Any]]) -> list[Row]:
        """Run several searches in a single request. Each names its `collection` without the prefix."""
        if not searches:
            return []
        prefixed = [{**search, "collection": self.prefix + search["collection"]} for search in searches]
        body = json_text.dumps({"searches": prefixed}).encode()
        answer = self._request("POST", f"/multi_search?limit_multi_searches={len(prefixed)}", body)
        results: list[Row] = answer["results"]
        for result in results:
            if "error" in result:
                raise refusal(self.nodes, int(result["code"]), str(result["error"]))
        return results

    def documents(self, ids_by_collection: Mapping[str, Sequence[str]]) -> list[tuple[str, Row]]:
        """Fetch documents by collection (without the prefix) and id. Missing ones are left out."""
        documents: list[tuple[str, Row]] = []
        searches = []
        for collection, ids in ids_by_collection.items():
            quoted = [f"`{document_id}`" for document_id in ids if "`" not in document_id]  # a filter cannot quote it
            for start in range(0, len(quoted), PAGE):
                by_id = f"id:=[{','.join(quoted[start : start + PAGE])}]"
                searches.append({"collection": collection, "q": "*", "filter_by": by_id, "per_page": PAGE})
        for search, answer in zip(searches, self.multi_search(searches), strict=True):
            documents += [(str(search["collection"]), hit["document"]) for hit in answer["hits"]]
        return documents

    def ping(self) -> None:
        """Check that a node answers, healthy or not. Raises Failure: TYPESENSE_UNREACHABLE."""
        status, _ = self._ask_nodes("GET", "/health", b"")
        if status >= 500:
            raise unreachable(self.nodes, f"status {status}")

    def _request(self, method: str, path: str, body: bytes) -> Any:
        status, data = self._ask_nodes(method, path, body)
        if not 200 <= status < 300:
            raise refusal(self.nodes, status, error_message(data))
        try:
            return json_text.loads(data)
        except json_text.InvalidJSON:
            raise unreachable(self.nodes, "the server there is not Typesense") from None

    def _ask_nodes(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        reason = "no answer in time"
        server_error: tuple[int, bytes] | None = None
        for number, node in enumerate(list(self.nodes)):
            now = time.monotonic()
            # Share the time that is left, so that a silent node does not use up that of the others.
            deadline = now + (self._deadline - now) / (len(self.nodes) - number)
            try:
                answer = self._ask_node(node, method, path, body, deadline)
            except TimeoutError:
                reason = f"{urlsplit(node).netloc} took too long"
            except NETWORK_ERRORS as error:
                reason = f"{urlsplit(node).netloc}: {error}"
            else:
                if answer[0] < 500:
                    self.nodes.insert(0, self.nodes.pop(number))  # begin the next request with this node
                    return answer
                server_error = answer
        if server_error is not None:
            return server_error
        raise unreachable(self.nodes, reason)

    def _ask_node(self, node: str, method: str, path: str, body: bytes, deadline: float) -> tuple[int, bytes]:
        connection = _connection_to(node, _seconds_until(deadline))
        try:
            connection.connect()
            socket = connection.sock
            connection.request(method, urlsplit(node).path + path, body, self._headers)
            response = connection.getresponse()
            pieces = []
            while piece := response.read1(65_536):
                pieces.append(piece)
                socket.settimeout(_seconds_until(deadline))
            if response.length:
                raise http.client.IncompleteRead(b"", response.length)
            return response.status, b"".join(pieces)
        finally:
            connection.close()


def _configured_urls(config: Config) -> str:
    return os.environ.get("JOELCLAW_STORE_URLS") or os.environ.get("TYPESENSE_URL") or config.get_str("store.urls")


def _invalid_url(url: str) -> Failure:
    shown = url.rpartition("@")[2][:100]  # a URL may contain a user name and a password
    return Failure(
        "CONFIG_INVALID",
        f"store.urls (TYPESENSE_URL) contains {shown!r}, which is not the URL of a node",
        "set it to http://host:8108, several nodes comma-separated; the key goes into TYPESENSE_API_KEY",
    )


def _output_of(command: str) -> str:
    import shlex
    import subprocess

    reason = ""
    try:
        done = subprocess.run(  # noqa: S603  # the user's own command, from the user's own file
            shlex.split(command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10.0,
            check=False,
        )
        reason = f"exit code {done.returncode}" if done.returncode else ""
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        reason = type(error).__name__
    if reason:  # quote neither the command nor its output: either may contain the key
        fix = "run it by hand: it must print the key and exit with 0"
        raise Failure(KEY_MISSING, f"store.key_command failed ({reason})", fix)
    return done.stdout.decode("utf-8", "replace").strip()


def _connection_to(node: str, timeout_s: float) -> http.client.HTTPConnection:
    parts = urlsplit(node)
    scheme = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return scheme(parts.netloc, timeout=timeout_s)


def _seconds_until(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def error_message(data: bytes) -> str:
    """The message in a JSON answer of the server, "" if there is none."""
    try:
        return str(json_text.loads(data)["message"])
    except (ValueError, KeyError, TypeError):
        return ""
