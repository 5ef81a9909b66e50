"""The way to a Typesense cluster: where it is, with which key, how long it may take, and what its faults mean.

The key comes from `TYPESENSE_API_KEY` or from the user's `store.key_command`. It goes into one header and nowhere else:
not into a message, an event, a log or an argument.
"""

from __future__ import annotations

import os

from core import json_text
from core.errors import Failure
from core.store.typesense import light_client, transport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from core.config import Config

    Row = dict[str, Any]

UNREACHABLE = "TYPESENSE_UNREACHABLE"
KEY_MISSING = "TYPESENSE_API_KEY_MISSING"
UNAUTHORIZED = "TYPESENSE_UNAUTHORIZED"
NOT_INITIALISED = "TYPESENSE_NOT_INITIALISED"
REFUSED = "TYPESENSE_REFUSED"
BULK_S = 120.0
"""How long a request that moves documents may take."""
_KEY_COMMAND_S = 10.0
_MOST_TOLD = 200
_MAX_SEARCHES = 250


class Nodes:
    """Where the cluster is.

    Args:
        urls: `http://host:port`, comma-separated.

    Raises:
        Failure: CONFIG_INVALID, a URL that is none.
    """

    __slots__ = ("urls",)

    def __init__(self, urls: str) -> None:
        self.urls: list[str] = []
        for url in filter(None, (part.strip().rstrip("/") for part in urls.split(","))):
            self.urls.append(_checked(url))
        if not self.urls:
            raise _bad_url(urls)

    def described(self) -> str:
        """The nodes as a message names them: no user name or password that a URL may hold."""
        return ", ".join(url.partition("://")[2].rpartition("@")[2] for url in self.urls)


def _checked(url: str) -> str:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _bad_url(url) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise _bad_url(url)
    if port is None:
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return f"{parts.scheme}://{host}:{443 if parts.scheme == 'https' else 80}{parts.path}"
    return url


def _bad_url(url: str) -> Failure:
    shown = url.rpartition("@")[2][:100]
    return Failure(
        "CONFIG_INVALID",
        f"store.urls (TYPESENSE_URL) holds {shown!r}, which is no node's URL",
        "set it to http://host:8108, several nodes comma-separated; the key goes into TYPESENSE_API_KEY",
    )


def nodes(config: Config) -> Nodes:
    """The nodes of the settings: JOELCLAW_STORE_URLS, TYPESENSE_URL, config.toml, the default.

    Raises:
        Failure: CONFIG_INVALID.
    """
    given = os.environ.get("JOELCLAW_STORE_URLS") or os.environ.get("TYPESENSE_URL")
    return Nodes(given or config.text("store.urls"))


def connect(config: Config, *, limit_s: float | None = None) -> Cluster:
    """The cluster of the settings; nothing is sent yet.

    Args:
        limit_s: seconds that one request may take in all, retries included; by default `store.timeout_ms`. Whoever
            moves documents gives `BULK_S`.

    Raises:
        Failure: TYPESENSE_API_KEY_MISSING; CONFIG_INVALID; TYPESENSE_CLIENT_MISSING.
    """
    limit = config.number("store.timeout_ms") / 1000 if limit_s is None else limit_s
    return Cluster(nodes(config), _key(config), prefix=config.text("store.prefix"), limit_s=limit)


def _key(config: Config) -> str:
    key = os.environ.get("TYPESENSE_API_KEY", "").strip()
    command = config.text("store.key_command").strip()
    if not key and command:
        key = _printed(command)
    if not key or not key.isascii() or not key.isprintable():
        raise Failure(
            KEY_MISSING,
            "the key that the cluster wants is not set" if not key else "the cluster's key holds what no key can hold",
            "set TYPESENSE_API_KEY, or store.key_command in config.toml to a command that prints it",
        )
    return key


def _printed(command: str) -> str:
    import shlex
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603  # the user's own command, from the user's own file
            shlex.split(command), stdin=subprocess.DEVNULL, capture_output=True, timeout=_KEY_COMMAND_S, check=False
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise _no_key(type(error).__name__) from None
    if done.returncode:
        raise _no_key(f"exit code {done.returncode}")
    return done.stdout.decode("utf-8", "replace").strip()


def _no_key(why: str) -> Failure:
    # Neither what it printed nor its words: either may hold the key.
    return Failure(KEY_MISSING, f"store.key_command failed ({why})", "run it by hand: it must print the key, exit 0")


