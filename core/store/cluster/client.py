"""Where the cluster is, which key it takes, what its faults mean, and how it is searched. Hot path."""

from __future__ import annotations

import http.client
import os
import time
from contextlib import suppress
from urllib.parse import quote, urlsplit

from core import TYPE_CHECKING, clock, files, json_text
from core.errors import Failure
from core.store.cluster.mapping import COLLECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from core.config import Config
    from core.store.cluster.mapping import Row

UNREACHABLE = "TYPESENSE_UNREACHABLE"
KEY_MISSING = "TYPESENSE_API_KEY_MISSING"
UNAUTHORIZED = "TYPESENSE_UNAUTHORIZED"
NOT_INITIALISED = "TYPESENSE_NOT_INITIALISED"
REFUSED = "TYPESENSE_REFUSED"
_OF_CLUSTER = (UNREACHABLE, UNAUTHORIZED, NOT_INITIALISED, KEY_MISSING)
_HOLDS_MS = 10_000
"""How long a failing cluster is left alone, so that not every hook waits for it."""
PAGE = 250
"""Documents of one answer, the most that the server gives."""
_KEY_COMMAND_S = 10.0
_LONGEST_MESSAGE = 200
_CHUNK = 65_536
_FAULTS = (OSError, http.client.HTTPException)


def _given(config: Config) -> str:
    return os.environ.get("JOELCLAW_STORE_URLS") or os.environ.get("TYPESENSE_URL") or config.get_str("store.urls")


def nodes(config: Config) -> list[str]:
    """The nodes of JOELCLAW_STORE_URLS, TYPESENSE_URL, config.toml, or the default; see `parse_nodes`."""
    return parse_nodes(_given(config))


def parse_nodes(text: str) -> list[str]:
    """Each of comma-separated URLs as `http://host:port/path`. Raises Failure: CONFIG_INVALID."""
    found = []
    for url in filter(None, (part.strip().rstrip("/") for part in text.split(","))):
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            raise _bad_url(url) from None
        if parts.scheme not in ("http", "https") or not parts.hostname or any(sign in url for sign in "@?# "):
            raise _bad_url(url)
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        found.append(f"{parts.scheme}://{host}:{port}{parts.path}")
    if not found:
        raise _bad_url(text)
    return found


def _bad_url(url: str) -> Failure:
    shown = url.rpartition("@")[2][:100]  # without the user name and password that a URL may hold
    return Failure(
        "CONFIG_INVALID",
        f"store.urls (TYPESENSE_URL) holds {shown!r}, which is no node's URL",
        "set it to http://host:8108, several nodes comma-separated; the key goes into TYPESENSE_API_KEY",
    )


def key(config: Config) -> str:
    """The key of the settings. Raises Failure: TYPESENSE_API_KEY_MISSING."""
    found = os.environ.get("TYPESENSE_API_KEY", "").strip()
    command = config.get_str("store.key_command").strip()
    if not found and command:
        found = _printed(command)
    if not found or not found.isascii() or not found.isprintable():
        raise Failure(
            KEY_MISSING,
            "the cluster's key has characters that a key cannot have" if found else "the cluster's key is not set",
            "set TYPESENSE_API_KEY, or store.key_command in config.toml to a command that prints it",
        )
    return found


def _printed(command: str) -> str:
    import shlex
    import subprocess

    why = ""
    try:
        done = subprocess.run(  # noqa: S603  # the user's own command, from the user's own file
            shlex.split(command), stdin=subprocess.DEVNULL, capture_output=True, timeout=_KEY_COMMAND_S, check=False
        )
        why = f"exit code {done.returncode}" if done.returncode else ""
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        why = type(error).__name__
    if why:  # neither what it printed nor its words: either may hold the key
        raise Failure(KEY_MISSING, f"store.key_command failed ({why})", "run it by hand: it must print the key, exit 0")
    return done.stdout.decode("utf-8", "replace").strip()


def unreachable(nodes: Sequence[str], why: str) -> Failure:
    """The Failure when no node answers."""
    return Failure(
        UNREACHABLE,
        f"the Typesense cluster ({', '.join(node.partition('://')[2] for node in nodes)}) cannot be reached: {why}",
        "check that it runs, and store.urls (TYPESENSE_URL); recall uses the local file meanwhile",
    )


def refusal(nodes: Sequence[str], status: int, message: str) -> Failure:
    """The Failure when the server refuses."""
    said = " ".join(message.split())[:_LONGEST_MESSAGE]
    if status in (401, 403):
        return Failure(UNAUTHORIZED, "the Typesense cluster refuses the key", "check TYPESENSE_API_KEY")
    if status == 404:
        return Failure(NOT_INITIALISED, f"the Typesense cluster reports: {said}", "run `joelclaw store init`")
    if status >= 500 or status == 0:
        return unreachable(nodes, said or f"status {status}")
    return Failure(
        REFUSED,
        f"the Typesense cluster refuses the request ({status}): {said}",
        "run `joelclaw store init`; if that changes nothing, report this",
    )


def recent_fault(config: Config) -> Failure | None:
    """A recent fault of this cluster."""
    try:
        with open(_down(), "rb") as handle:
            kept = json_text.loads(handle.read())
        if kept["nodes"] == _asked_as(config) and 0 <= clock.now_ms() - kept["at"] < _HOLDS_MS:
            return Failure(str(kept["code"]), str(kept["message"]), "wait a few seconds")
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def note_fault(config: Config, code: str, message: str) -> None:
    """Remember a fault of the cluster itself, not of one query."""
    if code not in _OF_CLUSTER or recent_fault(config) is not None:
        return
    kept = {"nodes": _asked_as(config), "at": clock.now_ms(), "code": code, "message": message}
    with suppress(OSError):  # the next one finds out again
        files.write_whole(_down(), json_text.dumps(kept).encode())


