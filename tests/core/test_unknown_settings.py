"""A name in settings that no setting has is told, once, with the one that was meant; nothing stops for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, ROOT, Run

from core import config

NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}


def put(folder: Path, text: str) -> str:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text, encoding="utf-8")
    (folder / "config.toml").chmod(0o600)
    return str(folder / "config.toml")


def events(run: Run) -> list[dict[str, Any]]:
    run("hook", "pi", "turn_end", stdin='{"session_id": "drain"}', env=NOW)  # stores what waits
    found = run("otel", "search", "config.key_unknown", "--hours", "1", env=NOW).result["events"]
    return [event for event in found if event["action"] == "config.key_unknown"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("recall.limt", "recall.limit"),
        ("inject.min_scor", "inject.min_score"),
        ("compaction.reserveTokens", "compaction.reserve_tokens"),
        ("checkpoint.warm-percent", "checkpoint.warm_percent"),
        ("window", "context.window"),
        ("recall.min_score", "inject.min_score"),
        ("recall.colour", ""),
        ("JOELCLAW_RECALL_LIMT", "JOELCLAW_RECALL_LIMIT"),
        ("JOELCLAW_OTEL_COLOUR", ""),
    ],
)
def test_what_was_meant(name: str, meant: str) -> None:
    assert config.closest_setting(name) == meant


def test_it_is_told_once_and_the_command_does_its_work(run: Run, home: Path) -> None:
    path = put(home, "[inject]\nmin_scor = 0.4\nmax_tokens = 200\n")
    first = run("memory", "write", "the deploy key lies in the vault", env=NOW)
    assert first.err == f"joelclaw: {path}: inject.min_scor: unknown; did you mean inject.min_score\n"
    assert first.json["ok"] is True
    assert run("recall", "deploy key", env=NOW).err == ""
    (event,) = events(run)
    assert (event["level"], event["success"], event["component"]) == ("warn", True, "config")
    assert event["metadata"]["key"] == "inject.min_scor" and event["metadata"]["meant"] == "inject.min_score"
    put(home, "[inject]\nmin_scor = 0.4\ncooldown = 5\n")
    assert "inject.min_scor" not in run("recall", "deploy key", env=NOW).err
    assert len(events(run)) == 2


def test_status_names_it_as_long_as_it_lasts_and_is_healthy(run: Run, home: Path) -> None:
    path = put(home, "[inject]\nmin_scor = 0.4\n")
    for _ in range(2):
        status = run("status", env=NOW).result
        assert status["config"]["unknown"] == [f"{path}: inject.min_scor: unknown; did you mean inject.min_score"]
        assert (status["healthy"], status["problems"]) == (True, [])
    put(home, "[inject]\nmin_score = 0.4\n")
    assert run("status", env=NOW).result["config"]["unknown"] == []


def test_a_hook_tells_it_as_an_event_alone(run: Run, home: Path) -> None:
    put(home, "[inject]\nmin_scor = 0.4\n")
    payload = json.dumps({"session_id": "s", "messages": ["Mend it."], "percent": 10})
    for _ in range(2):
        told = run("hook", "pi", "turn_end", stdin=payload, env=NOW)
        assert (told.err, json.loads(told.out)) == ("", {"messages": []})
    assert len(events(run)) == 1


def test_all_settings_are_spelled_alike_and_so_are_the_documents() -> None:
    for name in config.SETTINGS:
        section, _, key = name.partition(".")
        assert section.isalpha() and key.replace("_", "").isalpha() and key.islower(), name
    documented = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    keys = [old.partition(".")[2] for old in config.FORMER_NAMES]
    for key in keys:
        documented = documented.replace(f"`{key}`", "", 1)  # where it says that it is still read
    assert [key for key in keys if key in documented] == []
