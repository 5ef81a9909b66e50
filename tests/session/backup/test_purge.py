"""`memory purge` leaves no byte of the text in the home, in whatever form, and reports what it does not search."""

import json
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unicodedata import normalize

import apsw
import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import JOELCLAW, PATIENCE_S, Run, attempt, clean_environment, put
from faults import paused, snapshot

from cli import output, terminal
from core.store import cluster_sync, documents, sqlite
from session.purge import _Sweep

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
    found = []
    for name, data in snapshot(home).items():
        found += [(name, mark) for mark in marks if any(form in data or form in name.encode() for form in forms(mark))]
    return found


def sql(home: Path, statement: str, *values: Any) -> list[Any]:
    """The first column of what a statement finds in the store."""
    db = apsw.Connection(str(home / "store.db"))
    found = [row[0] for row in db.execute(statement, values)]
    db.close()
    return found


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
    for table in ("call", "compaction", "name", "hook_call", "injection", "event", "document"):
        assert sql(filled, f"SELECT count(*) FROM {table} WHERE session_id = ?", SESSION) == [0], table
    assert sql(filled, "PRAGMA integrity_check") == ["ok"]
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


def test_purging_a_memory(run: Run, home: Path, tmp_path: Path) -> None:
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
    listed, stats = run("memory", "list", "--all").result, run("memory", "stats").result
    assert [memory["observation"] for memory in listed["memories"] if not memory["observation"]] == []
    assert (listed["found"], stats["total"], stats["forgotten"]) == (2, 2, 0)
    saved = run("backup", str(tmp_path / "b.tar.gz")).result
    restored = run("restore", str(tmp_path / "b.tar.gz"), "--verify-only").result
    assert saved["counts"]["memories"] == restored["counts"]["memories"] == 2
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
    assert text in str(sql(home, "SELECT text FROM injection WHERE memories LIKE ?", f"%{mine}%"))
    result = run("memory", "forget", "--purge", mine, "--yes").result
    assert result["injectedTexts"] == 1
    assert sql(home, "SELECT count(*) FROM injection") == [0]
    assert remaining(home, text) == []


def test_a_purged_session_does_not_come_back(run: Run, filled: Path, transcript: Path, tmp_path: Path) -> None:
    export = tmp_path / "export.jsonl"
    export.write_text(run("memory", "export").out)
    run("memory", "forget", "--purge", "--session", SESSION, "--yes")
    sql(filled, "UPDATE transcript SET head = '', offset = 0; DELETE FROM seen_file")  # as a later version may
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
    assert result["cluster"] is None and result["namedOnly"] in ([], ["config.toml"])
    assert SAID in (filled / "config.toml").read_text()


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
    assert ("no memory was given" in message) == (words[1:] == ("--yes",)), message
    assert ("ids and filters" in message) == ("id" in words[:2]), message
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
    assert sql(filled, "SELECT count(*) FROM document WHERE text LIKE 'note % of writer % stays'") == [36]


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


NAME = "Zoë Quagga GmbH"
OTHERS = "Zoë paints the wall and asks about a quagga of some gmbh that runs by"
"""The words of the name apart, so that it is not found by a word that nothing else has."""
FORMS = {
    "decomposed": normalize("NFD", NAME),
    "broken": "Zoë\nQuagga\r\n  GmbH",
    "unbroken": "Zoë\u00a0Quagga\u202fGmbH",
    "two spaces": "Zoë  Quagga \t GmbH",
    "loud": normalize("NFD", "ZOË  QUAGGA\u00a0GMBH"),
    "wide": "Ｚｏë Ｑｕａｇｇａ　ＧｍｂＨ",
}


def marked(form: str) -> str:
    return "mark" + form.replace(" ", "")


@pytest.fixture
def every_form(run: Run, home: Path, tmp_path: Path) -> Path:
    """Each form with a mark of its own, wherever the home keeps text."""
    run("memory", "write", OTHERS)
    for form, text in FORMS.items():
        mark, session = marked(form), f"s-{marked(form)[4:]}"
        transcript = Transcript(tmp_path / f"{session}.jsonl")
        transcript.user(f"deploy {mark}1 for {text} tonight")
        transcript.call("c1", "Bash", command=f"echo '{text}' {mark}2")
        transcript.outcome("c1", f"def {mark}3(): return '''{text}'''\nError: {mark}3 of {text}", failed=True)
        transcript.assistant(f"I decided to keep {mark}4 because {text} asked")
        run("memory", "archive", str(transcript.path))
        run("memory", "write", f"the contract {mark}5 is with {text} until May")
        hook(run, "UserPromptSubmit", session, prompt=f"mend {mark}6 of {text} at once")
        run("checkpoint", "save", "--session", session, "--percent", "75", "-m", f"mend {mark}7 of {text}")
        hook(run, "PreCompact", session, trigger="auto")
        run("otel", "emit", "a.b", "--metadata", json.dumps({"inner": json.dumps({"of": f"{mark}8 {text}"})}))
        (home / "cache").mkdir(exist_ok=True)
        (home / "cache" / f"{session}.json").write_text(json.dumps({"of": json.dumps([f"{mark}9 {text}"])}))
        log = home / "workspace" / "memory" / "2026-01-02.md"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as file:
            file.write(f"water the plants\n- asks {text} about\nand rest\n")
    run("otel", "list")
    return home


