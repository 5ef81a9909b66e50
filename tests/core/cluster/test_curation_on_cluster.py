"""What a person says of a memory holds on the cluster too: tags, pins, what took its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, Run
from typesense_server import Server, needs_server

pytestmark = needs_server
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
def test_changes_hold_there_before_and_after_they_are_sent(run: Run, cluster: dict[str, str], pushed: bool) -> None:
    friday = "Deploy day of the harbour service is Friday"
    new = run("memory", "supersede", "tuesday", friday, env=FROZEN).result["id"]
    run("memory", "edit", "old", "--pin", env=FROZEN)
    run("memory", "edit", "other", "--add-tags", "deploys", env=FROZEN)
    if pushed:
        assert run("store", "push", env=cluster).result
    found = {hit["id"] for hit in recalled(run, cluster)["hits"]}
    assert found == {new, "old", "other"}
    assert {hit["id"] for hit in recalled(run, cluster, "--tag", "deploys")["hits"]} == {new, "other"}
    assert {hit["id"] for hit in recalled(run, cluster, "--tag", "deploys", "--tag", "ports")["hits"]} == {"other"}
    run("memory", "supersede", "tuesday", "--undo", env=FROZEN)
    if pushed:
        run("store", "push", env=cluster)
    assert {hit["id"] for hit in recalled(run, cluster)["hits"]} == {"tuesday", "old", "other"}
