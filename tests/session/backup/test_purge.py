"""`memory purge` leaves no byte of the text in the home, and reports what it does not search."""

import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any
from unicodedata import normalize

import apsw
import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import JOELCLAW, PATIENCE_S, Run, attempt, clean_environment
from faults import paused, snapshot

from cli import output, terminal
from core.store import cluster_sync, documents, sqlite

SAID = "quaggabeacon"
ÜBER = "zürichseeboje"
CALLED = "okapiLantern"
TOLD = "tapirsummary"
PLANNED = "numbatplan"
OWN = (CALLED, TOLD, PLANNED)  # in one session only
MARKS = (SAID, ÜBER, *OWN)
KEPT = "the scheduler of the gateway runs in UTC, never in local time"


def forms(mark: str) -> list[bytes]:
    """A word as it may stand in a file: in UTF-8 and as JSON escapes it, in either case."""
    spellings = {form for word in (mark, mark.lower(), mark.upper()) for form in (word, json.dumps(word)[1:-1])}
    return [form.encode() for form in spellings]


def remaining(home: Path, *marks: str) -> list[tuple[str, str]]:
    """Files in which a byte of the text still stands, by name or content."""
    return [
        (name, mark)
        for name, data in snapshot(home).items()
        for mark in marks
        if any(form in data or form in name.encode() for form in forms(mark))
    ]


def hook(run: Run, kind: str, session: str, **more: Any) -> None:
    event = {"hook_event_name": kind, "session_id": session, "cwd": CWD, **more}
    run("hook", "claude", stdin=json.dumps(event))


@pytest.fixture
def transcript(run: Run, tmp_path: Path) -> Path:
    """A session whose words are in every place that keeps any."""
    transcript = Transcript(tmp_path / f"{SESSION}.jsonl")
    transcript.user(f"please mend the {SAID} and the {ÜBER} before the deploy")
    printed = f"def {CALLED}(): return '{ÜBER}'\nError: {SAID} is broken"
    transcript.used("c1", "Bash", printed, failed=True, command=f"make {CALLED} --fast")
    todo = {"content": f"repair {PLANNED}", "status": "pending", "activeForm": "x"}
    transcript.used("c2", "TodoWrite", "ok", todos=[todo])
    transcript.assistant(f"I decided to rebuild the {SAID} because {ÜBER} leaks")
    transcript.compact(f"we worked on {TOLD} and {SAID}")
    run("memory", "archive", str(transcript.path))
    return transcript.path


@pytest.fixture
def filled(run: Run, home: Path, transcript: Path) -> Path:
    run("memory", "write", KEPT)
    run("memory", "write", f"the {SAID} belongs to the {ÜBER}", "--session", SESSION)
    where = {"transcript_path": str(transcript)}
    hook(run, "UserPromptSubmit", SESSION, prompt=f"mend the {SAID} and the {ÜBER} at once", **where)
    hook(run, "Stop", SESSION, **where)
    run("checkpoint", "save", "--session", SESSION, "--percent", "75", "-m", f"mend the {SAID}, then {ÜBER} of {TOLD}")
    hook(run, "PreCompact", SESSION, trigger="auto", **where)
    hook(run, "SessionStart", SESSION, source="compact", **where)
    hook(run, "UserPromptSubmit", "another", prompt=f"what is the {SAID} and the {ÜBER}", transcript_path="")
    run("recall", f"{SAID} {ÜBER}")
    run("otel", "emit", "a.b", "--error", f"{SAID} failed", "--metadata", json.dumps({"what": ÜBER}))
    (home / "sessions" / "old.json.damaged-1790000000000").write_text(f'{{"half": "{SAID}')
    (home / "cache").mkdir(exist_ok=True)
    (home / "cache" / "typesense-x-terms.json").write_text(json.dumps({"terms": [ÜBER]}))
    (home / "knowledge.json.4194399.7.tmp").write_text(SAID)
    (home / "spool").mkdir(exist_ok=True)
    return home


def test_purging_a_session_leaves_nothing_of_it(run: Run, filled: Path) -> None:
    assert {mark for _, mark in remaining(filled, *MARKS)} == set(MARKS), "the text is there to begin with"
    result = run("memory", "forget", "--purge", "--session", SESSION, "--yes").result
    assert remaining(filled, *OWN) == []
    assert snapshot(filled / "workspace") == {}, "the sections of the session are gone"
    assert result["memories"] >= 3 and result["toolCalls"] == 2 and result["events"] and result["states"] == [SESSION]
    assert result["logSections"] and result["injectedTexts"] and result["hookCalls"]
    assert "--match" in result["notSearched"], "another session still mentions some of it"
    db = apsw.Connection(str(filled / "store.db"))
    for table in ("call", "compaction", "name", "hook_call", "injection", "event", "document"):
        assert db.execute(f"SELECT count(*) FROM {table} WHERE session_id = ?", (SESSION,)).get == 0, table
    assert db.execute("PRAGMA integrity_check").get == "ok"
    db.close()
    assert run("recall", "scheduler gateway").result["hits"][0]["observation"] == KEPT
    assert run("status").result["healthy"]


