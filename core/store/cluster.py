"""A Typesense cluster as a copy of the store: its nodes and key, a client that searches it, and the outbox.

The outbox is the queue of documents to push. Triggers fill it in the transaction of each write. An entry says only that
a document changed; the push sends the current document. Hot path.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

from core import TYPE_CHECKING, background, clock, files, json_text
from core.errors import Failure
from core.store import sqlite
from core.store.sqlite import COLLECTION_SHIFT, NAME_OF

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    import apsw

    from core.config import Config

    Row = dict[str, Any]
    """A document as the server has it."""
    Entry = tuple[int, str, str]
    """The number of an entry of the outbox, and the id and the collection of its document."""

NOT_INITIALISED = "TYPESENSE_NOT_INITIALISED"
REFUSED = "TYPESENSE_REFUSED"
PAGE = 250  # documents in an answer, the server's maximum, and in a push
MAX_ERROR_CHARS = 300
_NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"


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
        raise _key_failure(
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
        "TYPESENSE_UNREACHABLE",
        f"the Typesense cluster ({', '.join(node.partition('://')[2] for node in nodes)}) cannot be reached: {reason}",
        "check that it runs, and store.urls (TYPESENSE_URL); recall uses the local file meanwhile",
    )


def refusal(nodes: Sequence[str], status: int, message: str) -> Failure:
    """The failure for an HTTP status of the server."""
    message = " ".join(message.split())[:200]
    if status in (401, 403):
        return Failure("TYPESENSE_UNAUTHORIZED", "the Typesense cluster refuses the key", "check TYPESENSE_API_KEY")
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
            except OSError as error:
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
        import http.client  # `status` and `store prune` import this module, and need no connection

        parts = urlsplit(node)
        scheme = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = scheme(parts.netloc, timeout=_seconds_until(deadline))
        try:
            connection.connect()
            socket = connection.sock
            connection.request(method, parts.path + path, body, self._headers)
            response = connection.getresponse()
            pieces = []
            while piece := response.read1(65_536):
                pieces.append(piece)
                socket.settimeout(_seconds_until(deadline))
            if response.length:
                raise http.client.IncompleteRead(b"", response.length)
            return response.status, b"".join(pieces)
        except http.client.HTTPException as error:
            raise OSError(str(error)) from None
        finally:
            connection.close()


def error_message(data: bytes) -> str:
    """The message in a JSON answer of the server, "" if there is none."""
    try:
        return str(json_text.loads(data)["message"])
    except (ValueError, KeyError, TypeError):
        return ""


def has_outbox(db: apsw.Connection) -> bool:
    """Whether writes are queued for a cluster."""
    return bool(db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'outbox_updated'").get)


def create_outbox(db: apsw.Connection) -> None:
    """Queue every write from now on. The first time, queue all documents."""
    files.touch_private(background.outbox_lock())
    present = dict(db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'outbox_%'"))
    wanted = {
        "outbox_inserted": _trigger("outbox_inserted AFTER INSERT", "NEW"),
        "outbox_updated": _trigger("outbox_updated AFTER UPDATE", "NEW"),
        "outbox_deleted": _trigger("outbox_deleted AFTER DELETE", "OLD"),
    }
    if present == wanted:
        return
    with sqlite.transaction(db):  # triggers of an earlier version are replaced
        for name, statement in wanted.items():
            db.execute(f"DROP TRIGGER IF EXISTS {name}")
            db.execute(statement)
        if not present:
            _queue_documents(db)


def queue_everything(db: apsw.Connection) -> None:
    """Queue all documents again, for a cluster that has lost them."""
    with sqlite.transaction(db):
        _queue_documents(db)


@contextmanager
def without_outbox(db: apsw.Connection) -> Iterator[None]:
    """Inside a transaction: do not queue the writes made meanwhile."""
    set_outbox_state(db, quiet=1)
    yield
    set_outbox_state(db, quiet=None)


def outbox_state(db: apsw.Connection, name: str) -> int:
    """A number kept with the outbox, 0 if there is none."""
    row = db.execute("SELECT value FROM outbox_state WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else 0


def set_outbox_state(db: apsw.Connection, **values: str | float | None) -> None:
    """Store values in the caller's transaction; None removes a value."""
    for name, value in values.items():
        db.execute("DELETE FROM outbox_state WHERE name = ?", (name,))
        if value is not None:
            db.execute("INSERT INTO outbox_state VALUES (?, ?)", (name, value))


def next_entries(db: apsw.Connection, limit: int) -> list[Entry]:
    """The first entries that are due, in the order of the last changes."""
    rows = db.execute(
        "SELECT seq, id, collection FROM outbox WHERE not_before <= ? ORDER BY seq LIMIT ?", (clock.now_ms(), limit)
    )
    return [(number, document_id, NAME_OF[code]) for number, document_id, code in rows]


def unpushed(db: apsw.Connection, limit: int) -> tuple[list[int], set[str]]:
    """The rows of the newest unpushed changes, and the ids of all unpushed deletions."""
    rows = db.execute(
        "SELECT document.rowid, outbox.id, forgotten_at FROM outbox LEFT JOIN document USING (id) ORDER BY seq DESC"
    ).fetchall()
    changed = [int(rowid) for rowid, _, forgotten_at in rows if rowid is not None and forgotten_at is None]
    deleted = {str(name) for rowid, name, forgotten_at in rows if rowid is None or forgotten_at is not None}
    return changed[:limit], deleted


def confirm(db: apsw.Connection, numbers: Iterable[int]) -> None:
    """Remove pushed entries, in the caller's transaction. A document that changed meanwhile has a new entry."""
    db.executemany("DELETE FROM outbox WHERE seq = ?", [(number,) for number in numbers])


