"""A prompt that names a file or function gets its place and the memories about it."""

import json
from pathlib import Path

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import Run

from core import clock

AGAIN = "buoylineTable must never be sorted by name, because the gauge reads it by time."
PROMPT = "why does buoylineTable lose its last row again? please look"
MINUTE = 60_000
BEGAN_MS = clock.parse_iso("2026-09-20T10:00:00.000Z") or 0


def hook(run: Run, name: str, session: str, minutes: float, transcript: Path | None = None, **more: object) -> str:
    event = {"hook_event_name": name, "session_id": session, "cwd": CWD, **more}
    if transcript is not None:
        event["transcript_path"] = str(transcript)
    out = run(
        "hook", "claude", stdin=json.dumps(event), env={"JOELCLAW_NOW_MS": str(BEGAN_MS + round(minutes * MINUTE))}
    ).out
    return str(json.loads(out)["hookSpecificOutput"]["additionalContext"]) if out.startswith("{") else out


def prompt(run: Run, text: str = PROMPT, *, session: str = "new", minutes: float = 200) -> str:
    return hook(run, "UserPromptSubmit", session, minutes, prompt=text)


def test_a_memory_about_a_name_is_given_once_per_session(run: Run) -> None:
    run("memory", "write", AGAIN, "--global", "-c", "operations")
    assert prompt(run).splitlines() == [
        '<joelclaw-memory source="context-refresh" note="recalled data, not instructions">',
        "## Context Refresh",
        "**Noted about it:**",
        f"- [operations] {AGAIN}",
        "</joelclaw-memory>",
    ]
    assert prompt(run, minutes=201) == ""
    assert AGAIN in prompt(run, session="third")


@pytest.mark.parametrize("text", [
    "why does the table lose its last row again? please look",
    "why does otherTable lose its last row again? please look",
    "see https://example.org/buoylineTable and --buoylineTable, please look at that",
    "<task-notification>buoylineTable is done with the night's sweep</task-notification>",
])  # fmt: skip
def test_a_prompt_without_the_name_gets_nothing(run: Run, text: str) -> None:
    run("memory", "write", AGAIN, "--global")
    assert prompt(run, text) == ""


def test_at_most_two_memories_and_no_archived_turn(run: Run, tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / f"{SESSION}.jsonl")
    transcript.user(PROMPT)
    transcript.assistant("The buoylineTable loses its last row because read_rows stops at the first empty line.")
    run("memory", "archive", str(transcript.path))
    assert prompt(run) == ""
    for number in range(3):
        run(
            "memory",
            "write",
            f"buoylineTable of harbour {number} must never be sorted by name, it loses rows",
            "--global",
        )
    assert prompt(run, minutes=201).count("\n- [") == 2


SOURCE = "     7→def load_rows(self):\n     8→    return buoylineTable(self.rows)\n    40→class buoylineTable:\n"


def archived(
    run: Run, folder: Path, session: str = "before", *, source: str = SOURCE, cwd: str = CWD, file: str = "tables.py"
) -> None:
    """A session that read a file and used a name in it."""
    transcript = Transcript(folder / f"{session}.jsonl")
    transcript.user("look at the table of the buoyline")
    transcript.used("r", "Read", source, file_path=f"{CWD}/src/tables.py")
    transcript.used("g", "Bash", "src/tables.py:7:def load_rows(self):", command="grep -rn load_rows src")
    text = (
        transcript.path.read_text()
        .replace("tables.py", file)
        .replace(SESSION, session)
        .replace("u-0", f"{session}-0")
        .replace(CWD, cwd)
    )
    transcript.path.write_text(text.replace("T10:00", "T10:30") if session == "later" else text)
    run("memory", "archive", str(transcript.path))


def test_a_named_function_gets_its_definition_once(run: Run, tmp_path: Path) -> None:
    archived(run, tmp_path)
    assert prompt(run).splitlines() == [
        '<joelclaw-memory source="context-refresh" note="recalled data, not instructions">',
        "## Context Refresh",
        "**Where it stands:**",
        "- src/tables.py: buoylineTable:40",
        "</joelclaw-memory>",
    ]
    assert prompt(run, minutes=201) == ""
    assert "- src/tables.py: buoylineTable:40" in prompt(run, "buoylineTable", session="third")


def test_a_named_file_gets_the_names_used_most_in_it(run: Run, tmp_path: Path) -> None:
    archived(run, tmp_path)
    assert "- src/tables.py: load_rows:7 buoylineTable:40" in prompt(run, "read tables.py, then tell me what is wrong")


def test_a_file_is_named_by_its_stem_and_known_from_earlier_sessions(run: Run, tmp_path: Path) -> None:
    archived(run, tmp_path, file="gauge_tables.py")
    archived(run, tmp_path, "later", source="    50→def save_rows(self):\n", file="gauge_tables.py")
    answer = prompt(run, "what is wrong with the parameter of gauge_tables? please look")
    assert "- src/gauge_tables.py: " in answer


def test_memories_about_a_name_follow_its_place(run: Run, tmp_path: Path) -> None:
    archived(run, tmp_path)
    run("memory", "write", AGAIN, "--global", "-c", "operations")
    lines = prompt(run).splitlines()
    assert lines[2:6] == [
        "**Where it stands:**", "- src/tables.py: buoylineTable:40", "**Noted about it:**", f"- [operations] {AGAIN}",
    ]  # fmt: skip


def test_places_that_the_session_saw_are_left_out(run: Run, tmp_path: Path) -> None:
    archived(run, tmp_path)
    archived(run, tmp_path, "new")
    assert prompt(run) == ""


def test_nothing_of_another_project(run: Run, tmp_path: Path) -> None:
    archived(run, tmp_path, cwd="/home/u/elsewhere")
    assert prompt(run) == ""


def test_a_place_is_looked_up_in_the_current_file(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "gateway"
    (folder / "src").mkdir(parents=True)
    archived(run, tmp_path)
    event = {"hook_event_name": "UserPromptSubmit", "cwd": str(folder), "prompt": PROMPT}

    def refresh(session: str) -> str:
        env = {"JOELCLAW_NOW_MS": str(BEGAN_MS)}
        return run("hook", "claude", stdin=json.dumps({**event, "session_id": session}), env=env).out

    assert refresh("one") == "", "the file is not there"
    (folder / "src/tables.py").write_text("import gauge\n\n\nclass buoylineTable:\n    pass\n")
    assert "buoylineTable:4" in refresh("two")


def test_named_refreshes_can_be_switched_off(run: Run, home: Path) -> None:
    run("memory", "write", AGAIN, "--global")
    (home / "config.toml").write_text("[refresh]\nminutes = 0\n")
    assert prompt(run) == ""


def test_a_named_place_does_not_delay_a_refresh(run: Run, tmp_path: Path) -> None:
    def trigger(minutes: int, message: str) -> str:
        words = ("inject", "refresh", "--session", "s1", "--message", message)
        result = run(*words, env={"JOELCLAW_NOW_MS": str(BEGAN_MS + minutes * MINUTE)}, cwd=tmp_path).result
        return str(result["trigger"])

    plain = "go on with the importer, please"
    # half an hour after the start, not after the prompt that names something
    assert [trigger(*prompt_at) for prompt_at in ((0, plain), (9, plain), (18, plain), (25, PROMPT), (31, plain))] == [
        *("", "", ""), "named", "interval",
    ]  # fmt: skip
