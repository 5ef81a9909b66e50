"""`session show` and `session list` report a session from its hooks, its transcript and the store."""

from pathlib import Path
from typing import Any

import apsw
import pytest
from claude_transcript import SESSION
from conftest import Run
from lived_session import MEMORY, MINUTE, Lived, live
from terminal import on_terminal, without_style

OTHER = "5a3e7c22-0000-4333-8444-555566667777"


def shown(run: Run, *words: str, env: dict[str, str] | None = None) -> Any:
    return run("session", "show", *words, env=env).result


def moments(life: Any, kind: str) -> list[Any]:
    return [moment for turn in life["turns"] for moment in turn["moments"] if moment["kind"] == kind]


@pytest.fixture
def lived(run: Run, tmp_path: Path) -> Lived:
    return live(run, tmp_path)


def test_a_turn_shows_prompt_usage_and_cost(run: Run, lived: Lived) -> None:
    life = shown(run, SESSION)
    turns = [turn for turn in life["turns"] if turn["number"]]
    assert [turn["prompt"] for turn in turns] == [
        "why does the gateway drop receipts at noon?",
        "then mend the retry of the receipts, please",
        "and now test the receipts under load",
    ]
    assert [turn["contextPercent"] for turn in turns] == [30.0, 47.0, 70.0]
    assert [turn["zone"] for turn in turns] == ["cold", "warm", "hot"]
    assert [turn["toolCalls"] for turn in turns] == [1, 1, 1]
    assert [turn["failedCalls"] for turn in turns] == [0, 1, 0]
    assert (life["turnCount"], life["toolCalls"], life["compactions"]) == (3, 3, 1)
    assert (life["client"], life["project"]) == ("claude", "gateway")
    assert life["task"] == "and now test the receipts under load"
    assert life["hooks"]["count"] == 13


def test_injections_are_shown_verbatim_with_their_use(run: Run, lived: Lived) -> None:
    life = shown(run, SESSION)
    first, signpost = moments(life, "injection")
    assert first["customType"] == "memory-recall"
    assert MEMORY in first["content"] and not first["content"].startswith("<")
    assert first["memories"] == [{"id": first["memories"][0]["id"], "text": MEMORY, "outcome": "echo"}]
    assert signpost["customType"] == "compaction-recovery"
    assert signpost["content"].startswith("## Session Recovery\n")
    assert first["tokens"] > 0 and first["ms"] >= 0
    assert life["injections"]["count"] == 2
    others = len(signpost["memories"])
    assert life["memories"] == {"injected": 1 + others, "echo": 1, "fizzle": 0, "open": others}
    (verdict,) = moments(life, "feedback")
    assert verdict["text"].startswith("used, the agent said ")


def test_zones_recalls_checkpoint_and_compaction_are_in_order(run: Run, lived: Lived) -> None:
    life = shown(run, SESSION)
    kinds = [moment["kind"] for turn in life["turns"] for moment in turn["moments"]]
    assert [moment["text"] for moment in moments(life, "zone")] == ["warm from 47 % on", "hot, at 70 %"]
    assert life["recalls"] == 2 and not moments(life, "recall"), "both found nothing"
    (compaction,) = moments(life, "compaction")
    assert compaction["text"].startswith("at 70 %, 140,0")
    assert kinds.index("compaction") > len(kinds) - 1 - kinds[::-1].index("checkpoint")
    assert kinds[-1] == "injection"


def test_a_prefix_of_the_id_suffices(run: Run, lived: Lived) -> None:
    assert shown(run, SESSION[:4])["sessionId"] == SESSION
    assert run("checkpoint", "show", SESSION[:4]).result["sessionId"] == SESSION
    assert run("checkpoint", "show", SESSION[:3], ok=False).json["error"]["code"] == "SESSION_NOT_FOUND"
    failed = run("session", "show", "5b3e7c11", ok=False).json
    assert (failed["error"]["code"], "session list" in failed["fix"]) == ("SESSION_NOT_FOUND", True)
    run("checkpoint", "save", "--session", OTHER, "--percent", "5", "-m", "something else", env=lived.env())
    failed = run("session", "show", "5a3e7c", ok=False).json
    assert failed["error"]["code"] == "SESSION_AMBIGUOUS"
    assert SESSION in failed["error"]["message"] and OTHER in failed["error"]["message"]


