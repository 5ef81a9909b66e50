"""Connecting to a cluster: nodes, key, time limits, fail-over and error codes."""

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from conftest import PATIENCE_S, ROOT, Run, clean_environment
from typesense_server import Server, free_ports, needs_server

from core.errors import Failure
from core.store.cluster import SearchClient, parse_nodes
from core.store.cluster_sync import Cluster

KEY = "k3y-that-nobody-may-see"


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """A loopback server; its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def listening(answer: Callable[[BinaryIO], object]) -> AbstractContextManager[str]:
    """A server that has each request answered by `answer`, which writes bytes; its URL."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def _handle(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer(self.wfile)

        do_GET = do_POST = _handle  # noqa: N815  # the names that http.server calls

    return serving(Handler)


def sending(data: bytes) -> Callable[[BinaryIO], object]:
    """An answer of these bytes."""
    return lambda out: out.write(data)


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(Failure) as caught:
        action()
    assert caught.value.fix
    assert KEY not in caught.value.message + caught.value.fix
    return caught.value.code


@pytest.mark.parametrize(("setting", "urls"), [
    ("http://one:8108", ["http://one:8108"]),
    (" http://one:8108/ , https://two ", ["http://one:8108", "https://two:443"]),
    ("http://[::1]", ["http://[::1]:80"]),
    ("https://proxy/search", ["https://proxy:443/search"]),
])  # fmt: skip
def test_valid_nodes_are_parsed(setting: str, urls: list[str]) -> None:
    assert parse_nodes(setting) == urls


@pytest.mark.parametrize(
    "setting", ["", ",", "one:8108", "ftp://one", "http://", "http://one:x", "http://u:secret@one:1"]
)
def test_invalid_nodes_are_refused_without_showing_passwords(setting: str) -> None:
    with pytest.raises(Failure) as caught:
        parse_nodes(setting)
    assert caught.value.code == "CONFIG_INVALID"
    assert "secret" not in caught.value.message


@pytest.mark.parametrize("command", [f"sh -c 'echo {KEY} >&2; exit 3'", f"/nowhere/{KEY}", "'unclosed"])
def test_a_failing_key_command_is_reported_without_its_output(run: Run, home: Path, command: str) -> None:
    home.mkdir()
    (home / "config.toml").write_text(f"[store]\nkey_command = {json.dumps(command)}\n")
    failed = run("store", "init", ok=False)
    assert failed.json["error"]["code"] == "TYPESENSE_API_KEY_MISSING"
    assert "store.key_command" in failed.json["error"]["message"]
    assert KEY not in failed.out + failed.err


@needs_server
def test_the_key_may_come_from_a_command(run: Run, home: Path, server: Server) -> None:
    home.mkdir()
    (home / "config.toml").write_text(
        f'[store]\nurls = "{server.url}"\nkey_command = "printf {server.key}"\nprefix = "by_command_"\n'
    )
    assert run("store", "init").result["collections"][0]["collection"] == "by_command_memory_observations"


@needs_server
def test_a_wrong_key_is_reported_and_stored_nowhere(run: Run, home: Path, server: Server) -> None:
    wrong = server.environment(TYPESENSE_API_KEY=KEY)
    failed = run("store", "init", env=wrong, ok=False)
    assert failed.json["error"]["code"] == "TYPESENSE_UNAUTHORIZED"
    recalled = run("recall", "what was decided about the retries", env=wrong)
    assert recalled.result["fallback"]["code"] == "TYPESENSE_UNAUTHORIZED"
    assert KEY not in failed.out + failed.err + recalled.out + recalled.err
    contents = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    assert contents
    assert not any(KEY.encode() in data for data in contents)


def search(nodes: str, limit_s: float) -> list[Any]:
    """What a recall does."""
    return SearchClient(parse_nodes(nodes), KEY, limit_s=limit_s).multi_search([{"collection": "episodes", "q": "*"}])


def create(nodes: str, limit_s: float) -> list[Any]:
    """What `store init` does with the official client."""
    with contextlib.closing(Cluster(parse_nodes(nodes), KEY, "", limit_s)) as client:
        return client.create_collections()


both = pytest.mark.parametrize("ask", [search, create])
Ask = Callable[[str, float], list[Any]]
EMPTY = b'{"results": []}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def answer(body: bytes = EMPTY) -> bytes:
    return HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body


@both
def test_another_service_or_half_an_answer_is_not_a_cluster(ask: Ask) -> None:
    for data in (
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n[1, 2",
    ):
        with listening(sending(data)) as url:
            assert code_of(lambda url=url: ask(url, 2)) == "TYPESENSE_UNREACHABLE"  # type: ignore[misc]


def test_silent_nodes_share_the_time_and_the_last_one_answers() -> None:
    over = threading.Event()

    with listening(lambda _: over.wait(PATIENCE_S)) as first, listening(sending(answer())) as second:
        dead = f"http://127.0.0.1:{free_ports(1)[0]}"
        # A third of the time for the silent one: had it used up more than its share, there would be no answer.
        assert search(f"{first},{dead},{second}", 9) == []
        over.set()


def test_a_node_that_fails_is_passed_over() -> None:
    failing = sending(b"HTTP/1.1 503 Not Ready\r\nContent-Length: 0\r\n\r\n")
    with listening(failing) as first, listening(sending(answer())) as second:
        assert search(f"{first},{second}", 9) == []
        assert code_of(lambda: search(first, 30)) == "TYPESENSE_UNREACHABLE"


def test_a_search_imports_no_client(tmp_path: Path) -> None:
    program = (
        "from core.store import cluster\n"
        "cluster.SearchClient(['http://one:1'], 'k', limit_s=1)\n"
        "import sys\n"
        "dear = ('typesense', 'httpx', 'asyncio', 'logging', 'typer', 'rich', 'orjson', 'numpy')\n"
        "print([name for name in dear if name in sys.modules])\n"
    )
    command, env = [sys.executable, "-c", program], clean_environment(tmp_path)
    assert subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=True).stdout == "[]\n"
