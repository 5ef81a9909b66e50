"""The envelope: one JSON object on stdout with ordered keys, `--json` anywhere, the matching exit code."""

import json
from pathlib import Path
from typing import Any

from conftest import Attempt, Run
from terminal import on_terminal

from core.quoting import escaped

DONE = ["ok", "command", "result", "next_actions"]
FAILED = ["ok", "command", "result", "error", "fix", "next_actions"]

CALLS = [
    ["memory", "write", "the deploy script needs the staging key before it runs"],
    ["recall", "deploy script key"],
    ["otel", "search", "build"],
    ["checkpoint", "save", "--session", "s", "--percent", "20", "--message", "port the parser to the new grammar"],
    ["inject", "recovery", "--session", "s"],
    ["status"],
]


def check(spawned: Attempt, name: str) -> Any:
    """The envelope, after looking at everything that all envelopes have in common."""
    envelope = json.loads(spawned.out)
    assert spawned.out == escaped(json.dumps(envelope, indent=2, ensure_ascii=False)) + "\n"
    assert list(envelope) == (DONE if envelope["ok"] else FAILED)
    assert (spawned.code == 0) is envelope["ok"]
    assert envelope["command"] == f"joelclaw {name}"
    if not envelope["ok"]:
        assert envelope["result"] is None
        assert set(envelope["error"]) == {"message", "code"}
        assert all(envelope["error"].values())
        assert envelope["fix"]
    for action in envelope["next_actions"]:
        assert action["command"].startswith("joelclaw ")
        assert action["description"]
        for about in action.get("params", {}).values():
            assert set(about) <= {"description", "value", "default", "enum", "required"}
    return envelope


def test_commands_answer_with_an_envelope(run: Run) -> None:
    for words in CALLS:
        spawned = run(*words)
        name = words[0] if words[0] in ("recall", "status") else " ".join(words[:2])
        assert check(spawned, name)["ok"] is True
        assert spawned.err == ""


def test_a_failure_has_a_code_and_a_fix(run: Run, home: Path) -> None:
    for words, name, code in (
        (["memory", "write", "   "], "memory write", "EMPTY_TEXT"),
        (["otel", "emit", "a", "--metadata", "{"], "otel emit", ""),
        (["memory", "show", "no-such-id"], "memory show", ""),
        (["checkpoint", "show", "no-such-session"], "checkpoint show", ""),
        (["memory", "import", "no-such-file"], "memory import", ""),
    ):
        envelope = check(run(*words, ok=False), name)
        assert code in ("", envelope["error"]["code"])


def test_json_flag_may_be_anywhere(home: Path) -> None:
    for words in ("--json recall deploy", "recall --json deploy", "recall deploy --json --json -n 2", "--json status"):
        spawned = on_terminal(home, *words.split())
        assert json.loads(spawned.out)["ok"] is True
        assert "\x1b" not in spawned.out