@pytest.mark.parametrize("mark", [SAID, SAID.upper(), ÜBER, normalize("NFD", ÜBER).upper()])
def test_a_purged_text_leaves_no_byte_in_any_case_or_form(run: Run, filled: Path, mark: str) -> None:
    run("memory", "forget", "--purge", "--match", mark, "--yes")
    assert remaining(filled, normalize("NFC", mark).lower()) == []
    assert remaining(filled, CALLED, PLANNED), "what does not hold it stays"


def test_it_counts_the_bytes_that_it_deletes(run: Run, home: Path) -> None:
    text = f"the {SAID} is painted green every spring"
    mine = run("memory", "write", text).result["id"]
    for number in range(20):
        run("memory", "write", f"{KEPT} {number}")
    looked = run("memory", "purge", mine, "--dry-run").result
    assert len(text) <= looked["bytes"] < 1_000 and looked["from"] == looked["to"] is not None
    assert run("memory", "purge", mine, "--yes").result["bytes"] >= len(text)


def test_everything_before_a_day(run: Run, filled: Path) -> None:
    listed = run("memory", "forget", "--purge", "--before", "2999-01-01", "--dry-run").result
    assert listed["memories"] >= 4 and not listed["purged"]
    assert listed["from"] < listed["to"] and listed["projects"], "from when, and whose"
    run("memory", "forget", "--purge", "--before", "2999-01-01", "--yes")
    assert remaining(filled, *OWN, "scheduler") == []
    assert not list((filled / "sessions").glob("*.json"))


def test_purging_a_memory(run: Run, home: Path) -> None:
    mine = run("memory", "write", f"the {SAID} is painted green every spring").result["id"]
    run("memory", "write", KEPT)
    run("checkpoint", "save", "--session", "s", "--percent", "70", "-m", "which colour has the beacon, painted green")
    run("inject", "memory", "--session", "s", "--query", "painted green every spring")
    assert remaining(home, SAID)
    result = run("memory", "forget", "--purge", mine, "--yes").result
    assert (result["memories"], result["ids"]) == (1, [mine])
    assert remaining(home, SAID) == []
    refused = run("memory", "forget", "--undo", mine, ok=False).json
    assert refused["error"]["code"] == "MEMORY_PURGED"
    shown = run("memory", "show", mine, ok=False).json
    assert shown["error"]["code"] == "MEMORY_PURGED" and "--undo" not in str(shown)


def test_texts_derived_from_a_memory_are_purged(run: Run, home: Path) -> None:
    """Also where each of its words stands in another memory, too."""
    text = "the gateway restarts every night before the backup"
    mine = run("memory", "write", text).result["id"]
    run("memory", "write", "every night somebody looks whether the backup of last week can still be read")
    run("memory", "write", "before anybody restarts the gateway the operator is asked")
    run("inject", "memory", "--session", "s", "--query", "gateway restarts every night")
    run("otel", "list")  # stores what waits
    db = apsw.Connection(str(home / "store.db"))
    assert text in str(db.execute("SELECT text FROM injection WHERE memories LIKE ?", (f"%{mine}%",)).get)
    result = run("memory", "forget", "--purge", mine, "--yes").result
    assert result["injectedTexts"] == 1
    assert db.execute("SELECT count(*) FROM injection").get == 0
    db.close()
    assert remaining(home, text) == []


def test_a_purged_session_does_not_come_back(run: Run, filled: Path, transcript: Path, tmp_path: Path) -> None:
    export = tmp_path / "export.jsonl"
    export.write_text(run("memory", "export").out)
    run("memory", "forget", "--purge", "--session", SESSION, "--yes")
    db = apsw.Connection(str(filled / "store.db"))
    db.execute("UPDATE transcript SET head = '', offset = 0; DELETE FROM seen_file")  # as a later version may
    db.close()
    answer = run("memory", "archive", str(transcript)).json
    assert answer["result"]["episodes"]["added"] == 0 and "--again" in str(answer["next_actions"])
    assert run("memory", "import", str(export)).result["forgotten"] >= 3
    Transcript(transcript, first=90).user("a new turn of it, which belongs to a session that was purged")
    assert run("memory", "archive", str(transcript)).result["forgotten"] == 1
    assert not run("recall", "new turn of a session").result["hits"]
    assert remaining(filled, *OWN) == []


def test_dry_run_changes_nothing(run: Run, filled: Path) -> None:
    run("otel", "list")  # what waits in the spool is taken in before anything is looked for
    before = {name: data for name, data in snapshot(filled).items() if not name.startswith("store.db")}
    result = run("memory", "forget", "--purge", "--session", SESSION, "--dry-run").result
    assert result["memories"] >= 3 and result["purged"] is False
    assert {name: data for name, data in snapshot(filled).items() if not name.startswith("store.db")} == before
    assert remaining(filled, *MARKS)


