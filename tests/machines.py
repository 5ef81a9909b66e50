"""Several homes that share a cluster."""

import itertools
import json
import os
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conftest import PATIENCE_S, Attempt, attempt
from typesense_server import Server

from core.store.cluster_sync import Cluster
from core.store.sqlite import COLLECTIONS

_numbers = itertools.count()


def new_prefix() -> str:
    """A collection prefix that no other test uses."""
    return f"t{os.getpid()}x{next(_numbers)}_"


@dataclass
class Machine:
    """A home with the variables (`environment`) that point its commands at the cluster."""

    home: Path
    environment: dict[str, str]

    background: bool = False
    """Whether commands may push to the cluster in the background."""

    def configure(self) -> None:
        """Write the variables to the home's settings: a hook takes the cluster's from nowhere else."""
        outside = "".join(f'{name} = "{self.environment[name]}"\n' for name in ("TYPESENSE_URL", "TYPESENSE_API_KEY"))
        prefix = self.environment["JOELCLAW_STORE_PREFIX"]
        (self.home / "config.toml").write_text(
            f'[store]\nbackend = "typesense"\nprefix = "{prefix}"\n[environment]\n{outside}'
        )

    def run(self, *words: str, stdin: bytes | None = None, timeout: float = PATIENCE_S, **more: str) -> Attempt:
        """Run a command."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        env = {**self.environment, **more}
        if not self.background and (self.home / "outbox.lock").exists():
            os.utime(self.home / "outbox.lock")  # as if a push had just been started
        return attempt(self.home, *words, stdin=stdin, env=env, timeout=timeout)

    def result(self, *words: str, **more: Any) -> Any:
        """Run a command that must succeed; returns its result."""
        return self.run(*words, **more).result

    def write(self, text: str, **more: str) -> str:
        """Write a memory; returns its id."""
        return self.result("memory", "write", text, **more)["id"]

    def push(self, **more: str) -> Any:
        """Push what waits."""
        return self.result("store", "push", **more)

    def waiting(self) -> Any:
        """What `status` says about writes that wait."""
        return self.result("status")["store"]["waiting"]

    def memories(self) -> dict[str, str]:
        """Id → text of all memories in the local store."""
        done = self.run("memory", "export")
        assert done.code == 0, done
        return {memory["id"]: memory["text"] for memory in map(json.loads, done.out.splitlines())}

    @contextmanager
    def cluster(self) -> Iterator[Cluster]:
        """A direct connection to the cluster."""
        env = self.environment
        nodes = env["TYPESENSE_URL"].split(",")
        cluster_ = Cluster(nodes, env["TYPESENSE_API_KEY"], env["JOELCLAW_STORE_PREFIX"], timeout_s=120)
        try:
            yield cluster_
        finally:
            cluster_.close()

    def rows_in_cluster(self, collection: str = "observations") -> dict[str, dict[str, Any]]:
        """The server's documents of a collection, by id."""
        with self.cluster() as cluster:
            return {row["id"]: row for row in cluster.export(COLLECTIONS[collection].remote)}

    def remove_there(self, collection: str) -> None:
        """Remove a collection from the server without using our own code."""
        self._send("DELETE", f"/{self.environment['JOELCLAW_STORE_PREFIX']}{collection}")

    def create_there(self, schema: dict[str, Any]) -> None:
        """Create a collection without using our own code."""
        name = self.environment["JOELCLAW_STORE_PREFIX"] + schema["name"]
        self._send("POST", "", json.dumps({**schema, "name": name}).encode())

    def _send(self, method: str, path: str, body: bytes | None = None) -> None:
        url = f"{self.environment['TYPESENSE_URL']}/collections{path}"
        headers = {"X-TYPESENSE-API-KEY": self.environment["TYPESENSE_API_KEY"], "Content-Type": "application/json"}
        request = urllib.request.Request(url, method=method, headers=headers, data=body)
        urllib.request.urlopen(request, timeout=PATIENCE_S).close()


def joined(home: Path, server: Server) -> Machine:
    """A first machine with a fresh prefix."""
    machine = Machine(home, server.environment(JOELCLAW_STORE_PREFIX=new_prefix()))
    machine.result("store", "init")
    return machine


def eventually(condition: Any, seconds: float = PATIENCE_S) -> Any:
    """Wait until a condition holds; returns its value."""
    until = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < until, "it never came to pass"
        time.sleep(0.05)
    return value
