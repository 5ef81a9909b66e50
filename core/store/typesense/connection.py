"""Where a Typesense cluster is, with which key it is asked, what its faults mean, and whether it had one a moment ago.

The key comes from `TYPESENSE_API_KEY` or from the user's `store.key_command`. It goes into one header and nowhere else:
not into a message, an event, a log or an argument.
"""

from __future__ import annotations

import os

from core import clock, files, json_text
from core.errors import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from core.config import Config

    Row = dict[str, Any]

UNREACHABLE = "TYPESENSE_UNREACHABLE"
KEY_MISSING = "TYPESENSE_API_KEY_MISSING"
UNAUTHORIZED = "TYPESENSE_UNAUTHORIZED"
NOT_INITIALISED = "TYPESENSE_NOT_INITIALISED"
REFUSED = "TYPESENSE_REFUSED"
HOLDS_MS = 10_000
"""So long a cluster with a fault is left alone: not every hook waits to find out again."""
_OF_CLUSTER = (UNREACHABLE, UNAUTHORIZED, NOT_INITIALISED, KEY_MISSING)
_KEY_COMMAND_S = 10.0
_LONGEST_MESSAGE = 200


def given(config: Config) -> str:
    """The nodes as they are set: JOELCLAW_STORE_URLS, TYPESENSE_URL, config.toml, the default."""
    return os.environ.get("JOELCLAW_STORE_URLS") or os.environ.get("TYPESENSE_URL") or config.get_str("store.urls")


def nodes(config: Config) -> list[str]:
    """The nodes of the settings, see `parse_nodes`."""
    return parse_nodes(given(config))


def parse_nodes(text: str) -> list[str]:
    """Each of comma-separated URLs as `http://host:port/path`.

    Raises:
        Failure: CONFIG_INVALID, one of them is no URL, or there is none.
    """
    found = [_node(url) for part in text.split(",") if (url := part.strip().rstrip("/"))]
    if not found:
        raise _bad_url(text)
    return found


def _node(url: str) -> str:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise _bad_url(url) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or any(sign in url for sign in "@?# "):
        raise _bad_url(url)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port}{parts.path}"


def _bad_url(url: str) -> Failure:
    shown = url.rpartition("@")[2][:100]  # without the user name and password that a URL may hold
    return Failure(
        "CONFIG_INVALID",
        f"store.urls (TYPESENSE_URL) holds {shown!r}, which is no node's URL",
        "set it to http://host:8108, several nodes comma-separated; the key goes into TYPESENSE_API_KEY",
    )


def key(config: Config) -> str:
    """The key of the settings.

    Raises:
        Failure: TYPESENSE_API_KEY_MISSING.
    """
    found = os.environ.get("TYPESENSE_API_KEY", "").strip()
    command = config.get_str("store.key_command").strip()
    if not found and command:
        found = _printed(command)
    if not found or not found.isascii() or not found.isprintable():
        raise Failure(
            KEY_MISSING,
            "the cluster's key holds what no key can hold" if found else "the key that the cluster wants is not set",
            "set TYPESENSE_API_KEY, or store.key_command in config.toml to a command that prints it",
        )
    return found


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


def unreachable(nodes: Sequence[str], why: str) -> Failure:
    """What is told where no node answers."""
    return Failure(
        UNREACHABLE,
        f"the Typesense cluster ({', '.join(node.partition('://')[2] for node in nodes)}) cannot be reached: {why}",
        "check that it runs, and store.urls (TYPESENSE_URL); recall goes by the local file meanwhile",
    )


def refusal(nodes: Sequence[str], status: int, message: str) -> Failure:
    """What is told where the server says no."""
    said = " ".join(message.split())[:_LONGEST_MESSAGE]
    if status in (401, 403):
        return Failure(UNAUTHORIZED, "the Typesense cluster refuses the key", "check TYPESENSE_API_KEY")
    if status == 404:
        return Failure(NOT_INITIALISED, f"the Typesense cluster says: {said}", "run `joelclaw store init`")
    if status >= 500 or status == 0:
        return unreachable(nodes, said or f"status {status}")
    return Failure(
        REFUSED,
        f"the Typesense cluster refuses the request ({status}): {said}",
        "run `joelclaw store init`; if that changes nothing, report this",
    )


def recent_fault(config: Config) -> Failure | None:
    """A fault of this cluster that is not `HOLDS_MS` old."""
    try:
        with open(_down(), "rb") as handle:
            kept = json_text.loads(handle.read())
        if kept["nodes"] == _asked_as(config) and 0 <= clock.now_ms() - kept["at"] < HOLDS_MS:
            return Failure(str(kept["code"]), str(kept["message"]), "wait some seconds")
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def note_fault(config: Config, code: str, message: str) -> None:
    """Remember a fault of the cluster itself, and not of one query."""
    if code not in _OF_CLUSTER or recent_fault(config) is not None:
        return
    kept = {"nodes": _asked_as(config), "at": clock.now_ms(), "code": code, "message": message}
    try:
        files.write_whole(_down(), json_text.dumps(kept).encode())
    except OSError:
        pass  # the next one finds out again


def forget_fault() -> None:
    """The cluster answers."""
    try:
        os.unlink(_down())
    except OSError:
        pass


def _down() -> str:
    return os.path.join(files.home(), "cache", "typesense-down.json")


def _asked_as(config: Config) -> str:
    """What tells one cluster, and one key's source, from another; holds no key."""
    keyed = "key" if os.environ.get("TYPESENSE_API_KEY") else "command"
    return f"{given(config)} {config.get_str('store.prefix')} {keyed}"
