"""With a cluster, own writes are recallable and forgotten memories gone at once, before any sync."""

from pathlib import Path

import pytest
from machines import Machine, new_prefix
from typesense_server import Server, needs_server

pytestmark = needs_server
FIRST = "The tide gauge at Vlissingen is read every ten minutes by the harbour service"
PATIENT = {"JOELCLAW_STORE_TIMEOUT_MS": "20000"}


@pytest.fixture
def machine(tmp_path: Path, server: Server) -> Machine:
    """A home with a cluster that has one memory."""
    machine_ = Machine(tmp_path / "home", server.environment(JOELCLAW_STORE_PREFIX=new_prefix(), **PATIENT))
    machine_.write(FIRST)
    machine_.result("store", "init")
    machine_.push()
    return machine_


def recalled(machine: Machine, query: str, *words: str) -> list[str]:
    result = machine.result("recall", query, *words)
    assert result["backend"] == "typesense", result
    return [hit["observation"] for hit in result["hits"]]


def test_a_memory_is_found_before_it_is_pushed(machine: Machine) -> None:
    text = "The spare tide gauge lies in shed 4, behind the winch"
    machine.write(text, JOELCLAW_SESSION_ID="s")
    assert text in recalled(machine, "where is the spare tide gauge")
    assert FIRST in recalled(machine, "tide gauge at Vlissingen")
    assert text not in recalled(machine, "where is the spare tide gauge", "--collection", "knowledge")
    machine.push()
    assert recalled(machine, "where is the spare tide gauge").count(text) == 1


def test_a_forgotten_memory_is_gone_before_it_is_pushed(machine: Machine) -> None:
    hit = machine.result("recall", "tide gauge at Vlissingen")["hits"][0]
    machine.result("memory", "forget", hit["id"])
    assert recalled(machine, "tide gauge at Vlissingen") == []
    machine.result("memory", "forget", "--undo", hit["id"])
    assert recalled(machine, "tide gauge at Vlissingen") == [FIRST]


def test_a_memory_written_again_is_found_once(machine: Machine) -> None:
    merged = machine.result("memory", "write", FIRST + ".")
    assert merged["merged"]
    assert len(recalled(machine, "tide gauge at Vlissingen")) == 1
