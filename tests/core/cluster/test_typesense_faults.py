"""Faults of the cluster lose nothing and slow no hook."""

import http.client
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from conftest import PATIENCE_S
from faults import SLOWEST_S, small_disk
from machines import Machine, joined, new_prefix
from test_typesense_connection import serving
from typesense_server import Server, free_ports, needs_server

pytestmark = needs_server
FACT = "The staging queue drains at 14:00 UTC; deploys wait for it"
PROMPT = json.dumps({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "drain the queue"}).encode()


@pytest.fixture
def machine(server: Server, home: Path) -> Machine:
    return joined(home, server)


def many(machine: Machine, count: int) -> None:
    lines = "\n".join(
        json.dumps({"id": f"n{n}", "text": f"Worker {n} listens on port {9000 + n}"}) for n in range(count)
    )
    machine.result("memory", "import", "-", stdin=lines.encode())


def assert_all_there(machine: Machine) -> None:
    """After one more push the cluster has every memory."""
    machine.push()
    assert machine.waiting()["documents"] == 0
    rows = machine.rows_in_cluster()
    assert {name: row["observation"] for name, row in rows.items()} == machine.memories()


class Fault:
    """What happens to the requests that carry documents; everything else goes through.

    Args:
        answer: the status and the body for the request's lines, None to hang up.
        forwarded: how many of the lines reach the server before that.
    """

    def __init__(self, answer: Callable[[list[bytes]], tuple[int, bytes] | None], *, forwarded: int = 0) -> None:
        self.answer = answer
        self.forwarded = forwarded


def proxy(server: Server, fault: Fault) -> AbstractContextManager[str]:
    """A node in front of the node that has a fault; its URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if "/import" not in self.path:
                self._reply(*self._forward(body))
                return
            lines = body.splitlines()
            if fault.forwarded:
                self._forward(b"\n".join(lines[: fault.forwarded]))
            reply = fault.answer(lines)
            if reply is None:
                self.close_connection = True
            else:
                self._reply(*reply)

        def _forward(self, body: bytes) -> tuple[int, bytes]:
            link = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=PATIENCE_S)
            key = {"X-TYPESENSE-API-KEY": self.headers["X-TYPESENSE-API-KEY"]}
            link.request(self.command, self.path, body or None, key)
            answer = link.getresponse()
            data = answer.read()
            link.close()
            return answer.status, data

        def _reply(self, status: int, body: bytes) -> None:
            try:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                pass  # the client has gone

        do_GET = do_POST = _handle  # noqa: N815  # the names that http.server calls

    return serving(Handler)


def test_a_server_that_is_down_costs_nothing_and_loses_nothing(machine: Machine) -> None:
    (port,) = free_ports(1)
    down = {"TYPESENSE_URL": f"http://127.0.0.1:{port}"}
    name = machine.write(FACT, **down)
    assert machine.run("store", "push", **down).assert_failed() == "TYPESENSE_UNREACHABLE"
    machine.background = True
    for _ in range(3):
        hook = machine.run("hook", "claude", stdin=PROMPT, **down)
        assert (hook.code, hook.err) == (0, "")
        assert hook.took_s < SLOWEST_S
    machine.background = False
    hits = machine.result("recall", "staging queue drains", **down)["hits"]
    assert [hit["id"] for hit in hits] == [name]
    assert_all_there(machine)


def test_status_reports_the_last_fault_until_a_push_succeeds(machine: Machine) -> None:
    (port,) = free_ports(1)
    machine.write(FACT)
    assert machine.run("store", "push", TYPESENSE_URL=f"http://127.0.0.1:{port}").code == 1
    status = machine.result("status")
    assert status["store"]["waiting"]["documents"] == 1
    assert [problem["code"] for problem in status["problems"]] == ["TYPESENSE_UNREACHABLE"]
    assert_all_there(machine)
    assert machine.waiting()["error"] == ""


def test_each_line_of_an_answer_is_checked(machine: Machine, server: Server) -> None:
    many(machine, 30)

    def half(lines: list[bytes]) -> tuple[int, bytes]:
        good, bad = b'{"success":true}', b'{"success":false,"code":500,"error":"Could not write to on-disk storage."}'
        return 200, b"\n".join(good if place < 10 else bad for place in range(len(lines)))

    with proxy(server, Fault(half, forwarded=10)) as url:
        done = machine.run("store", "push", TYPESENSE_URL=url)
        assert done.assert_failed() == "TYPESENSE_REFUSED"
        assert "on-disk storage" in done.envelope["error"]["message"]
    waiting = machine.waiting()
    assert (waiting["documents"], waiting["refused"]) == (20, 0)
    assert_all_there(machine)


@pytest.mark.parametrize(("status", "refusal"), [
    (422, "Rejecting write: running out of resource type: OUT_OF_DISK"),
    (503, "Not Ready or Lagging"),
    (500, "Server Error"),
])  # fmt: skip
def test_a_server_with_a_full_disk(machine: Machine, server: Server, status: int, refusal: str) -> None:
    many(machine, 5)
    answer = json.dumps({"message": refusal}).encode()
    with proxy(server, Fault(lambda _: (status, answer))) as url:
        for limit_ms in ("60", "600", "6000"):  # the first in which there is an answer will do
            done = machine.run("store", "push", TYPESENSE_URL=url, JOELCLAW_STORE_TIMEOUT_MS=limit_ms)
            assert done.assert_failed() in ("TYPESENSE_REFUSED", "TYPESENSE_UNREACHABLE")
            if refusal in (message := done.envelope["error"]["message"]):
                break
        assert refusal in message
    assert machine.waiting()["documents"] == 5
    assert_all_there(machine)


def test_the_home_s_own_disk_is_full(home: Path, server: Server) -> None:
    with small_disk(home, 8_000) as fill:
        machine = Machine(home, server.environment(JOELCLAW_STORE_PREFIX=new_prefix()))
        machine.result("store", "init")
        machine.write(FACT)
        fill()
        assert machine.run("store", "push").assert_failed() in ("STORE_FULL", "STORE_IO")
        assert machine.run("hook", "claude", stdin=PROMPT).code == 0
        for ballast in home.glob("ballast-*"):
            ballast.unlink()
        assert_all_there(machine)
