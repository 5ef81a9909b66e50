"""An unknown setting is reported once, and stops nothing."""

import json
from pathlib import Path
from typing import Any

from conftest import NOW, ROOT, Run

from core import config


def put(folder: Path, text: str) -> str:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text, encoding="utf-8")
    (folder / "config.toml").chmod(0o600)
    return str(folder / "config.toml")


def events(run: Run) -> list[dict[str, Any]]:
    run("hook", "pi", "turn_end", stdin='{"session_id": "drain"}', env=NOW)  # stores what waits
    events = run("otel", "search", "config.key_unknown", "--hours", "1", env=NOW).result["events"]
    return [event for event in events if event["action"] == "config.key_unknown"]


def test_it_is_one_event_and_the_command_works(run: Run, home: Path) -> None:
    path = put(home, "[inject]\nmin_scor = 0.4\nmax_tokens = 200\n")
    first = run("memory", "write", "the deploy key lies in the vault", env=NOW)
    assert first.err == f"joelclaw: {path}: inject.min_scor: unknown\n"
    assert first.json["ok"] is True
    run("recall", "deploy key", env=NOW)
    (event,) = events(run)
    assert (event["level"], event["success"], event["component"]) == ("warn", True, "config")
    assert event["metadata"]["key"] == "inject.min_scor"
    put(home, "[inject]\nmin_scor = 0.4\ncooldown = 5\n")
    run("recall", "deploy key", env=NOW)
    assert len(events(run)) == 2


def test_status_keeps_reporting_it_and_stays_healthy(run: Run, home: Path) -> None:
    path = put(home, "[inject]\nmin_scor = 0.4\n")
    for _ in range(2):
        status = run("status", env=NOW).result
        assert status["config"]["unknown"] == [f"{path}: inject.min_scor: unknown"]
        assert (status["healthy"], status["problems"]) == (True, [])
    put(home, "[inject]\nmin_score = 0.4\n")
    assert run("status", env=NOW).result["config"]["unknown"] == []


def test_a_hook_only_records_an_event(run: Run, home: Path) -> None:
    put(home, "[inject]\nmin_scor = 0.4\n")
    payload = json.dumps({"session_id": "s", "messages": ["Mend it."], "percent": 10})
    for _ in range(2):
        outcome = run("hook", "pi", "turn_end", stdin=payload, env=NOW)
        assert (outcome.err, json.loads(outcome.out)) == ("", {"messages": []})
    assert not (home / "spool" / "events.jsonl").exists(), "the first hook has reported it"
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
