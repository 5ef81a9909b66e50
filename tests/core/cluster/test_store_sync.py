"""`joelclaw store sync` and its background: what is written here gets to the cluster, in order, once, and soon."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from conftest import PATIENCE_S
from faults import SLOWEST_S, paused, stopped
from machines import Machine, eventually, joined, new_prefix
from typesense_server import Server, needs_server

from core.store.cluster import collections, mapping

pytestmark = needs_server
MANY = 80
FACTS = (
    "The staging queue drains at 14:00 UTC; deploys wait for it",
    "packages/worker-7/src/index.ts must not import the scheduler of region 7",
    "Ticket OPS-77 was closed because shard 12 no longer drops connections",
)


@pytest.fixture
def machine(server: Server, home: Path) -> Machine:
    return joined(home, server)


def due(machine: Machine) -> Path:
    """Its time of change says when the background may run again."""
    return machine.home / "cache" / "store-sync.due"


def test_what_is_written_is_carried_and_only_once(machine: Machine) -> None:
    written = [machine.write(fact) for fact in FACTS]
    assert machine.waiting()["documents"] == 3
    assert machine.sync()["sent"]["documents"] == 3
    found = machine.there()
    assert [found[name]["observation"] for name in written] == list(FACTS)
    again = machine.sync()
    assert (again["sent"], again["received"]) == ({"documents": 0, "events": 0}, 0)
    assert machine.verify()["same"] is True
    assert machine.there() == found


def test_batches_arrive_in_the_order_of_the_writes(machine: Machine) -> None:
    written = [machine.write(fact) for fact in FACTS]
    machine.sync(JOELCLAW_STORE_BATCH="1")
    numbers = [machine.there()[name]["sync_batch"] for name in written]
    assert numbers == sorted(set(numbers))


def test_a_store_that_existed_before_is_carried_whole(server: Server, home: Path) -> None:
    machine = Machine(home, server.environment(JOELCLAW_STORE_PREFIX=new_prefix()))
    written = {machine.write(fact): fact for fact in FACTS}
    machine.result("otel", "emit", "build.ok")
    machine.result("store", "init")
    sent = machine.sync()["sent"]
    assert sent["documents"] == 3
    assert sent["events"] >= 1
    assert {name: row["observation"] for name, row in machine.there().items()} == written


def test_a_forgotten_memory_leaves_no_word_on_the_cluster(machine: Machine) -> None:
    name = machine.write(FACTS[0])
    machine.sync()
    machine.result("memory", "forget", name)
    machine.sync()
    assert "staging" not in json.dumps(machine.there()[name])
    assert machine.verify()["same"] is True
    machine.result("memory", "forget", name, "--undo")
    machine.sync()
    assert machine.there()[name]["observation"] == FACTS[0]
    assert machine.verify()["same"] is True


def test_what_was_forgotten_before_it_was_carried_never_goes(machine: Machine) -> None:
    name = machine.write(FACTS[0])
    machine.result("memory", "forget", name)
    machine.sync()
    assert "staging" not in json.dumps(machine.there())
    assert machine.verify()["same"] is True


def test_a_section_that_left_its_file_leaves_the_cluster(machine: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# Queue\n\nThe staging queue drains at 14:00 UTC and deploys wait for it.\n")
    (folder / "b.md").write_text("# Shards\n\nShard twelve no longer drops its connections.\n")
    machine.result("knowledge", "sync", str(folder))
    machine.sync()
    assert "14:00" in json.dumps(machine.there("knowledge"))
    (folder / "a.md").unlink()
    machine.result("knowledge", "sync", str(folder))
    machine.sync()
    assert "14:00" not in json.dumps(machine.there("knowledge"))
    assert machine.verify()["same"] is True
    (folder / "a.md").write_text("# Queue\n\nThe staging queue drains at 14:00 UTC and deploys wait for it.\n")
    machine.result("knowledge", "sync", str(folder))
    machine.sync()
    assert "14:00" in json.dumps(machine.there("knowledge"))
    assert machine.verify()["same"] is True


def test_a_sync_that_is_killed_loses_and_doubles_nothing(machine: Machine) -> None:
    few = {"JOELCLAW_STORE_BATCH": "10"}
    _import(machine, 0)
    machine.sync(**few)
    for turn, commit in enumerate((1, 2, 4, 3), 1):
        _import(machine, turn)
        stopped(paused(machine.home, "store", "sync", commit=commit, env={**machine.environment, **few}))
    assert machine.sync()["complete"] is True
    assert machine.verify()["same"] is True
    assert len(machine.there()) == 5 * MANY
    # What was under way when it was killed is looked at once more, a minute later.
    later = str(int(2e12))
    assert machine.sync(JOELCLAW_NOW_MS=later)["sent"]["documents"] == 0


def _import(machine: Machine, turn: int) -> None:
    """As many new memories as make a sync of some batches."""
    numbers = range(turn * MANY, (turn + 1) * MANY)
    lines = "\n".join(json.dumps({"id": f"n{n}", "text": f"Worker {n} listens on port {9000 + n}"}) for n in numbers)
    machine.result("memory", "import", "-", stdin=lines.encode())


def test_writes_beside_syncs_are_all_carried(machine: Machine) -> None:
    syncs = [machine.popen("store", "sync") for _ in range(3)]
    written = {machine.write(f"Service svc-{n} listens on port {7000 + n}") for n in range(8)}
    assert [one.communicate(timeout=PATIENCE_S) and one.returncode for one in syncs] == [0] * 3
    machine.sync()
    assert set(machine.there()) == written
    assert machine.verify()["same"] is True


def test_any_command_starts_the_carrying_in_the_background(machine: Machine) -> None:
    machine.background = True
    due(machine).unlink()
    name = machine.write(FACTS[0])
    assert eventually(lambda: machine.there().get(name))["observation"] == FACTS[0]
    eventually(lambda: machine.waiting()["documents"] == 0)


def test_a_hook_starts_it_too_and_is_as_fast(machine: Machine) -> None:
    name = machine.write(FACTS[0])
    machine.background = True
    due(machine).unlink()
    payload = json.dumps({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "drain the queue"})
    done = machine.run("hook", "claude", stdin=payload.encode())
    assert done.code == 0
    assert done.took_s < SLOWEST_S
    eventually(lambda: name in machine.there())


def test_what_the_server_refuses_is_told_and_holds_up_nothing(machine: Machine) -> None:
    # A field of ours with another type makes the server refuse the document that has it.
    name = mapping.COLLECTIONS["observations"]
    written = [machine.write(fact) for fact in FACTS]
    (wanted,) = (one for one in collections.schemas() if one["name"] == name)
    fields = [{**one, "type": "int64[]"} if one["name"] == "tags" else one for one in wanted["fields"]]
    machine.remove_there(name)
    with machine.cluster() as cluster:
        cluster.create({**wanted, "fields": fields})
    machine.result("memory", "import", "-", stdin=json.dumps({"id": "tagged", "text": "x y z", "tags": ["a"]}).encode())
    result = machine.sync()
    assert result["refused"] == 1
    assert result["waiting"]["refused"] == 1
    assert "tags" in result["waiting"]["refusal"]
    assert set(machine.there()) == set(written)
    status = machine.result("status")
    assert [problem["code"] for problem in status["problems"]] == ["TYPESENSE_REFUSED"]


@pytest.mark.parametrize("words", [("store", "sync"), ("store", "push"), ("store", "pull"), ("store", "verify")])
def test_without_collections_it_says_what_to_do(
    server: Server, home: Path, words: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    machine = Machine(home, server.environment(JOELCLAW_STORE_PREFIX=new_prefix()))
    machine.write(FACTS[0])
    done = machine.run(*words)
    assert done.assert_failed() == "TYPESENSE_NOT_INITIALISED"
    assert "store init" in done.envelope["fix"]
    assert len(machine.memories()) == 1


def test_recall_asks_a_cluster_again_that_a_sync_has_reached(machine: Machine) -> None:
    machine.write(FACTS[0])
    mark = machine.home / "cache" / "typesense-down.json"
    nodes = f"{machine.environment['TYPESENSE_URL']} {machine.environment['JOELCLAW_STORE_PREFIX']} key"
    fault = {"nodes": nodes, "at": int(time.time() * 1000), "code": "TYPESENSE_UNREACHABLE", "message": "no answer"}
    mark.write_text(json.dumps(fault))
    assert machine.result("recall", FACTS[0])["fallback"]["code"] == "TYPESENSE_UNREACHABLE"
    machine.sync()
    answered = machine.result("recall", FACTS[0])
    assert (answered["backend"], answered.get("fallback")) == ("typesense", None)
