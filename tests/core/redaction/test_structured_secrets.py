"""A secret in a tool's structured input reaches no archive, though the name that tells it stands in a key, a field
beside it or the option before it; and all other texts are archived as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from claude_transcript import SESSION, Transcript
from conftest import Run

from clients import content
from core.redaction import redact_value
from core.redaction.fields import without_named

SECRET = "zQ7mangoTree9"
HIDING: list[dict[str, Any]] = [
    {"host": "db.example", "username": "bob", "password": SECRET},
    {"env": [{"name": "API_TOKEN", "value": SECRET}]},
    {"Parameters": [{"Key": "DbPassword", "Value": SECRET}]},
    {"command": "deploy", "args": ["--password", SECRET]},
    {"args": ["-v", "--api-key", SECRET, "run"]},
    {"command": "sshpass", "args": ["-p", SECRET, "ssh", "h"]},
    {"argv": ["docker", "login", "-u", "ann", "-p", SECRET]},
    {"args": ["mysql", "-p" + SECRET]},
    {"password": {"value": SECRET, "type": "string"}},
    {"passwords": "none", "db": {"auth": {"passwd": [SECRET]}}},
    {"headers": [{"name": "Authorization", "value": "Bearer " + SECRET}]},
    {"kind": "Secret", "metadata": {"name": "db"}, "data": {"url": SECRET}},
    {"element": "Password textbox", "ref": "e5", "text": SECRET},
    {"selector": "input[type=password]", "value": SECRET},
    {"fields": [{"name": "Your password", "type": "textbox", "ref": "e12", "value": SECRET}]},
]
OPEN: list[dict[str, Any]] = [
    {"file_path": "/srv/password.py", "old_string": "token", "new_string": "password"},
    {"name": "password", "description": "The password of the user", "default": "None"},
    {"key": "login.password", "text": "Enter your password"},
    {"selector": "#password", "text": "Forgot your password?"},
    {"name": "API_TOKEN", "value": "${API_TOKEN}"}, {"name": "TOKEN_FILE", "value": "/run/secrets/token"},
    {"key": "Enter", "value": "x1y2z3w4"}, {"args": ["--token", "$TOKEN", "--password", "-v", "--key", "a1b2c3d4"]},
    {"args": ["--private-key", "/home/ann/.ssh/id_a1"], "command": "ssh"}, {"args": ["-n", "password", "x1y2z3"]},
    {"pattern": "password", "path": "/srv", "maxTokens": "900", "-A": 3}, {"password": ""},
    {"secret": True, "token": None},
]  # fmt: skip


@pytest.mark.parametrize("given", HIDING, ids=json.dumps)
def test_what_is_named_vanishes_and_nothing_else(given: dict[str, Any]) -> None:
    hidden = without_named(given)
    texts, before = content.texts_in(hidden), content.texts_in(given)
    assert [text for text in texts if text in before] == [text for text in before if SECRET not in text]
    assert len(texts) == len(before) and SECRET not in repr(hidden) and repr(hidden).count("[redacted:") == 1
    assert content.tool("c", "x", [], "", given)["given"] == "\n".join(texts)
    assert redact_value(given) == hidden == redact_value(hidden)


@pytest.mark.parametrize("given", OPEN, ids=json.dumps)
def test_what_only_stands_beside_such_a_name_stays(given: dict[str, Any]) -> None:
    assert without_named(given) == given == redact_value(given)


def test_a_value_may_be_as_deep_as_its_author_liked() -> None:
    deep: object = {"password": SECRET}
    for _ in range(5_000):
        deep = [deep]
    assert content.texts_in(without_named(deep)) == ["[redacted:password]"]


def test_no_client_archives_it(run: Run, home: Path, tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "projects" / "-home-u-gateway" / f"{SESSION}.jsonl")
    transcript.user("connect to the database of the harbour")
    for number, given in enumerate(HIDING):
        transcript.call(f"c{number}", "mcp__db__connect", **given, place=f"pier_{number}_north")
        transcript.outcome(f"c{number}", f"connected to quay_{number}_south")
    assert run("memory", "archive", str(transcript.path)).result["calls"] == len(HIDING)
    tools = [{"name": "connect", "given": given, "outcome": "ok", "done": True} for given in HIDING]
    entries = [
        {"id": "m1", "role": "user", "text": "connect to the harbour", "at": 1},
        {"id": "m2", "role": "assistant", "text": "I connect.", "tools": tools, "at": 2},
    ]
    run("hook", "opencode", "turn_end", stdin=json.dumps({"session_id": "ses_1", "entries": entries}))
    shown = run("memory", "show", f"call:{SESSION}:1").out
    assert "pier_0_north" in shown and SECRET not in shown
    db = apsw.Connection(str(home / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)
    rows = [row for table in ("session", "call", "name", "document") for row in db.execute(f"SELECT * FROM {table}")]
    assert SECRET not in repr(rows)
    assert db.execute("SELECT count(*) FROM call").fetchone() == (2 * len(HIDING),)
    assert not any(SECRET.encode() in path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_of_a_long_input_both_ends_are_archived(run: Run) -> None:
    """As of one text, which is what extensions before this sent."""
    from clients.extension_hooks import reader

    def given(value: object) -> str:
        entry = {"id": "m1", "role": "assistant", "text": "", "tools": [{"name": "x", "given": value}]}
        [item, *_] = reader("opencode")({"entries": [entry]}, "turn_end")["items"]
        assert item["kind"] == "said"
        return item["tools"][0]["given"]

    assert given({"a": "x" * 1000, "b": ["y" * 2999]}) == "x" * 1000 + "\n" + "y" * 2999
    assert given({"a": "x" * 2000, "b": ["y" * 2000]}) == "x" * 2000 + "\n" + "y" * 2000
    assert given("as it was") == "as it was" and given(None) == given(5) == ""
