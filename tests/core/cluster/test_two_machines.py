"""Two machines, one memory: what one writes the other recalls after a sync, and both come to the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS
from machines import Machine, new_prefix
from typesense_server import Server, needs_server

pytestmark = needs_server
FACT = "The staging queue drains at 14:00 UTC; deploys wait for it"
OTHER = "packages/worker-7/src/index.ts must not import the scheduler of region 7"


@pytest.fixture
def two(server: Server, tmp_path: Path) -> tuple[Machine, Machine]:
    environment = server.environment(JOELCLAW_STORE_PREFIX=new_prefix())
    made = Machine(tmp_path / "desk", environment), Machine(tmp_path / "laptop", environment)
    made[0].result("store", "init")
    return made


def local(machine: Machine, query: str) -> list[Any]:
    """What the local file recalls, without a trace in the counters of others."""
    hits: list[Any] = machine.result("recall", query, JOELCLAW_STORE_BACKEND="sqlite")["hits"]
    return hits


def settle(*machines: Machine) -> None:
    """Sync, one after the other and the first once more: then each has everything of the others."""
    for machine in (*machines, machines[0]):
        machine.sync()


def shown(machine: Machine, name: str) -> Any:
    return machine.result("memory", "show", name)


def imported(machine: Machine, **fields: Any) -> None:
    assert machine.result("memory", "import", "-", stdin=json.dumps(fields).encode())["failed"] == 0


def at(ms: int) -> dict[str, str]:
    return {"JOELCLAW_NOW_MS": str(NOW_MS + ms)}


def test_what_one_writes_the_other_recalls(two: tuple[Machine, Machine]) -> None:
    desk, laptop = two
    name = desk.write(FACT)
    desk.sync()
    assert laptop.sync()["received"] == 1
    assert [(hit["id"], hit["observation"]) for hit in local(laptop, "staging queue drains")] == [(name, FACT)]
    assert laptop.result("recall", "when does the queue drain")["hits"][0]["id"] == name
    assert desk.verify()["same"] is True


def test_each_has_its_own_rows_and_everything_of_both(two: tuple[Machine, Machine]) -> None:
    desk, laptop = two
    texts = {desk.write(f"Service svc-{n} listens on port {7000 + n}") for n in range(4)}
    texts |= {laptop.write(f"Ticket OPS-{n} was closed by the shard team {n}") for n in range(5)}
    settle(desk, laptop)
    assert desk.memories() == laptop.memories()
    assert set(desk.memories()) == texts
    assert desk.sync()["received"] == laptop.sync()["received"] == 0


def test_forgetting_reaches_everywhere_and_so_does_its_undoing(two: tuple[Machine, Machine]) -> None:
    desk, laptop = two
    name = desk.write(FACT)
    settle(desk, laptop)
    laptop.result("memory", "forget", name)
    settle(laptop, desk)
    assert local(desk, "staging queue drains") == []
    assert desk.result("recall", "staging queue drains")["hits"] == []
    desk.sync()
    assert shown(desk, name)["forgotten"] is True
    assert desk.verify()["same"] is laptop.verify()["same"] is True
    desk.result("memory", "forget", name, "--undo")
    settle(desk, laptop)
    assert [hit["id"] for hit in local(laptop, "staging queue drains")] == [name]


def test_a_new_machine_never_hears_of_what_was_forgotten(two: tuple[Machine, Machine], tmp_path: Path) -> None:
    desk, laptop = two
    gone, kept = desk.write(FACT), desk.write(OTHER)
    desk.sync()
    desk.result("memory", "forget", gone)
    desk.sync()
    assert laptop.sync()["received"] == 1
    assert set(laptop.memories()) == {kept}
    assert b"staging queue" not in (laptop.home / "store.db-wal").read_bytes()


def test_of_two_edits_the_newer_stays(two: tuple[Machine, Machine]) -> None:
    desk, laptop = two
    name = desk.write(FACT, **at(0))
    settle(desk, laptop)
    for year, first, second in ((2030, desk, laptop), (2040, laptop, desk)):  # whoever syncs first
        imported(laptop, id=name, text=f"older edit {year} " + FACT, updated_at=f"{year}-01-01T00:00:00Z")
        imported(desk, id=name, text=f"newer edit {year} " + FACT, updated_at=f"{year}-01-02T00:00:00Z")
        settle(first, second)
        assert desk.memories() == laptop.memories()
        assert desk.memories()[name].startswith(f"newer edit {year}")
    assert desk.verify()["same"] is True


def test_an_edit_after_a_forgetting_brings_it_back_only_where_it_is_newer(two: tuple[Machine, Machine]) -> None:
    desk, laptop = two
    name = desk.write(FACT, **at(0))
    settle(desk, laptop)
    laptop.result("memory", "forget", name, **at(5000))
    desk.result("memory", "write", FACT, **at(1000))  # said again before that
    settle(desk, laptop)
    assert desk.memories() == laptop.memories() == {}
    assert desk.verify()["same"] is True


def test_edits_of_the_same_moment_come_to_the_same(two: tuple[Machine, Machine]) -> None:
    desk, laptop = two
    name = desk.write(FACT, **at(0))
    settle(desk, laptop)
    stamp = shown(desk, name)["updated_at"]
    imported(desk, id=name, text="one edit of " + FACT, updated_at=stamp)
    imported(laptop, id=name, text="two edit of " + FACT, updated_at=stamp)
    settle(desk, laptop)
    assert desk.memories() == laptop.memories()
    assert desk.verify()["same"] is laptop.verify()["same"] is True


@pytest.mark.parametrize("order", [1, -1], ids=["desk first", "laptop first"])
def test_the_later_use_of_a_memory_counts(two: tuple[Machine, Machine], order: int) -> None:
    desk, laptop = two
    name = desk.write(FACT, **at(0))
    settle(desk, laptop)
    for machine, when in ((desk, 1_000), (desk, 2_000), (laptop, 3_000)):
        machine.result("recall", "staging queue drains", JOELCLAW_STORE_BACKEND="sqlite", **at(when))
    for _ in range(2):
        settle(*two[::order])
        assert shown(desk, name)["recallCount"] == shown(laptop, name)["recallCount"] == 1
    assert desk.verify()["same"] is laptop.verify()["same"] is True
    desk.result("recall", "staging queue drains", JOELCLAW_STORE_BACKEND="sqlite", **at(4_000))
    imported(desk, id=name, text=FACT, retrieval_priority=0.3)
    settle(desk, laptop)
    assert (shown(laptop, name)["recallCount"], shown(laptop, name)["retrievalPriority"]) == (2, 0.3)


def test_what_comes_from_the_cluster_is_redacted_and_sent_back(two: tuple[Machine, Machine]) -> None:
    desk, laptop = two
    name = desk.write(FACT)
    desk.sync()
    secret = "ghp_" + "a1B2" * 9
    with desk.cluster() as cluster:
        (row,) = cluster.export("memory_observations")
        row["observation"] = f"the token is {secret}"
        row["tags"] = ["tides", secret]
        row["sync_content"] = "another"
        row["updated_at"] += 10
        row["sync_origin"] = "a careless program"
        cluster.import_("memory_observations", [row])
    laptop.sync()
    assert secret not in laptop.memories()[name]
    assert secret not in str(shown(laptop, name)) and "tides" in shown(laptop, name)["tags"]
    settle(desk, laptop)
    assert secret not in str(desk.there())
    for machine in two:
        assert all(secret.encode() not in path.read_bytes() for path in machine.home.glob("store.db*"))


def test_many_changes_are_read_page_by_page(two: tuple[Machine, Machine]) -> None:
    desk, laptop = two
    lines = "\n".join(json.dumps({"id": f"n{n}", "text": f"Worker {n} listens on port {9000 + n}"}) for n in range(700))
    desk.result("memory", "import", "-", stdin=lines.encode())
    desk.sync()
    assert laptop.sync()["received"] == 700
    assert desk.memories() == laptop.memories()
    assert laptop.verify()["same"] is True
