"""Settings: which source overrides which, what is refused or reported, and that a project's file sets nothing."""

import json
import re
from pathlib import Path

import pytest
from conftest import NOW, ROOT, Run

from core import config

# What docs/configuration.md promises of each setting that is a number: name, least and most.
RANGES = re.findall(
    r"^- `([\w.]+)`\S* \S+ \(([\d.,]+)–([\d.,]+)\):", (ROOT / "docs/configuration.md").read_text(), re.MULTILINE
)


def zone(run: Run, percent: int, **environment: str) -> str:
    saved = run("checkpoint", "save", "--session", "s", "--percent", str(percent), "-m", "Move it", env=environment)
    return str(saved.result["zone"])


def put(folder: Path, text: str) -> str:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_environment_overrides_the_home_and_a_project_sets_nothing(run: Run, home: Path, tmp_path: Path) -> None:
    assert zone(run, 30) == "cold"
    put(home, "[checkpoint]\nwarm_percent = 25\n")
    (tmp_path / ".git").mkdir()
    put(tmp_path / ".joelclaw", "[checkpoint]\nwarm_percent = 35\n")
    assert zone(run, 30) == "warm"
    assert zone(run, 30, JOELCLAW_CHECKPOINT_WARM_PERCENT="40") == "cold"


def test_a_change_of_the_file_is_seen_at_once_in_spite_of_the_cache(run: Run, home: Path) -> None:
    for percent, expected in ((25, "warm"), (39, "cold"), (2, "warm")):
        put(home, f"[checkpoint]\nwarm_percent = {percent}\n")
        assert zone(run, 30) == expected
        assert zone(run, 30) == expected  # once read, once from the cache
    assert list((home / "cache").iterdir())


def test_a_bad_value_names_the_file_the_key_and_the_range(run: Run, home: Path) -> None:
    for text in ("warm_percent = 400", 'warm_percent = "much"', "warm_percent = true", "warm_percent = 1.5"):
        put(home, f"[checkpoint]\n{text}\n")
        failed = run("checkpoint", "save", "--session", "s", "--percent", "30", "-m", "Move it", ok=False)
        assert failed.code == 1
        assert failed.json["error"]["code"] == "CONFIG_INVALID"
        assert "config.toml" in failed.json["error"]["message"]
        assert "checkpoint.warm_percent" in failed.json["fix"]
        assert "1 to 100" in failed.json["fix"]


@pytest.mark.parametrize(("name", "low", "high"), RANGES, ids=[name for name, _, _ in RANGES])
def test_numbers_are_accepted_within_their_documented_bounds(
    run: Run, home: Path, name: str, low: str, high: str
) -> None:
    section, _, key = name.partition(".")
    least, most = float(low.replace(",", "")), float(high.replace(",", ""))
    step = 0.01 if most <= 1 else 1
    for value, taken in ((least, True), (least - step, False), (most, True), (most + step, False)):
        put(home, f"[{section}]\n{key} = {value:.12g}\n")
        outcome = run("recall", "anything", ok=taken)
        assert taken or outcome.json["error"]["code"] == "CONFIG_INVALID"


def test_invalid_toml_is_reported_and_left_untouched(run: Run, home: Path) -> None:
    put(home, "[checkpoint\n")
    failed = run("recall", "anything", ok=False)
    assert failed.json["error"]["code"] == "CONFIG_INVALID"
    assert (home / "config.toml").read_text() == "[checkpoint\n"


def test_a_byte_order_mark_is_ignored(run: Run, home: Path) -> None:
    put(home, "\ufeff[checkpoint]\r\nwarm_percent = 25\r\n")
    assert zone(run, 30) == "warm"


def test_an_unknown_setting_is_reported_but_not_by_a_hook_and_all_works(run: Run, home: Path) -> None:
    path = put(home, "[inject]\nmin_scor = 0.4\nmax_tokens = 200\n")
    payload = json.dumps({"session_id": "s", "messages": ["Mend it."], "percent": 10})
    outcome = run("hook", "pi", "turn_end", stdin=payload, env=NOW)
    assert (outcome.err, json.loads(outcome.out)) == ("", {"messages": []})
    first = run("memory", "write", "the deploy key lies in the vault", env=NOW)
    assert first.err == f"joelclaw: {path}: inject.min_scor: unknown\n"
    assert first.json["ok"] is True
    for _ in range(2):
        status = run("status", env=NOW).result
        assert status["config"]["unknown"] == [f"{path}: inject.min_scor: unknown"]
        assert (status["healthy"], status["problems"]) == (True, [])
    put(home, "[inject]\nmin_score = 0.4\n")
    assert run("status", env=NOW).result["config"]["unknown"] == []


def test_all_settings_are_spelled_alike_and_so_are_the_documents() -> None:
    for name in config.SETTINGS:
        section, _, key = name.partition(".")
        assert section.isalpha() and key.replace("_", "").isalpha() and key.islower(), name
    documented = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    keys = [old.partition(".")[2] for old in config.FORMER_NAMES]
    for key in keys:
        documented = documented.replace(f"`{key}`", "", 1)  # where it says that it is still read
    assert [key for key in keys if key in documented] == []