class Cluster:
    """The official client over the nodes, with our limits and our errors.

    Every method raises Failure: TYPESENSE_UNREACHABLE (no node answers in time), TYPESENSE_UNAUTHORIZED,
    TYPESENSE_NOT_INITIALISED (a collection is missing), TYPESENSE_REFUSED (anything else that the server said no to).
    """

    __slots__ = ("_call", "_errors", "_transport", "nodes", "prefix")

    def __init__(self, nodes: Nodes, key: str, *, prefix: str = "", limit_s: float = BULK_S) -> None:
        self.nodes = nodes
        self.prefix = prefix
        try:
            configuration = light_client.module("configuration")
            api_call = light_client.module("sync.api_call")
            self._errors = light_client.module("exceptions")
        except ImportError:
            raise Failure(
                "TYPESENSE_CLIENT_MISSING", "the typesense client is not installed", "install joelclaw anew"
            ) from None
        count = len(nodes.urls)
        self._transport = transport.Transport(limit_s, count)
        settings = configuration.Configuration(
            {
                "nodes": nodes.urls,
                "api_key": key,
                "connection_timeout_seconds": limit_s / count,
                "num_retries": count - 1,
                "retry_interval_seconds": 0,
                "suppress_deprecation_warnings": True,
            }
        )
        ours = {"http_client": self._transport} if light_client.trimmed() else {}
        self._call = api_call.ApiCall(settings, **ours)

    def name(self, collection: str) -> str:
        """The collection's name on the server."""
        return self.prefix + collection

    def within(self, limit_s: float) -> None:
        """Let each further request take that long in all."""
        self._transport.limit_s = limit_s

    def healthy(self) -> bool:
        """Whether a node says that it is."""
        try:
            return bool(self._asked("get", "/health").get("ok"))
        except Failure:
            return False

    def collections(self) -> list[Row]:
        """Every collection of the server, with its fields and `num_documents`."""
        found: list[Row] = self._asked("get", "/collections")
        return found

    def create(self, schema: Mapping[str, Any]) -> None:
        """Create a collection; `schema["name"]` is without prefix."""
        self._asked("post", "/collections", body={**schema, "name": self.name(schema["name"])})

    def add_fields(self, collection: str, fields: Sequence[Mapping[str, Any]]) -> None:
        """Add fields to a collection; the server is busy with it till it answers."""
        self._asked("patch", f"/collections/{self.name(collection)}", body={"fields": list(fields)})

    def drop(self, collection: str) -> None:
        """Remove a collection and all that it holds."""
        self._asked("delete", f"/collections/{self.name(collection)}")

    def multi_search(self, searches: Sequence[Mapping[str, Any]]) -> list[Row]:
        """The answers to several searches in one request; each names its `collection`, without prefix."""
        named = [{**search, "collection": self.name(search["collection"])} for search in searches]
        multi = light_client.module("sync.multi_search").MultiSearch(self._call)
        with_limit = {"limit_multi_searches": max(len(named), 1)}
        answer = self._guarded(lambda: multi.perform({"searches": named}, with_limit))
        results: list[Row] = answer["results"]
        for result in results:
            if "error" in result:
                raise self._told(int(result.get("code", 400)), str(result["error"]))
        return results

    def search(self, collection: str, parameters: Mapping[str, Any]) -> Row:
        """The answer to one search, sent as a body: a query may be longer than a URL."""
        return self.multi_search([{**parameters, "collection": collection}])[0]

    def retrieve(self, collection: str, identifier: str) -> Row | None:
        """A document by its id, None where there is none."""
        from urllib.parse import quote

        try:
            found: Row = self._asked(
                "get", f"/collections/{self.name(collection)}/documents/{quote(identifier, safe='')}"
            )
        except Failure as failure:
            if failure.code == NOT_INITIALISED and "Could not find a document" in failure.message:
                return None
            raise
        return found

    def import_(self, collection: str, rows: Sequence[Row], action: str = "upsert") -> list[Row]:
        """Write documents; returns for each, in order, `{"success": true}` or `{"success": false, "error", "code"}`.

        Args:
            action: create, upsert (whole documents), update (parts of known ones) or emplace (either).
        """
        if not rows:
            return []
        body = "\n".join(json_text.dumps(row) for row in rows)
        text = self._asked(
            "post",
            f"/collections/{self.name(collection)}/documents/import",
            body=body,
            as_json=False,
            params={"action": action, "dirty_values": "coerce_or_reject", "batch_size": 200},
        )
        # Not `splitlines`: a refused document is quoted there, and may hold U+2028.
        results: list[Row] = self._guarded(lambda: [json_text.loads(line) for line in text.split("\n") if line.strip()])
        if len(results) != len(rows):  # what became of the others is not known
            raise self._unreachable(f"{len(rows)} documents were sent, and it spoke of {len(results)}")
        for result in results:
            result.pop("document", None)
        return results

    def delete_where(self, collection: str, filter_by: str) -> int:
        """Remove the documents that a filter lets through; returns how many."""
        answer = self._asked(
            "delete",
            f"/collections/{self.name(collection)}/documents",
            params={"filter_by": filter_by, "batch_size": 500},
        )
        return int(answer["num_deleted"])

    def export(self, collection: str, *, include: str = "", exclude: str = "", filter_by: str = "") -> Iterator[Row]:
        """Every document of a collection, line by line as they come; the limit holds for each piece.

        Args:
            include, exclude: field names, comma-separated.
        """
        given = (("include_fields", include), ("exclude_fields", exclude), ("filter_by", filter_by))
        params = {name: value for name, value in given if value}
        rest = b""
        for piece in self._exported(collection, params):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if line.strip():
                    yield json_text.loads(line)
        if rest.strip():
            yield json_text.loads(rest)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def _exported(self, collection: str, params: Mapping[str, object]) -> Iterator[bytes]:
        path = f"/collections/{self.name(collection)}/documents/export"
        headers = {self._call.request_handler.api_key_header_name: self._call.config.api_key}

        def opened() -> Iterator[bytes]:
            last: Exception | None = None
            for url in self.nodes.urls:
                try:
                    status, body = self._transport.stream("GET", url + path, params=params, headers=headers)
                except transport.HTTPError as error:
                    last = error
                    continue
                if status != 200:
                    raise self._told(status, b"".join(body).decode("utf-8", "replace"))
                return body
            raise last or transport.ConnectError("there is no node")

        self._transport.begin()
        body = self._guarded(opened)
        while True:
            piece = self._guarded(lambda: next(body, b""))
            if not piece:
                return
            self._transport.begin()
            yield piece

    def _asked(self, method: str, path: str, **given: Any) -> Any:
        given.setdefault("entity_type", dict)
        if method in ("get", "post"):
            given.setdefault("as_json", True)
        return self._guarded(lambda: getattr(self._call, method)(path, **given))

    def _guarded(self, action: Any) -> Any:
        self._transport.begin()
        try:
            return action()
        except Failure:
            raise
        except transport.DeadlinePassedError:
            raise self._unreachable("no answer in time") from None
        except transport.HTTPError as error:
            raise self._unreachable(str(error)) from None
        except self._errors.TypesenseClientError as error:
            status = error.args[0] if error.args and isinstance(error.args[0], int) else 0
            raise self._told(status, str(error.args[-1]) if error.args else "") from None
        except json_text.InvalidJSON:
            raise self._unreachable("what answers there is no Typesense") from None
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in ("httpx", "httpcore", "requests"):
                raise
            raise self._unreachable(type(error).__name__) from None

    def _unreachable(self, why: str) -> Failure:
        return Failure(
            UNREACHABLE,
            f"the Typesense cluster ({self.nodes.described()}) cannot be reached: {why}",
            "check that it runs, and store.urls (TYPESENSE_URL); recall goes by the local file meanwhile",
        )

    def _told(self, status: int, message: str) -> Failure:
        said = " ".join(message.split())[:_MOST_TOLD]
        if status in (401, 403):
            return Failure(UNAUTHORIZED, "the Typesense cluster refuses the key", "check TYPESENSE_API_KEY")
        if status == 404:
            return Failure(NOT_INITIALISED, f"the Typesense cluster says: {said}", "run `joelclaw store init`")
        if status >= 500 or status == 0:
            return self._unreachable(said or f"status {status}")
        return Failure(
            REFUSED,
            f"the Typesense cluster refuses the request ({status}): {said}",
            "run `joelclaw store init`; if that changes nothing, report this",
        )
