"""Where a Typesense cluster is, with which key it is asked, and what its faults mean.

The key comes from `TYPESENSE_API_KEY` or from the user's `store.key_command`. It goes into one header and nowhere else:
not into a message, an event, a log or an argument.
"""

from __future__ import annotations

import os

from core.errors import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.config import Config

    Row = dict[str, Any]

UNREACHABLE = "TYPESENSE_UNREACHABLE"
KEY_MISSING = "TYPESENSE_API_KEY_MISSING"
UNAUTHORIZED = "TYPESENSE_UNAUTHORIZED"
NOT_INITIALISED = "TYPESENSE_NOT_INITIALISED"
REFUSED = "TYPESENSE_REFUSED"
_KEY_COMMAND_S = 10.0
_LONGEST_MESSAGE = 200


class Node:
    """One server of the cluster.

    Args:
        url: `http://host:port/path`; port and path may be left out.

    Raises:
        Failure: CONFIG_INVALID, a URL that is none.
    """

    __slots__ = ("host", "path", "port", "secure")

    def __init__(self, url: str) -> None:
        # By hand: urllib.parse costs .6 of a bare Python start.
        scheme, _, rest = url.partition("://")
        authority, slash, path = rest.partition("/")
        if authority.startswith("["):
            host, _, port = authority[1:].partition("]")
            port = port.removeprefix(":") if port.startswith(":") or not port else "?"
        else:
            host, _, port = authority.partition(":")
        self.secure = scheme == "https"
        port = port or ("443" if self.secure else "80")
        usable = host and port.isdecimal() and int(port) < 65_536 and url.isprintable()
        if scheme not in ("http", "https") or not usable or any(sign in url for sign in "@?# "):
            raise _bad_url(url)
        self.host = host
        self.port = int(port)
        self.path = slash + path

    @property
    def address(self) -> str:
        """Host and port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Nodes:
    """The servers of the cluster.

    Args:
        urls: comma-separated.

    Raises:
        Failure: CONFIG_INVALID, one of them is no URL, or there is none.
    """

    __slots__ = ("all",)

    def __init__(self, urls: str) -> None:
        self.all = [Node(url) for part in urls.split(",") if (url := part.strip().rstrip("/"))]
        if not self.all:
            raise _bad_url(urls)

    @property
    def urls(self) -> list[str]:
        """Each node's URL, with its port."""
        return [f"http{'s' * node.secure}://{node.address}{node.path}" for node in self.all]

    def described(self) -> str:
        """The nodes as a message names them."""
        return ", ".join(node.address + node.path for node in self.all)


def _bad_url(url: str) -> Failure:
    shown = url.rpartition("@")[2][:100]  # without the user name and password that a URL may hold
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


def key(config: Config) -> str:
    """The key of the settings.

    Raises:
        Failure: TYPESENSE_API_KEY_MISSING.
    """
    found = os.environ.get("TYPESENSE_API_KEY", "").strip()
    command = config.text("store.key_command").strip()
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


def unreachable(nodes: Nodes, why: str) -> Failure:
    """What is told where no node answers."""
    return Failure(
        UNREACHABLE,
        f"the Typesense cluster ({nodes.described()}) cannot be reached: {why}",
        "check that it runs, and store.urls (TYPESENSE_URL); recall goes by the local file meanwhile",
    )


def refusal(nodes: Nodes, status: int, message: str) -> Failure:
    """What is told where the server says no.

    Args:
        status: of the answer, 0 where there was none.
        message: the server's.
    """
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


def is_missing_document(failure: Failure) -> bool:
    """Whether the server said no more than that there is no document with that id."""
    return failure.code == NOT_INITIALISED and "Could not find a document" in failure.message
