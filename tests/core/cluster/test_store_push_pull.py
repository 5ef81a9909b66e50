"""`store push` and `pull`: writes and curation reach the cluster once, other machines see them, a pull fills a home."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, PATIENCE_S, Run, begin
from faults import SLOWEST_S, paused, stopped
from machines import Machine, eventually, joined, new_prefix
from typesense_server import Server, needs_server

from core.store import cluster_sync, sqlite

pytestmark = needs_server
COUNT = 600
FACTS = (
    "The staging queue drains at 14:00 UTC; deploys wait for it",
    "packages/worker-7/src/index.ts must not import the scheduler of region 7",
    "Ticket OPS-77 was closed because shard 12 no longer drops connections",
)


@pytest.fixture
def machine(server: Server, home: Path) -> Machine:
    return joined(home, server)


def import_many(machine: Machine, count: int = COUNT) -> None:
    """Import memories into every collection, with tags, counters and vectors."""
    rows = [
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
        for n in range(count)
    ]
    assert machine.result("memory", "import", "-", stdin="\n".join(map(json.dumps, rows)).encode())["added"] == count


def exported(machine: Machine) -> list[str]:
    return sorted(machine.run("memory", "export").out.splitlines())


def pushed_texts(machine: Machine) -> dict[str, str]:
    return {name: row["observation"] for name, row in machine.rows_in_cluster().items()}


def test_each_write_is_pushed_once(machine: Machine) -> None:
    written = {machine.write(fact): fact for fact in FACTS}
    assert machine.waiting()["documents"] == 3
    assert machine.push()["sent"]["documents"] == 3
    assert pushed_texts(machine) == written
    assert machine.push()["sent"] == {"documents": 0, "deleted": 0, "refused": 0}


def test_init_queues_everything_again_for_a_cluster_that_lost_it(machine: Machine) -> None:
    written = {machine.write(fact): fact for fact in FACTS}
    machine.push()
    for name in ("memory_observations", "episodes", "system_knowledge"):
        machine.remove_there(name)
    machine.result("store", "init")
    machine.push()
    assert pushed_texts(machine) == written


def test_a_forgotten_memory_is_deleted_in_the_cluster_until_restored(machine: Machine) -> None:
    name = machine.write(FACTS[0])
    machine.push()
    machine.result("memory", "forget", name)
    assert machine.push()["sent"]["deleted"] == 1
    assert machine.rows_in_cluster() == {}
    machine.result("memory", "forget", name, "--undo")
    machine.push()
    assert pushed_texts(machine) == {name: FACTS[0]}


def test_sections_follow_their_file_in_the_cluster(machine: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# Queue\n\nThe staging queue drains at 14:00 UTC and deploys wait for it.\n")
    (folder / "b.md").write_text("# Shards\n\nShard twelve no longer drops its connections.\n")
    machine.result("knowledge", "sync", str(folder))
    machine.push()
    assert "14:00" in json.dumps(machine.rows_in_cluster("knowledge"))
    (folder / "a.md").unlink()
    machine.result("knowledge", "sync", str(folder))
    machine.push()
    assert "14:00" not in json.dumps(machine.rows_in_cluster("knowledge"))
    assert "Shard twelve" in json.dumps(machine.rows_in_cluster("knowledge"))


def test_another_machine_recalls_what_was_pushed(machine: Machine, tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop", machine.environment)
    name = machine.write(FACTS[0])
    machine.push()
    answer = laptop.result("recall", "when does the staging queue drain")
    assert (answer["backend"], answer["hits"][0]["id"]) == ("typesense", name)
    own = laptop.write(FACTS[1])
    laptop.result("store", "init")
    laptop.push()
    assert machine.result("recall", "worker-7 scheduler import")["hits"][0]["id"] == own
    assert set(machine.rows_in_cluster()) == {name, own}


def test_a_pull_fills_a_new_home(machine: Machine, tmp_path: Path) -> None:
    import_many(machine)
    machine.push()
    other = Machine(tmp_path / "other", machine.environment)
    assert other.result("store", "pull") == {"documents": COUNT}
    assert exported(other) == exported(machine)
    local = {"JOELCLAW_STORE_BACKEND": "sqlite"}
    query = ("recall", "worker 17 port")
    assert other.result(*query, **local)["hits"][0] == machine.result(*query, **local)["hits"][0]


def test_a_pull_needs_a_home_without_memories(machine: Machine, tmp_path: Path) -> None:
    machine.push()
    other = Machine(tmp_path / "other", machine.environment)
    other.write(FACTS[0])
    assert other.run("store", "pull").assert_failed() == "STORE_NOT_EMPTY"


def test_a_pull_that_is_killed_leaves_a_new_home(machine: Machine, tmp_path: Path) -> None:
    import_many(machine, 300)
    machine.push()
    other = Machine(tmp_path / "other", machine.environment)
    other.home.mkdir(mode=0o700)
    stopped(paused(other.home, "store", "pull", commit=2, env=machine.environment))
    other.result("store", "pull")
    assert exported(other) == exported(machine)


def test_a_pulled_document_is_redacted_again(machine: Machine, tmp_path: Path) -> None:
    name = machine.write(FACTS[0])
    machine.push()
    secret = "ghp_" + "a1B2" * 9
    with machine.cluster() as cluster:
        (row,) = cluster.export("memory_observations")
        cluster.write("memory_observations", [{**row, "observation": f"the token is {secret}", "tags": ["x", secret]}])
    other = Machine(tmp_path / "other", machine.environment)
    other.result("store", "pull")
    assert secret not in other.memories()[name]
    assert all(secret.encode() not in path.read_bytes() for path in other.home.glob("store.db*"))


def test_a_push_that_is_killed_loses_nothing(machine: Machine) -> None:
    import_many(machine)
    for commit in (1, 3, 2):
        stopped(paused(machine.home, "store", "push", commit=commit, env=machine.environment))
    machine.push()
    assert sum(len(machine.rows_in_cluster(name)) for name in sqlite.COLLECTIONS) == COUNT
    assert machine.push()["sent"]["documents"] == 0


def test_writes_during_pushes_are_all_pushed(machine: Machine) -> None:
    pushes = [begin(machine.home, "store", "push", **machine.environment) for _ in range(3)]
    written = {machine.write(f"Service svc-{n} listens on port {7000 + n}") for n in range(8)}
    assert [push.communicate(timeout=PATIENCE_S) and push.returncode for push in pushes] == [0] * 3
    machine.push()
    assert set(machine.rows_in_cluster()) == written


def test_a_hook_starts_a_push_and_does_not_wait_for_it(machine: Machine) -> None:
    name = machine.write(FACTS[0])
    machine.background = True
    os.utime(machine.home / "outbox.lock", (0, 0))
    machine.configure()
    payload = json.dumps({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "drain the queue"})
    done = machine.run("hook", "claude", stdin=payload.encode())
    assert done.code == 0 and done.took_s < SLOWEST_S
    eventually(lambda: name in machine.rows_in_cluster())


def test_a_refused_document_is_reported_and_delays_no_other(machine: Machine) -> None:
    # A field of ours with another type makes the server refuse the document that has it.
    name = sqlite.COLLECTIONS["observations"].remote
    written = [machine.write(fact) for fact in FACTS]
    (expected,) = (schema for schema in cluster_sync.schemas() if schema["name"] == name)
    fields = [{**field, "type": "int64[]"} if field["name"] == "tags" else field for field in expected["fields"]]
    machine.remove_there(name)
    machine.create_there({**expected, "fields": fields})
    machine.result("memory", "import", "-", stdin=json.dumps({"id": "tagged", "text": "x y z", "tags": ["a"]}).encode())
    result = machine.push()
    assert result["sent"]["refused"] == result["waiting"]["refused"] == 1
    assert "tags" in result["waiting"]["refusal"]
    assert set(machine.rows_in_cluster()) == set(written)
    assert [problem["code"] for problem in machine.result("status")["problems"]] == ["TYPESENSE_REFUSED"]


@pytest.mark.parametrize("command", ["push", "pull"])
def test_without_collections_the_fix_is_init(server: Server, home: Path, command: str) -> None:
    machine = Machine(home, server.environment(JOELCLAW_STORE_PREFIX=new_prefix()))
    if command == "push":
        machine.write(FACTS[0])
    done = machine.run("store", command)
    assert done.assert_failed() == "TYPESENSE_NOT_INITIALISED"
    assert "store init" in done.envelope["fix"]


DAY_MS = 86_400_000
FROZEN = {"JOELCLAW_NOW_MS": str(NOW_MS), "JOELCLAW_STORE_TIMEOUT_MS": "20000"}
QUERY = "deploy day of the harbour service"
LINES = [
    {"id": "tuesday", "text": "Deploy day of the harbour service is Tuesday", "tags": ["deploys"]},
    {"id": "other", "text": "The harbour service answers on port 4410", "tags": ["ports", 'a`b"c']},
    {"id": "old", "text": "Deploy notes of the harbour service lie in the wiki", "created_at": NOW_MS - 300 * DAY_MS},
]


@pytest.fixture
def cluster(run: Run, server: Server, tmp_path: Path) -> dict[str, str]:
    environment = server.environment(JOELCLAW_STORE_PREFIX=f"cur{abs(hash(tmp_path)) % 10**8}_", **FROZEN)
    run("memory", "import", "-", stdin="".join(json.dumps(line) + "\n" for line in LINES), env=FROZEN)
    run("store", "init", env=environment)
    run("store", "push", env=environment)
    return environment


def recalled(run: Run, cluster: dict[str, str], *words: str) -> Any:
    result = run("recall", QUERY, *words, env=cluster).result
    assert (result["backend"], result.get("fallback")) == ("typesense", None)
    return result


@pytest.mark.parametrize("pushed", [False, True], ids=["waiting", "pushed"])
def test_curation_applies_to_the_cluster_before_and_after_a_push(
    run: Run, cluster: dict[str, str], pushed: bool
) -> None:
    friday = "Deploy day of the harbour service is Friday"
    new = run("memory", "supersede", "tuesday", friday, env=FROZEN).result["id"]
    run("memory", "edit", "old", "--pin", env=FROZEN)
    run("memory", "edit", "other", "--add-tags", "deploys", env=FROZEN)
    if pushed:
        assert run("store", "push", env=cluster).result
    hits = {hit["id"] for hit in recalled(run, cluster)["hits"]}
    assert hits == {new, "old", "other"}
    assert {hit["id"] for hit in recalled(run, cluster, "--tag", "deploys")["hits"]} == {new, "other"}
    assert {hit["id"] for hit in recalled(run, cluster, "--tag", "deploys", "--tag", "ports")["hits"]} == {"other"}
    run("memory", "supersede", "tuesday", "--undo", env=FROZEN)
    if pushed:
        run("store", "push", env=cluster)
    assert {hit["id"] for hit in recalled(run, cluster)["hits"]} == {"tuesday", "old", "other"}
