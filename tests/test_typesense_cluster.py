"""A cluster of three whose leader is killed under load: no acknowledged write is lost, and recall answers throughout."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from machines import Machine, new_prefix
from typesense_server import Cluster, Server, cluster, needs_server

pytestmark = needs_server
WRITERS = 3
READERS = 2
AFTER_S = 4.0
"""How long the load goes on after the leader's death: some elections."""


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster"), 3) as made:
        yield made


def patiently(action: Callable[[], Any], seconds: float = 60.0) -> Any:
    """What an action comes to, once it comes to anything: an election takes seconds."""
    until = time.monotonic() + seconds
    while True:
        try:
            return action()
        except AssertionError:
            if time.monotonic() > until:
                raise
            time.sleep(0.3)


def test_the_leader_is_killed_under_load(three: Cluster, tmp_path: Path) -> None:
    environment = three.environment(JOELCLAW_STORE_PREFIX=new_prefix())
    writers = [Machine(tmp_path / f"writer-{number}", environment) for number in range(WRITERS)]
    patiently(lambda: writers[0].result("store", "init"))
    patiently(lambda: writers[0].sync())
    acknowledged: list[dict[str, str]] = [{} for _ in writers]
    backends: list[str] = []
    failures: list[Any] = []
    over = threading.Event()

    def write(number: int) -> None:
        turn = 0
        while not over.is_set():
            turn += 1
            text = f"Machine {number} saw worker {turn} listen on port {9000 + turn}"
            done = writers[number].run("memory", "write", text)
            if done.code == 0:
                acknowledged[number][done.result["id"]] = text
            else:
                failures.append(done)

    def carry(number: int) -> None:
        while not over.is_set():
            writers[number].run("store", "sync", JOELCLAW_STORE_TIMEOUT_MS="200")  # it may fail meanwhile
            time.sleep(0.2)

    def read() -> None:
        while not over.is_set():
            done = writers[0].run("recall", "which worker listens on a port", "--limit", "3")
            if done.code == 0 and done.result["hits"]:
                backends.append(done.result["backend"])
            elif acknowledged[0]:
                failures.append(done)

    patiently(lambda: write_one(writers[0], acknowledged[0]))
    patiently(writers[0].sync)
    loads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    loads += [threading.Thread(target=carry, args=(number,)) for number in range(WRITERS)]
    loads += [threading.Thread(target=read) for _ in range(READERS)]
    for load in loads:
        load.start()
    time.sleep(1.5)
    leader = three.leader()
    leader.kill()
    time.sleep(AFTER_S)
    over.set()
    for load in loads:
        load.join()
    assert failures == []
    assert sum(map(len, acknowledged)) > WRITERS * 3
    assert backends
    for machine in (*writers, *writers):
        patiently(machine.sync)
    everything = {name: text for one in acknowledged for name, text in one.items()}
    assert {name: row["observation"] for name, row in writers[0].there().items()} == everything
    for machine in writers:
        assert machine.memories() == everything
    _all_the_same(writers[0])
    _catches_up(three, leader, writers[0], len(everything))


def write_one(machine: Machine, into: dict[str, str]) -> None:
    """There is something to recall before the load begins."""
    text = "Machine 0 saw the first worker listen on a port"
    into[machine.write(text)] = text


def _all_the_same(machine: Machine) -> None:
    def same() -> None:
        machine.sync()
        assert machine.verify()["same"] is True

    patiently(same)


def _catches_up(three: Cluster, killed: Server, machine: Machine, count: int) -> None:
    """The killed node comes back and holds the same as the others."""
    killed.start()
    name = f"/collections/{machine.environment['JOELCLAW_STORE_PREFIX']}memory_observations"

    def whole() -> None:
        try:
            assert killed.get(name)["num_documents"] == count
        except OSError as error:
            raise AssertionError(str(error)) from None

    patiently(whole)
    assert {server.get(name)["num_documents"] for server in three.servers} == {count}
