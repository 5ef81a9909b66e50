"""An unknown setting is reported, and stops nothing."""

import json
from pathlib import Path

from conftest import NOW, ROOT, Run

from core import config


def put(folder: Path, text: str) -> str:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text, encoding="utf-8")
    (folder / "config.toml").chmod(0o600)
    return str(folder / "config.toml")


def test_it_is_reported_and_the_command_works(run: Run, home: Path) -> None:
    path = put(home, "[inject]\nmin_scor = 0.4\nmax_tokens = 200\n")
    first = run("memory", "write", "the deploy key lies in the vault", env=NOW)
    assert first.err == f"joelclaw: {path}: inject.min_scor: unknown\n"
    assert first.json["ok"] is True


def test_status_keeps_reporting_it_and_stays_healthy(run: Run, home: Path) -> None:
    path = put(home, "[inject]\nmin_scor = 0.4\n")
    for _ in range(2):
        status = run("status", env=NOW).result
        assert status["config"]["unknown"] == [f"{path}: inject.min_scor: unknown"]
        assert (status["healthy"], status["problems"]) == (True, [])
    put(home, "[inject]\nmin_score = 0.4\n")
    assert run("status", env=NOW).result["config"]["unknown"] == []


def test_a_hook_says_nothing_of_it(run: Run, home: Path) -> None:
    put(home, "[inject]\nmin_scor = 0.4\n")
    payload = json.dumps({"session_id": "s", "messages": ["Mend it."], "percent": 10})
    outcome = run("hook", "pi", "turn_end", stdin=payload, env=NOW)
    assert (outcome.err, json.loads(outcome.out)) == ("", {"messages": []})


def test_all_settings_are_spelled_alike_and_so_are_the_documents() -> None:
    for name in config.SETTINGS:
        section, _, key = name.partition(".")
        assert section.isalpha() and key.replace("_", "").isalpha() and key.islower(), name
    documented = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    keys = [old.partition(".")[2] for old in config.FORMER_NAMES]
    for key in keys:
        documented = documented.replace(f"`{key}`", "", 1)  # where it says that it is still read
    assert [key for key in keys if key in documented] == []
