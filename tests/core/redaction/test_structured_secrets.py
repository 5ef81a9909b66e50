"""A secret in a tool's structured input reaches no archive, though the name that tells it stands in a key, a field
beside it or the option before it; and all other texts are archived as they are."""

import json
from pathlib import Path
from typing import Any

from claude_transcript import CWD, SESSION, Transcript
from conftest import NOW, Run

from core.redaction import redact, redact_value

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


def test_values_of_secret_names_vanish_and_nothing_else() -> None:
    for text in HIDING:
        hidden = redact_value(text, str)
        assert SECRET not in repr(hidden) and repr(hidden).count("[redacted:") == 1
        assert redact_value(text) == hidden == redact_value(hidden)


def test_values_next_to_secret_names_stay() -> None:
    for text in OPEN:
        assert redact_value(text) == text == redact_value(text, str)


MANIFEST = """apiVersion: v1
kind: Secret
metadata:
  name: harbour
data:
  user: aGFyYm91cg==
  pin: MTIzNA==
  "q.cfg": 'YWJjZGVm'
stringData:
  conf.ini: |
    pilot = bob
    zebra
  from: {{ .Values.pilot }}
type: Opaque
---
kind: ConfigMap
data:
  colour: blue
"""
VALUES = ("aGFyYm91cg==", "MTIzNA==", "YWJjZGVm", "pilot = bob", "zebra")
OBJECT = {"apiVersion": "v1", "data": {"user": VALUES[0], "pin": VALUES[1]}, "kind": "Secret"}
LIST = {"items": [OBJECT, {"data": {"colour": "blue"}, "kind": "ConfigMap"}], "kind": "List"}
LISTED = """items:
- data:
    user: aGFyYm91cg==
  kind: Secret
  metadata:
    annotations:
      last-applied: |
        {"data":{"pin":"MTIzNA=="},"kind":"Secret"}
- data:
    colour: blue
  kind: ConfigMap
kind: List
"""


MANIFESTS = (
    MANIFEST, "\n".join(f"{number:6}→{line}" for number, line in enumerate(MANIFEST.splitlines(), 1)),
    LISTED, json.dumps(MANIFEST), json.dumps(LIST), json.dumps(LIST, indent=2), json.dumps(json.dumps(LIST)),
    "@@ -1 +1 @@\n" + "".join(f"+{line}\n" for line in MANIFEST.splitlines()),
    "kind: Secret\ndata: {user: aGFyYm91cg==, pin: MTIzNA==}\nother:\n  colour: blue\n",
)  # fmt: skip


def test_values_of_a_kubernetes_secret_vanish() -> None:
    for text in MANIFESTS:
        redacted = redact(text)[0]
        assert not any(value in redacted for value in VALUES)
        assert "Secret" in redacted and ("blue" in redacted or "List" in text)
        assert redact(redacted)[0] == redacted
        assert ".Values.pilot" in redacted or ".Values" not in text


def test_no_value_of_a_secret_reaches_the_disk(run: Run, tmp_path: Path, home: Path) -> None:
    transcript = Transcript(tmp_path / f"{SESSION}.jsonl")
    transcript.user("Please look at the secret of the harbour and tell what is in it")
    transcript.call("r", "Read", file_path=f"{CWD}/secret.yaml")
    transcript.outcome("r", "\n".join(f"{number:6}→{line}" for number, line in enumerate(MANIFEST.splitlines(), 1)))
    transcript.used("k", "Bash", LISTED, command="kubectl get secret -o yaml")
    transcript.used("w", "Write", "done", file_path=f"{CWD}/secret.yaml", content=MANIFEST)
    for name in ("SessionStart", "Stop", "PreCompact"):
        event = {"hook_event_name": name, "session_id": SESSION, "transcript_path": str(transcript.path), "cwd": CWD}
        run("hook", "claude", stdin=json.dumps(event), env=NOW)
    run("memory", "archive", str(transcript.path))
    stored = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert b"secret.yaml" in stored
    assert not [value for value in VALUES if value.encode() in stored]


def test_values_below_a_secret_name_are_redacted_at_any_depth() -> None:
    assert redact_value({"token": {"value": ["abcd"], "other": "abcd"}, "kind": "Secret", "data": {1: "x"}}) == {
        "token": {"value": ["[redacted:token]"], "other": "abcd"}, "kind": "Secret", "data": {"1": "[redacted:secret]"},
    }  # fmt: skip
    assert redact_value({"kind": "Secret", "stringData": {"a": "b"}}, str) == {
        "kind": "Secret", "stringData": {"a": "[redacted:secret]"},
    }  # fmt: skip
    assert redact_value({"kind": "ConfigMap", "data": {"a": "b"}}, str) == {"kind": "ConfigMap", "data": {"a": "b"}}