def set_aside(db: apsw.Connection, number: int, reason: str) -> None:
    """Push an entry that the cluster refuses no sooner than in a day; in the caller's transaction."""
    db.execute(
        "UPDATE outbox SET refusal = ?, not_before = ? WHERE seq = ?",
        (reason[:MAX_ERROR_CHARS] or "refused", clock.now_ms() + clock.DAY_MS, number),
    )


def record_failure(db: apsw.Connection, error: str) -> int:
    """Record that a push failed. Returns when to try again, in ms since the epoch: after 1, 2, 4 … 300 seconds."""
    with sqlite.transaction(db):
        tries = outbox_state(db, "tries") + 1
        retry_at = clock.now_ms() + min(300_000, 1_000 << min(tries - 1, 20))
        set_outbox_state(db, tries=tries, error=error[:MAX_ERROR_CHARS], next_try=retry_at)
    return retry_at


def record_success(db: apsw.Connection) -> None:
    """Record that everything was pushed without a fault."""
    with sqlite.transaction(db):
        set_outbox_state(db, tries=None, error=None, next_try=None, synced_at=clock.now_ms())


def outbox_status(db: apsw.Connection) -> dict[str, Any]:
    """Pending and refused documents, and the result of the last push, as `status` prints them."""
    ((documents, oldest),) = db.execute(
        "SELECT count(*), min(queued_at) FROM outbox WHERE not_before <= ?", (clock.now_ms(),)
    )
    ((refused, refusal),) = db.execute("SELECT count(*), max(refusal) FROM outbox WHERE refusal <> ''")
    error = db.execute("SELECT value FROM outbox_state WHERE name = 'error'").fetchone()
    times = {
        "oldest": oldest, "nextTry": outbox_state(db, "next_try"), "syncedAt": outbox_state(db, "synced_at"),
    }  # fmt: skip
    return {
        "documents": documents,
        "refused": refused,
        "refusal": refusal or "",
        "tries": outbox_state(db, "tries"),
        "error": str(error[0]) if error else "",
        **{name: clock.iso(at) if at else None for name, at in times.items()},
    }


def outbox_problems(outbox: dict[str, Any] | None, backend: str) -> list[dict[str, str]]:
    """Code, message and fix of each problem. `outbox`: `outbox_status`, or None if this home has no cluster."""
    if outbox is None:
        if backend != "typesense":
            return []
        message = 'store.backend is "typesense", but nothing is sent to a cluster yet'
        return [{"code": NOT_INITIALISED, "message": message, "fix": "run `joelclaw store init`"}]
    problems = []
    if outbox["error"]:
        code, _, message = outbox["error"].partition(": ")
        message = f"{message} ({outbox['tries']} tries, the next at {outbox['nextTry']})"
        fix = "check the cluster, then run `joelclaw store push`; nothing is lost meanwhile"
        problems.append({"code": code, "message": message, "fix": fix})
    if outbox["refused"]:
        message = f"the cluster refuses {outbox['refused']} documents: {outbox['refusal']}"
        fix = "run `joelclaw store init`, then `joelclaw store push`"
        problems.append({"code": REFUSED, "message": message, "fix": fix})
    return problems


def _configured_urls(config: Config) -> str:
    return os.environ.get("JOELCLAW_STORE_URLS") or os.environ.get("TYPESENSE_URL") or config.get_str("store.urls")


def _invalid_url(url: str) -> Failure:
    shown = url.rpartition("@")[2][:100]  # a URL may contain a user name and a password
    return Failure(
        "CONFIG_INVALID",
        f"store.urls (TYPESENSE_URL) contains {shown!r}, which is not the URL of a node",
        "set it to http://host:8108, several nodes comma-separated; the key goes into TYPESENSE_API_KEY",
    )


def _key_failure(message: str, fix: str) -> Failure:
    return Failure("TYPESENSE_API_KEY_MISSING", message, fix)


def _output_of(command: str) -> str:
    import shlex

    from core.command import Command, Ended

    try:
        ended = Command(shlex.split(command), 10.0).run()
    except ValueError:  # a quotation mark is missing
        ended = Ended(None, b"", "not-started")
    if ended.reason or ended.status:  # quote neither the command nor its output: either may contain the key
        reason = ended.reason or f"exit code {ended.status}"
        raise _key_failure(
            f"store.key_command failed ({reason})", "run it by hand: it must print the key and exit with 0"
        )
    return ended.output.decode("utf-8", "replace").strip()


def _seconds_until(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _trigger(event: str, row: str) -> str:
    """The trigger that queues a row, unless `quiet` is on; `queued_at` remains that of the first unpushed change."""
    return (
        f"CREATE TRIGGER {event} ON document WHEN (SELECT value FROM outbox_state WHERE name = 'quiet') IS NULL BEGIN"
        f" INSERT OR REPLACE INTO outbox (id, collection, queued_at) SELECT {row}.id, {row}.rowid >>"
        f" {COLLECTION_SHIFT}, coalesce(min(queued_at), {_NOW}) FROM outbox WHERE id = {row}.id; END"
    )


def _queue_documents(db: apsw.Connection) -> None:
    db.execute(
        "INSERT INTO outbox (id, collection, queued_at)"
        f" SELECT id, rowid >> {COLLECTION_SHIFT}, {_NOW} FROM document WHERE forgotten_at IS NULL ORDER BY rowid"
        " ON CONFLICT (id) DO UPDATE SET not_before = 0, refusal = ''"
    )