def test_without_an_id_it_is_this_session_or_the_newest_of_the_project(run: Run, lived: Lived, tmp_path: Path) -> None:
    for folder in ("elsewhere", "gateway"):
        (tmp_path / folder).mkdir()
    run("checkpoint", "save", "--session", OTHER, "--percent", "5", "-m", "something else", cwd=tmp_path / "elsewhere",
        env={"JOELCLAW_NOW_MS": str(lived.now + MINUTE)})  # fmt: skip
    life = shown(run, env={"JOELCLAW_SESSION_ID": SESSION})
    assert (life["sessionId"], life["chosen"]) == (SESSION, "environment")
    assert shown(run, env={"JOELCLAW_SESSION_ID": "of another tool"})["chosen"] == "last"
    for variable in ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"):
        assert shown(run, env={variable: SESSION})["chosen"] == "environment"
    here = run("session", "show", cwd=tmp_path / "gateway").result
    assert (here["sessionId"], here["chosen"]) == (SESSION, "project")
    life = shown(run)
    assert (life["sessionId"], life["chosen"]) == (OTHER, "last")


def test_the_list_has_a_line_per_session_newest_first(run: Run, lived: Lived) -> None:
    later = {"JOELCLAW_NOW_MS": str(lived.now + 5 * MINUTE)}
    run("checkpoint", "save", "--session", OTHER, "--percent", "45", "-m", "label the jars", env=later)
    listed = run("session", "list", env=later).result
    assert listed["count"] == 2
    second, first = listed["sessions"]
    assert (second["sessionId"], second["task"]) == (OTHER, "label the jars")
    assert (second["contextPercent"], second["zone"]) == (45.0, "warm")
    assert (first["sessionId"], first["client"], first["project"]) == (SESSION, "claude", "gateway")
    assert (first["turns"], first["toolCalls"], first["compactions"]) == (3, 3, 1)
    assert (first["startedAt"], first["zone"]) == ("2026-09-20T10:00:00.000Z", "hot")

    def names(*words: str) -> list[str]:
        return [session["sessionId"] for session in run("session", "list", *words, env=later).result["sessions"]]

    assert names("--limit", "1") == [OTHER]
    assert names("--client", "claude") == [SESSION]
    assert names("--project", "gateway") == [SESSION]
    assert names("--hours", "0.05") == [OTHER]


def test_no_text_of_an_excluded_folder_is_kept(run: Run, tmp_path: Path, home: Path) -> None:
    lived = Lived(run, tmp_path)
    (tmp_path / "secret").mkdir()
    run("exclude", str(tmp_path / "secret"))
    run("memory", "write", MEMORY, "--global", env=lived.env())
    assert MEMORY in lived.hook("SessionStart", source="startup", cwd=str(tmp_path / "secret"))
    lived.hook("UserPromptSubmit", prompt="hello there", cwd=str(tmp_path / "secret"))
    db = apsw.Connection(str(home / "store.db"))
    assert db.execute("SELECT count(*) FROM injection").get == 0


def test_on_a_terminal_it_fits_a_screen(run: Run, lived: Lived, home: Path) -> None:
    out = without_style(on_terminal(home, "session", "show", SESSION, env=lived.env(), columns=120).out)
    lines = out.splitlines()
    assert lines[0].split() == ["session", "id", SESSION] and "failed calls" in out
    (second,) = [line for line in lines if line.startswith("#2 ")]
    assert "47 %" in second and "then mend the retry" in second
    assert any(line.strip().startswith("injection") and "Session Recovery" in line for line in lines)
    assert len(lines) < 45
    assert max(map(len, lines)) <= 120
    full = without_style(on_terminal(home, "session", "show", SESSION, "--full", env=lived.env(), columns=120).out)
    assert "more lines" not in full