def test_every_form_of_a_name_goes(run: Run, every_form: Path) -> None:
    marks = [marked(form) for form in FORMS]
    assert {mark for _, mark in remaining(every_form, *marks)} == set(marks), "the text is there to begin with"
    result = run("memory", "forget", "--purge", "--match", NAME, "--yes").result
    assert remaining(every_form, *marks) == []
    assert result["namedOnly"] == ["workspace/memory/2026-01-02.md"], "in a log, only single lines are deleted"
    assert [memory["observation"] for memory in run("memory", "list").result["memories"]] == [OTHERS]
    log = (every_form / "workspace" / "memory" / "2026-01-02.md").read_text()
    assert log.replace("- asks Zoë\nQuagga\n  GmbH about\n", "") == len(FORMS) * "water the plants\nand rest\n"


@pytest.mark.parametrize("form", ["decomposed", "broken", "unbroken", "wide"])
def test_a_purge_accepts_any_form(run: Run, home: Path, form: str) -> None:
    run("memory", "write", OTHERS)
    run("memory", "write", f"the contract markplain is with {NAME} until May")
    run("memory", "forget", "--purge", "--match", FORMS[form], "--yes")
    assert remaining(home, "markplain") == []


def test_files_whose_name_holds_the_text_are_reported(run: Run, home: Path) -> None:
    put(home / "workspace" / "memory" / f"{NAME}.md", "water the plants\n")
    run("memory", "write", f"the contract is with {NAME} until May")
    result = run("memory", "forget", "--purge", "--match", NAME, "--yes").result
    assert f"workspace/memory/{NAME}.md" in result["namedOnly"]


def test_a_project_by_either_form_of_its_name(run: Run, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / normalize("NFD", "zoë-quagga")
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    transcript = Transcript(tmp_path / "s-1.jsonl")
    transcript.write({**transcript.entry("user", "deploy the markplain tonight"), "cwd": str(folder)})
    run("memory", "archive", str(transcript.path))
    run("memory", "write", "the markplain is painted green", cwd=folder)
    result = run("memory", "forget", "--purge", "--project", "Zoë-Quagga", "--yes").result
    assert result["memories"] == 2
    assert remaining(home, "markplain", "quagga") == []


TEXT = f"the {SAID} is painted green every spring"
Meanwhile = Callable[[Callable[[], None]], None]


def elsewhere(home: Path, *words: str) -> None:
    """Run a command in a process of its own, as another agent does."""
    environment = clean_environment(home)
    done = subprocess.run([JOELCLAW, *words], env=environment, capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout[:900].decode()


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Has something happen while the question waits for its answer, which is yes."""

    def set_up(act: Callable[[], None]) -> None:
        def agreed(_: str) -> bool:
            act()
            return True

        monkeypatch.setattr(terminal.os, "isatty", lambda _: True)
        monkeypatch.setattr(output, "is_terminal", lambda: True)
        monkeypatch.setattr(terminal, "confirm", agreed)

    return set_up


@pytest.mark.parametrize("by_id", [True, False])
def test_a_memory_that_reused_a_row_stays(run: Run, home: Path, meanwhile: Meanwhile, by_id: bool) -> None:
    first = run("memory", "write", TEXT).result["id"]
    last = first if by_id else run("memory", "write", f"nobody may touch the {SAID} in winter").result["id"]

    def another_gets_its_row() -> None:
        db = apsw.Connection(str(home / "store.db"))
        rowid = db.execute("SELECT rowid FROM document WHERE id = ?", (last,)).get
        with sqlite.transaction(db):
            documents.remove(db, rowid)  # as the archive does with a draft
        db.close()
        elsewhere(home, "memory", "write", KEPT)
        assert sql(home, "SELECT text FROM document WHERE rowid = ?", rowid) == [KEPT]

    meanwhile(another_gets_its_row)
    run("memory", "forget", "--purge", *([last] if by_id else ["--match", SAID]))
    assert remaining(home, SAID) == []
    assert sql(home, "SELECT text FROM document WHERE text <> ''") == [KEPT]


def event(identifier: str, error: str = "") -> str:
    """A line of the spool."""
    names = ("sessionId", "systemId", "level", "source", "component", "action")
    fields = {"id": identifier, "timestamp": 1, "success": True, "metadata": {}, "error": error}
    return json.dumps({**dict.fromkeys(names, "info"), **fields}) + "\n"


def test_an_event_spooled_during_the_question_is_purged(run: Run, home: Path, meanwhile: Meanwhile) -> None:
    run("memory", "write", TEXT)

    def spool_events() -> None:
        (home / "spool").mkdir(exist_ok=True)
        (home / "spool" / "events.jsonl").write_text(event("quotes", SAID) + event("stays"))

    meanwhile(spool_events)
    run("memory", "forget", "--purge", "--match", SAID)
    assert remaining(home, SAID) == []
    assert b"stays" in b"".join(snapshot(home).values())


def test_a_line_logged_during_the_purge_stays(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("memory", "write", KEPT)
    log = put(home / "workspace" / "memory" / "2026-01-02.md", f"# The day\n- look at the {SAID}\n- water the plants\n")
    before = _Sweep._without_sections

    def append_meanwhile(sweep: _Sweep, text: str, name: str) -> tuple[str, int]:
        if not sweep._dry:
            with log.open("a") as file:
                file.write("- feed the cat\n")
        return before(sweep, text, name)

    monkeypatch.setattr(_Sweep, "_without_sections", append_meanwhile)
    result = run("memory", "forget", "--purge", "--match", SAID, "--yes").result
    assert result["logSections"] == 1
    assert log.read_text() == "# The day\n- water the plants\n- feed the cat\n"
    assert remaining(home, SAID) == []