def forget_fault() -> None:
    """The cluster answers."""
    files.remove(_down())


def _down() -> str:
    return os.path.join(files.home(), "cache", "typesense-down.json")


def _asked_as(config: Config) -> str:
    """Identifies a cluster and the source of its key, without holding the key."""
    keyed = "key" if os.environ.get("TYPESENSE_API_KEY") else "command"
    return f"{_given(config)} {config.get_str('store.prefix')} {keyed}"


def connect(config: Config, *, limit_s: float) -> SearchClient:
    """A client for the cluster of the settings; nothing is sent yet."""
    return SearchClient(nodes(config), key(config), prefix=config.get_str("store.prefix"), limit_s=limit_s)


class SearchClient:
    """Asks the first node that answers, within `limit_s` for all requests together, or for each (`patient`)."""

    def __init__(
        self, nodes: Sequence[str], key: str, *, prefix: str = "", limit_s: float, patient: bool = False
    ) -> None:
        self.nodes = list(nodes)
        self.prefix = prefix
        self._headers = {"X-TYPESENSE-API-KEY": key, "Content-Type": "application/json"}
        self._limit_s = limit_s
        self._patient = patient
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
                raise refusal(self.nodes, int(result["code"]), str(result["error"]))
        return results

    def documents(self, wanted: Sequence[tuple[str, str]], **asked: str) -> dict[tuple[str, str], Row]:
        """The existing documents by collection (our name) and id; `asked` says which fields."""
        found: dict[tuple[str, str], Row] = {}
        searches = []
        for collection, name in COLLECTIONS.items():
            ids = [identifier for of, identifier in wanted if of == collection]
            for one in ids:
                if "`" in one:  # no filter can name it
                    path = f"/collections/{self.prefix}{name}/documents/{quote(one, safe='')}"
                    row = self._answer("GET", path, missing="Could not find a document")
                    found |= {(collection, one): row} if row else {}
            plain = [f"`{one}`" for one in ids if "`" not in one]
            for start in range(0, len(plain), PAGE):
                by_id = f"id:=[{','.join(plain[start : start + PAGE])}]"
                searches.append({**asked, "collection": name, "q": "*", "filter_by": by_id, "per_page": PAGE})
        ours = {name: collection for collection, name in COLLECTIONS.items()}
        for search, answer in zip(searches, self.multi_search(searches), strict=True):
            rows = [hit["document"] for hit in answer["hits"]]
            found |= {(ours[str(search["collection"])], str(row["id"])): row for row in rows}
        return found

    def ping(self) -> None:
        """Check that a node answers, healthy or not."""
        status, _ = self._ask("GET", "/health", b"")
        if status >= 500:
            raise unreachable(self.nodes, f"status {status}")

    def lines(self, path: str) -> Iterator[bytes]:
        """The lines of a long answer as they come, from the first node that has one; the limit applies to each read."""
        fault = unreachable(self.nodes, "no answer")
        for node in self.nodes:
            link = _link(node, self._limit_s)
            begun = False
            try:
                link.request("GET", urlsplit(node).path + path, headers=self._headers)
                response = link.getresponse()
                begun = response.status == 200
                if begun:
                    yield from response
                    return
                fault = refusal(self.nodes, response.status, _message(response.read()))
            except _FAULTS as error:
                fault = unreachable(self.nodes, str(error))
            finally:
                link.close()
            if begun or fault.code != UNREACHABLE:  # no second node goes on in the middle
                break
        raise fault

    def close(self) -> None:
        """Close the connection."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _answer(self, method: str, path: str, body: bytes = b"", *, missing: str = "") -> Any:
        if self._patient:
            self._until = time.monotonic() + self._limit_s
        status, data = self._ask(method, path, body)
        if status == 404 and missing and missing in _message(data):
            return None
        if not 200 <= status < 300:
            raise refusal(self.nodes, status, _message(data))
        try:
            return json_text.loads(data)
        except json_text.InvalidJSON:
            raise unreachable(self.nodes, "the server there is not Typesense") from None

    def _ask(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        why = "no answer in time"
        failed: tuple[int, bytes] | None = None
        for number, node in enumerate(list(self.nodes)):
            now = time.monotonic()
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
        raise unreachable(self.nodes, why)

    def _ask_node(self, node: str, method: str, path: str, body: bytes, until: float) -> tuple[int, bytes]:
        link, reused = self._kept, self._kept is not None
        if link is None:
            link = self._kept = _link(node, _left(until))
            link.connect()
        socket = link.sock
        try:
            socket.settimeout(_left(until))
            link.request(method, urlsplit(node).path + path, body, self._headers)
            pieces = []
            with link.getresponse() as response:  # not closed, Python 3.11.7 and 3.12.1 take no other on this link
                while piece := response.read1(_CHUNK):
                    pieces.append(piece)
                    socket.settimeout(_left(until))
            if response.length:
                raise http.client.IncompleteRead(b"", response.length)
        except _FAULTS as error:
            self.close()
            if not reused or isinstance(error, TimeoutError):
                raise
            return self._ask_node(node, method, path, body, until)  # the node may have closed it meanwhile
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
