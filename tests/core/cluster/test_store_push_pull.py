"""`store push`, `pull` and `verify` move a whole memory either way and prove that both sides hold the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from faults import paused, stopped
from machines import Machine, new_prefix
from typesense_server import Server, needs_server

pytestmark = needs_server
COUNT = 320
LINES = "\n".join(
    json.dumps(
        {
            "id": f"n{n}",
            "text": f"Worker {n} listens on port {9000 + n}",
            "collection": ("observations", "episodes", "knowledge")[n % 3],
            "tags": [f"t{n % 7}"],
            "context": f"the {n}th of them" if n % 3 == 1 else "",
            "category": "ops",
            "recall_count": n % 5,
            "retrieval_priority": (n % 9) / 10,
        }
    )
    for n in range(COUNT)
).encode()


@pytest.fixture
def machine(server: Server, home: Path) -> Machine:
    """A home with memories of every collection and some events, and a prepared cluster that has nothing."""
    made = Machine(home, server.environment(JOELCLAW_STORE_PREFIX=new_prefix()))
    assert made.result("memory", "import", "-", stdin=LINES)["added"] == COUNT
    made.result("otel", "emit", "build.ok", "--metadata", '{"n": 1}')
    made.result("store", "init")
    return made


def export(machine: Machine) -> list[str]:
    """Everything that the local file says, line by line."""
    return sorted(machine.run("memory", "export").out.splitlines())


def test_a_whole_memory_goes_there_and_back(machine: Machine, tmp_path: Path) -> None:
    machine.result("otel", "emit", "build.failed", "--level", "error", "--error", "no tide table")
    before = machine.verify()
    assert (before["same"], before["code"]) == (False, "STORE_DIFFERS")
    assert before["collections"]["episodes"] == {"here": 107, "there": 0, "same": 0, "different": 107}
    assert len(before["differences"]) == 100
    sent = machine.result("store", "push")["sent"]
    assert sent["documents"] == COUNT
    assert sent["events"] >= 1
    after = machine.verify()
    assert (after["same"], after["waiting"]["documents"]) == (True, 0)
    assert sum(one["same"] for one in after["collections"].values()) == COUNT
    assert after["events"]["missingThere"] == 0
    other = Machine(tmp_path / "other", machine.environment)
    assert other.result("store", "pull", "--events")["received"] == COUNT
    assert export(other) == export(machine)
    assert other.verify()["same"] is True
    events = other.result("otel", "list", JOELCLAW_STORE_BACKEND="sqlite")["events"]
    assert [event["metadata"] for event in events if event["action"] == "build.ok"] == [{"n": 1}]
    assert [event["error"] for event in events if event["action"] == "build.failed"] == ["no tide table"]
    assert other.result("recall", "worker 17 port", JOELCLAW_STORE_BACKEND="sqlite")["hits"]


def test_what_was_damaged_there_is_listed_and_mended(machine: Machine) -> None:
    machine.result("store", "push")
    with machine.cluster() as cluster:
        rows = {row["id"]: row for row in cluster.export("memory_observations")}
        cluster.import_("memory_observations", [{**rows["n3"], "observation": "something else"}])
        machine.remove_there("memory_observations/documents/n6")
        cluster.import_("memory_observations", [{**rows["n9"], "sync_shares": "{}", "recall_count": 0}])
        cluster.import_("memory_observations", [{**rows["n12"], "id": "foreign"}])
    found = machine.verify()
    kinds = {one["id"]: one["kind"] for one in found["differences"]}
    assert kinds == {"n3": "content", "n6": "only here", "n9": "counters", "foreign": "only there"}
    machine.result("store", "push")
    kinds = {one["id"]: one["kind"] for one in machine.verify()["differences"]}
    assert kinds == {"foreign": "only there"}
    machine.result("store", "pull")
    assert machine.verify()["same"] is True
    assert "foreign" in machine.memories()


def test_a_push_that_is_killed_goes_on_where_it_was(machine: Machine) -> None:
    few = {**machine.environment, "JOELCLAW_STORE_BATCH": "20"}
    for commit in (1, 3, 2):
        stopped(paused(machine.home, "store", "push", commit=commit, env=few))
    machine.result("store", "push")
    assert machine.verify()["same"] is True
    assert machine.result("store", "push")["sent"] == {"documents": 0, "events": 0}


def test_a_pull_that_is_killed_goes_on_where_it_was(machine: Machine, tmp_path: Path) -> None:
    machine.result("store", "push")
    other = Machine(tmp_path / "other", machine.environment)
    other.home.mkdir(mode=0o700)
    for commit in (2, 1, 2):
        stopped(paused(other.home, "store", "pull", commit=commit, env=machine.environment))
    other.result("store", "pull")
    assert export(other) == export(machine)
    assert other.result("store", "pull")["received"] == 0


def test_what_is_newer_here_is_not_counted_as_received(machine: Machine) -> None:
    machine.result("store", "push")
    machine.result("memory", "forget", "n1")
    machine.result("memory", "forget", "n2")
    assert machine.result("store", "pull")["received"] == 0
    assert machine.result("memory", "show", "n1")["forgotten"] is True


def test_a_cluster_that_lost_everything_is_filled_again(machine: Machine) -> None:
    machine.result("store", "push")
    for name in ("memory_observations", "episodes", "system_knowledge", "otel_events"):
        machine.remove_there(name)
    machine.result("store", "init")
    assert machine.sync()["sent"]["documents"] == 0, "the outbox knows of nothing"
    machine.result("store", "push")
    assert machine.verify()["same"] is True


def test_going_back_to_one_machine(machine: Machine, tmp_path: Path) -> None:
    machine.result("store", "push")
    other = Machine(tmp_path / "other", machine.environment)
    other.write("The staging queue drains at 14:00 UTC; deploys wait for it")
    other.result("store", "init")
    assert other.waiting()["documents"] == 1
    result = other.result("store", "pull", "--leave")
    assert (result["received"], result["left"]) == (COUNT, True)
    assert other.waiting() is None
    assert len(other.memories()) == COUNT + 1
    other.write("and what is written afterwards stays here", JOELCLAW_STORE_BACKEND="sqlite")
    assert other.waiting() is None
