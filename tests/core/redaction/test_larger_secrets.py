"""What is a secret by what it is part of: a Kubernetes Secret, a table, an INSERT, a login told with a user's name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import NOW_MS, Run
from secret_samples import vanishes

from core.redaction import redact, redact_value

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
SECRET = {"apiVersion": "v1", "data": {"user": VALUES[0], "pin": VALUES[1]}, "kind": "Secret"}
LIST = {"items": [SECRET, {"data": {"colour": "blue"}, "kind": "ConfigMap"}], "kind": "List"}
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


@pytest.mark.parametrize(
    "text",
    [
        "password: aHVudGVyMg==", "DB_PASS: aHVudGVyMg==", "api-key: aHVudGVyMg==", "the password is aHVudGVyMg==",
        "  password: aHVudGVyMg= # of the gauge", "{password: aHVudGVyMg=, user: x}",
        '"password: aHVudGVyMg="}', '{"text": "a\\npassword: aHVudGVyMg=\\nb: c"}',
    ],
)  # fmt: skip
def test_a_value_that_ends_in_an_equals_sign(text: str) -> None:
    assert "aHVudGVy" not in redact(text)[0]


@pytest.mark.parametrize("text", ['def f(password: str="", x=1)', "password: str = None", "password: string == x"])
def test_a_declared_type_is_no_value(text: str) -> None:
    assert redact(text)[0] == text


@pytest.mark.parametrize(
    "text",
    [
        MANIFEST, "\n".join(f"{number:6}→{line}" for number, line in enumerate(MANIFEST.splitlines(), 1)),
        LISTED, json.dumps(MANIFEST), json.dumps(LIST), json.dumps(LIST, indent=2), json.dumps(json.dumps(LIST)),
        "@@ -1 +1 @@\n" + "".join(f"+{line}\n" for line in MANIFEST.splitlines()),
        "kind: Secret\ndata: {user: aGFyYm91cg==, pin: MTIzNA==}\nother:\n  colour: blue\n",
    ],
)  # fmt: skip
def test_what_a_kubernetes_secret_holds(text: str) -> None:
    told = redact(text)[0]
    assert not any(value in told for value in VALUES)
    assert "blue" in told and "Secret" in told
    assert redact(told)[0] == told
    assert ".Values.pilot" in told or ".Values" not in text


@pytest.mark.parametrize(
    "text",
    [
        "data:\n  a: «bcd»\nkind: Secret\n", "kind: Secret\ndata:\n  # note: x\n  a: «bcd» # note\n",
        "kind: Secret\nstringData:\n  a: |-\n    «two words»\n    «more»\n", "kind: 'Secret'\ndata:\n  a: '«bcd»'\n",
        "kind: ConfigMap\ndata:\n  a: bcd\n---\nkind: Secret\ndata:\n  a: «bcd»\n...\nkind: X\ndata:\n  a: bcd\n",
        "kind: Secret\nmetadata:\n  data: x\n  a:\n    b: c\ndata:\n  a: «bcd»\ntype: x\n",
        "- kind: Secret\n  data:\n    a: «bcd»\n- kind: ConfigMap\n  data:\n    a: bcd\n",
        "items:\n  - data:\n      a: bcd\n  - kind: Secret\n    data:\n      a: «bcd»\n  - data:\n      a: bcd\n",
        "kind: Secret\nurl:x\nplain\n\ndata:\n\n  a: «bcd»\n  e: ${X}\n  f: «ghi»\n",
        "kind: Secret\ndata: {a: «bcd», e: ${X}, f: '«ghi»'}\n", "kind: Secret\ndata:\n  a: «bcd»\nb: c\n",
        "@@ -1,3 +1,3 @@\n kind: Secret\n data:\n-  a: «bcd»\n+  a: «efg»\n",
        "   1\tkind: Secret\n   2\tdata:\n   3\t  a: «bcd»\n", "kind: Secret\\ndata:\\n  a: «bcd»\\nb: c\\n",
        '{"kind": "Secret", "data": {"a": "«bcd»", "e": "«f\\"g»"}} {"kind": "X", "data": {"a": "bcd"}}',
        '{"data": {}, "kind": "Secret", "stringData": {"a": "«bcd»"}}',
        '} {"kind": "Secret", "data": {"a": "«bcd»"}} }',
        '{"kind": "Secret", "x": {"data": {"a": "bcd"}}, "data": {"a": "«bcd»", "e": "${X}"}, "y": {"a": "bcd"}}',
    ],
)  # fmt: skip
def test_of_a_kubernetes_secret_its_values_vanish_and_nothing_else(text: str) -> None:
    vanishes(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": {"kind": "Secret"}, "data": {"a": "bcd"}}', '{"kind": "Secrets", "data": {"a": "bcd"}}',
        "kind: Secret\ndata: x\n", "kind: Secrets\ndata:\n  a: bcd\n", "a:\n  kind: Secret\ndata:\n  a: bcd\n",
        "kind: Secret\n---\ndata:\n  a: bcd\n", "kind: Secret\nspec:\n  a: bcd\n", "kind: Secret\ndata:\na: bcd\n",
    ],
)  # fmt: skip
def test_what_is_no_value_of_a_kubernetes_secret_stays(text: str) -> None:
    assert redact(text) == (text, ())


def test_a_kubernetes_secret_as_an_object() -> None:
    told: Any = redact_value(LIST)
    assert told["items"][0]["data"] == {"user": "[redacted:secret]", "pin": "[redacted:secret]"}
    assert told["items"][1] == LIST["items"][1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "INSERT INTO users (name, password) VALUES ('bob','Wint3rfell!')",
            "INSERT INTO users (name, password) VALUES ('bob','[redacted:password]')",
        ),
        (
            "insert into u (`password`, n) values ('gull', 'x'), ('it''s', 'y'); select 'a'",
            "insert into u (`password`, n) values ('[redacted:password]', 'x'), ('[redacted:password]', 'y');"
            " select 'a'",
        ),
        ("INSERT INTO u (name, password) VALUES (?, ?)", ""),
        (
            "| user | password |\n|---|---|\n| bob | Zebra77x |\n",
            "| user | password |\n|---|---|\n| bob | [redacted:password] |\n",
        ),
        ("user,password\nbob,Zebra77x\n", "user,password\nbob,[redacted:password]\n"),
        ("     1→password,user\n     2→Zebra77x,bob", "     1→password,user\n     2→[redacted:password],bob"),
        (" user | password \n---+---\n bob | Zebra77x", " user | password \n---+---\n bob | [redacted:password]"),
        ("| Field | Password |\n|---|---|\n| length | 12 |\n| hash | argon2id |", ""),
        ("def f(user, password):\n    g(a, b1)\n", ""),
    ],
)
def test_a_column_of_secrets(text: str, told: str) -> None:
    assert redact(text)[0] == (told or text)


@pytest.mark.parametrize(
    "text",
    [
        "New password (staging): Zebra77x", "the creds are bob:Zebra77x", "credentials: bob / Zebra77x",
        "FTP: host h user joe pass Zebra77x", "log in with bob / Zebra77x on staging", "login: bob:Zebra77x",
        "net use Z: \\\\s /user:bob Zebra77x", "net use Z: \\\\s Zebra77x /user:bob", "net user bob Zebra77x /add",
        "vault login s.Zebra77xGhIjKlMnOpQrStUv", "vault login s.ZebraGhIjKlMnOpQrStUvWxY",
    ],
)  # fmt: skip
def test_a_login(text: str) -> None:
    told = redact(text)[0]
    assert "Zebra" not in told and "[redacted:" in told
    assert told.split("[redacted:")[0] == text.split("Zebra")[0].removesuffix("s.")


@pytest.mark.parametrize(
    "text",
    [
        "login: http://localhost:8080/x", "login is at localhost:8080", "the user can pass config2x to it",
        "vault login -method=ldap username=x", "net use Z: \\\\s\\x", "as root pass 3 flags", "credentials: see below",
    ],
)  # fmt: skip
def test_no_login(text: str) -> None:
    assert redact(text)[0] == text


def test_the_database_behind_an_attached_password_stays() -> None:
    assert redact("mysql -uroot -pPassword1 shop")[0] == "mysql -uroot -p[redacted:password] shop"


def test_no_value_of_a_secret_reaches_the_disk(run: Run, tmp_path: Path, home: Path) -> None:
    made = Transcript(tmp_path / f"{SESSION}.jsonl")
    made.user("Please look at the secret of the harbour and tell what is in it")
    made.call("r", "Read", file_path=f"{CWD}/secret.yaml")
    made.outcome("r", "\n".join(f"{number:6}→{line}" for number, line in enumerate(MANIFEST.splitlines(), 1)))
    made.call("k", "Bash", command="kubectl get secret -o yaml")
    made.outcome("k", LISTED)
    made.call("w", "Write", file_path=f"{CWD}/secret.yaml", content=MANIFEST)
    made.outcome("w", "done")
    for name in ("SessionStart", "Stop", "PreCompact"):
        event = {"hook_event_name": name, "session_id": SESSION, "transcript_path": str(made.path), "cwd": CWD}
        run("hook", "claude", stdin=json.dumps(event), env={"JOELCLAW_NOW_MS": str(NOW_MS)})
    run("memory", "archive", str(made.path))
    stored = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert b"secret.yaml" in stored
    assert not [value for value in VALUES if value.encode() in stored]
