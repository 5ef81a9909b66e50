"""After each command the commands that make sense now, and only those."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conftest import NOW_MS, Run

NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}


def commands(actions: Any) -> list[str]:
    return [action["command"] for action in actions]


def steps(run: Run, *words: str, stdin: str | None = None) -> list[str]:
    return commands(run(*words, stdin=stdin, env=NOW).json["next_actions"])


def test_of_memories(run: Run) -> None:
    assert steps(run, "recall", "queue") == ["joelclaw memory stats"]
    written = run("memory", "write", "the staging queue drains at 14:00 UTC", env=NOW).json
    name = written["result"]["id"]
    assert commands(written["next_actions"]) == [f"joelclaw memory show {name}", f"joelclaw memory forget {name}"]
    [found] = run("recall", "staging queue", env=NOW).json["next_actions"]
    assert (found["command"], found["params"]["id"]["value"]) == ("joelclaw memory show <id>", name)


def test_of_a_checkpoint(run: Run) -> None:
    assert steps(run, "checkpoint", "list") == []
    assert steps(run, "inject", "recovery", "--session", "s 1") == [], "nothing is known of it"
    save = ("checkpoint", "save", "--session", "s 1", "--message", "fix the staging queue", "--percent")
    show, flush = "joelclaw checkpoint show 's 1'", "joelclaw checkpoint flush --session 's 1'"
    assert steps(run, *save, "10") == [show]
    assert steps(run, *save, "90") == [show, flush]
    assert steps(run, "checkpoint", "flush", "--session", "s 1") == ["joelclaw inject recovery --session 's 1'"]
    assert steps(run, "inject", "recovery", "--session", "s 1") == [show]
    [listed] = run("checkpoint", "list", env=NOW).json["next_actions"]
    assert (listed["command"], listed["params"]["id"]["value"]) == ("joelclaw checkpoint show <id>", "s 1")


def test_of_idle_timers(run: Run, tmp_path: Path) -> None:
    assert steps(run, "idle", "list") == steps(run, "idle", "due") == []
    schedule = ("idle", "schedule", "--session", "s", "--percent", "90", "--cwd", str(tmp_path))
    assert steps(run, *schedule) == [], "no minutes are set"
    assert steps(run, *schedule, "--minutes", "5") == ["joelclaw idle cancel --session s", "joelclaw idle run"]
    assert steps(run, "idle", "list") == ["joelclaw idle run"]
    assert steps(run, "idle", "due") == []
    later = {"JOELCLAW_NOW_MS": str(NOW_MS + 5 * 60_000)}
    assert commands(run("idle", "due", env=later).json["next_actions"]) == ["joelclaw idle run --once"]
    assert steps(run, "idle", "cancel", "--session", "s") == []


def test_of_events(run: Run) -> None:
    for number in range(3):
        run("otel", "emit", f"deploy.done{number}", "--source", "test", "--component", "deploy", env=NOW)

    def older(*words: str) -> list[tuple[str, int]]:
        found = run("otel", *words, env=NOW).json["next_actions"]
        return [(one["command"], one["params"]["page"]["value"]) for one in found]

    assert older("list", "--limit", "2") == [("joelclaw otel list --page <page>", 2)]
    assert older("list", "--limit", "3") == older("list", "--limit", "2", "--page", "2") == []
    assert older("list", "--limit", "1", "--page", "2") == [("joelclaw otel list --page <page>", 3)]
    [found] = run("otel", "search", "deploy", "--limit", "2", env=NOW).json["next_actions"]
    assert found["command"] == "joelclaw otel search <query> --page <page>"
    assert found["params"]["query"]["value"] == "deploy"
    assert steps(run, "otel", "import", "-", stdin="") == ["joelclaw otel stats"]


def test_of_an_installation(run: Run, tmp_path: Path) -> None:
    pi = {"HOME": str(tmp_path), "PI_CODING_AGENT_DIR": str(tmp_path / "pi")}
    listed = "joelclaw install --list"
    assert commands(run("install", "pi", env=pi).json["next_actions"]) == ["joelclaw otel search hook", listed]
    assert commands(run("install", "--list", env=pi).json["next_actions"]) == ["joelclaw install --all"]
    assert commands(run("uninstall", "pi", env=pi).json["next_actions"]) == [listed]


def test_of_wrong_usage(run: Run) -> None:
    for words, about in (
        (("memory", "write"), "joelclaw memory write --help"), (("memory", "no-such"), "joelclaw memory --help"),
        (("no-such",), "joelclaw --help"),
        (("otel", "list", "--limit", "x"), "joelclaw otel list --help"),
    ):  # fmt: skip
        envelope = json.loads(run(*words, ok=False).out)
        assert commands(envelope["next_actions"]) == [about], words
