"""A cluster of three whose leader is killed under load: no acknowledged write is lost, recall answers throughout."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import PATIENCE_S
from machines import Machine, eventually, new_prefix
from typesense_server import Cluster, Server, cluster, needs_server

pytestmark = needs_server
WRITERS = 3
READERS = 2
PAUSE_S = 0.6
"""Between two commands of a writer or reader: the nodes need the processor for their election."""
MORE = 3
"""How many writes each writer is to get through before the leader's death, and how many after an election."""


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster"), 3) as nodes:
        yield nodes


def patiently(action: Callable[[], Any], seconds: float = PATIENCE_S) -> Any:
    """What an action comes to, once it comes to anything: an election takes seconds."""
    until = time.monotonic() + seconds
    while True:
        try:
            return action()
        except AssertionError:
            if time.monotonic() > until:
                raise
            time.sleep(0.3)


class Load:
    """Several writers, their syncs and some readers, all at once until it is over."""

    def __init__(self, machines: list[Machine]) -> None:
        self.machines = machines
        self.acknowledged: dict[str, str] = {}
        self.written = [0] * len(machines)
        self.recalled: list[str] = []
        """The backend of each recall that had hits."""
        self.failures: list[Any] = []
        self._over = threading.Event()
        self._threads = [
            *(threading.Thread(target=self._write, args=(number,)) for number in range(len(machines))),
            *(threading.Thread(target=self._carry, args=(machine,)) for machine in machines),
            *(threading.Thread(target=self._read) for _ in range(READERS)),
        ]

    def write(self, machine: Machine, text: str) -> None:
        """Write a memory and keep its id."""
        done = machine.run("memory", "write", text)
        if done.code == 0:
            self.acknowledged[done.result["id"]] = text
        else:
            self.failures.append(done)

    def _write(self, number: int) -> None:
        turn = 0
        while not self._over.is_set():
            turn += 1
            self.write(self.machines[number], f"Machine {number} saw worker {turn} listen on port {9000 + turn}")
            self.written[number] = turn
            time.sleep(PAUSE_S)

    def _carry(self, machine: Machine) -> None:
        while not self._over.is_set():
            machine.run("store", "push", JOELCLAW_STORE_TIMEOUT_MS="200")  # it may fail meanwhile
            time.sleep(3 * PAUSE_S)

    def _read(self) -> None:
        while not self._over.is_set():
            done = self.machines[0].run("recall", "which worker listens on a port", "--limit", "3")
            if done.code:
                self.failures.append(done)
            elif done.result["hits"]:  # a node that is behind for a moment has none (docs/typesense.md, "Faults")
                self.recalled.append(done.result["backend"])
            time.sleep(PAUSE_S)

    def start(self) -> None:
        """Let it begin."""
        for thread in self._threads:
            thread.start()

    def went_on(self) -> None:
        """Wait until each writer has written some more, and recall has answered some more."""
        written, recalled = [turn + MORE for turn in self.written], len(self.recalled) + READERS
        eventually(
            lambda: (
                self.failures
                or (
                    (all(now >= then for now, then in zip(self.written, written, strict=True)))
                    and len(self.recalled) >= recalled
                )
            ),
            PATIENCE_S,
        )

    def stop(self) -> None:
        """Let each come to its end."""
        self._over.set()
        for thread in self._threads:
            thread.join()


def test_the_leader_is_killed_under_load(three: Cluster, tmp_path: Path) -> None:
    environment = three.environment(JOELCLAW_STORE_PREFIX=new_prefix())
    machines = [Machine(tmp_path / f"writer-{number}", environment) for number in range(WRITERS)]
    patiently(lambda: machines[0].result("store", "init"))
    load = Load(machines)
    load.write(machines[0], "Machine 0 saw the first worker listen on a port")
    patiently(machines[0].push)
    load.start()
    load.went_on()
    leader = three.leader()
    leader.kill()
    load.went_on()
    three.leader(PATIENCE_S)  # another one
    load.went_on()
    load.stop()
    assert load.failures == []
    assert len(load.acknowledged) > WRITERS * 3
    assert load.recalled
    for machine in machines:
        patiently(machine.push)
        assert machine.waiting()["documents"] == 0
    patiently(lambda: _has(machines[0], load.acknowledged))
    _catches_up(three, leader, machines[0], len(load.acknowledged))


def _has(machine: Machine, everything: dict[str, str]) -> None:
    """A node may be behind the others for a moment."""
    assert {name: row["observation"] for name, row in machine.rows_in_cluster().items()} == everything


def _catches_up(three: Cluster, killed: Server, machine: Machine, count: int) -> None:
    """The killed node comes back and holds the same as the others."""
    killed.start()
    name = f"/collections/{machine.environment['JOELCLAW_STORE_PREFIX']}memory_observations"

    def assert_complete() -> None:
        try:
            assert killed.get(name)["num_documents"] == count
        except OSError as error:
            raise AssertionError(str(error)) from None

    patiently(assert_complete)
    assert {server.get(name)["num_documents"] for server in three.servers} == {count}