def test_untouched_places_are_reported(run: Run, filled: Path, transcript: Path) -> None:
    (filled / "config.toml").write_text(f'[inject]\nquery = "{SAID} again"\n')
    result = run("memory", "forget", "--purge", "--session", SESSION, "--yes").result
    assert str(transcript) in result["notTouched"] and "backups" in result["notSearched"]
    assert (
        result["cluster"] is None
        and result["namedOnly"] in ([], ["config.toml"])
        and SAID in (filled / "config.toml").read_text()
    )


def test_a_purge_reaches_the_cluster(run: Run, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(filled))
    db = sqlite.open_writing(busy_ms=1000, durable=False)
    cluster_sync.create_outbox(db)
    db.execute("DELETE FROM outbox")  # as if a cluster had all of it
    result = run("memory", "forget", "--purge", "--match", SAID, "--yes").result
    assert result["cluster"]["pending"] >= result["memories"] >= 3
    waiting = {name for (name,) in db.execute("SELECT id FROM outbox")}
    assert set(result["ids"]) <= waiting
    for identifier in result["ids"]:
        sent = documents.by_id(db, identifier)
        assert sent is not None and sent["forgotten_at"] and not sent["text"] + sent["context"]
    db.close()
    assert remaining(filled, SAID) == []


@pytest.mark.parametrize(("words", "code"), [
    (("--purge", "--yes"), 2), (("--purge", "--session", SESSION), 2), (("--match", "abc"), 2),
    (("--purge", "--before", "soon", "--yes"), 2), (("--purge", "id", "--match", "abcd", "--yes"), 2),
    (("--purge", "--session", "no-such-session", "--yes"), 1), (("--purge", "call:none:1", "--yes"), 1),
])  # fmt: skip
def test_invalid_purges_are_refused(run: Run, filled: Path, words: tuple[str, ...], code: int) -> None:
    refused = run("memory", "forget", *words, ok=False)
    assert refused.code == code and refused.json["fix"]
    message = refused.json["error"]["message"]
    assert ("no memory was given" in message, "ids and filters" in message) == (
        words[1:] == ("--yes",),
        "id" in words[:2],
    ), message
    assert remaining(filled, *MARKS)


def test_killed_half_way_and_run_again(run: Run, filled: Path, tmp_path: Path) -> None:
    words = ("memory", "forget", "--purge", "--session", SESSION, "--yes")
    original = tmp_path / "whole"
    shutil.copytree(filled, original)
    killed = 0
    for at in (*range(1, 40, 3), *range(40, 400, 40)):
        shutil.rmtree(filled)
        shutil.copytree(original, filled)
        process = paused(filled, *words, step=at)
        ended = process.poll() is not None
        process.kill()
        process.communicate(timeout=PATIENCE_S)
        if ended:
            break
        killed += 1
        again = attempt(filled, *words)
        assert again.code == 0 or again.assert_failed() == "PURGE_NOTHING"
        assert remaining(filled, *OWN) == [], at
    assert killed > 5
    for commit in range(1, 5):
        shutil.rmtree(filled)
        shutil.copytree(original, filled)
        process = paused(filled, *words, commit=commit)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE_S)
        attempt(filled, *words).assert_done()
        assert remaining(filled, *OWN) == [], commit


def test_while_hooks_write(run: Run, filled: Path) -> None:
    environment = clean_environment(filled)
    writers = []
    for number in range(6):
        code = f'for i in 1 2 3 4 5 6; do "{JOELCLAW}" memory write "note $i of writer {number} stays" || exit 1; done'
        writers.append(subprocess.Popen(["sh", "-c", code], env=environment, stdout=subprocess.DEVNULL))
    result = run("memory", "forget", "--purge", "--session", SESSION, "--yes").result
    assert all(writer.wait(PATIENCE_S) == 0 for writer in writers)
    assert result["purged"] and remaining(filled, *OWN) == []
    db = apsw.Connection(str(filled / "store.db"))
    assert db.execute("SELECT count(*) FROM document WHERE text LIKE 'note % of writer % stays'").get == 36
    db.close()


@pytest.mark.parametrize(("answer", "gone"), [("n\n", False), ("y\n", True)])
def test_on_a_terminal_a_purge_lists_what_it_deletes_and_asks_first(
    run: Run, filled: Path, monkeypatch: pytest.MonkeyPatch, answer: str, gone: bool
) -> None:
    monkeypatch.setattr(terminal.os, "isatty", lambda _: True)
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    done = run("memory", "forget", "--purge", "--match", CALLED, stdin=answer)
    assert all(about in done.out for about in ("tool calls ", "from ", "2026-09-20", "gateway")), done.out
    assert "delete it permanently?" in done.out and ("Cancelled; nothing was deleted." in done.out) != gone
    assert (remaining(filled, CALLED) == []) == gone
