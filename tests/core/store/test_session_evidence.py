"""Words of a question that occur in several turns of a session find that session."""

from pathlib import Path
from typing import Any

import apsw
import pytest
from claude_transcript import Transcript
from conftest import Run
from faults import WITHOUT_COLUMNS

from core.store import sqlite


def talk(folder: Path, name: str, *texts: str) -> Path:
    """A transcript of Claude Code: the user and the assistant in turns."""
    transcript = Transcript(folder / f"{name}.jsonl")
    for number, text in enumerate(texts):
        entry = transcript.entry("assistant" if number % 2 else "user", text)
        transcript.write({**entry, "uuid": f"{name}-{text}"})
    return transcript.path


@pytest.fixture
def archived(run: Run, tmp_path: Path) -> Path:
    """Sessions that speak of a harbour, ten of which of rust; one more speaks of its crane, and later of its rust."""
    for number in range(40):
        talk(
            tmp_path, f"plain-{number:02}", f"the harbour of town number {number} is busy today",
            "the ferry comes at noon and goes at one", f"how many boats lie in basin {number}?",
            "three boats and a tug" + (", and there is rust on one of them" if number % 4 == 0 else ""),
        )  # fmt: skip
    talk(
        tmp_path, "crane", "the crane in the harbour must be painted before winter", "which colour do you want for it?",
        "blue, as before", "there is rust on the lower part, which I would take off first",
    )  # fmt: skip
    run("memory", "archive", str(tmp_path))
    return tmp_path


def recalled(run: Run, *words: str, **more: Any) -> list[dict[str, Any]]:
    return run("recall", *words, "--limit", "20", **more).result["hits"]


def db_of(home: Path) -> apsw.Connection:
    return apsw.Connection(str(home / "store.db"), flags=apsw.SQLITE_OPEN_READONLY)


def test_words_of_several_turns_find_their_session(run: Run, archived: Path) -> None:
    hits = recalled(run, "rust crane paint")
    assert hits[0]["session"] == "crane"
    rusty = [hit["session"] for hit in hits if "rust" in hit["observation"]]
    assert rusty[0] == "crane"  # ten others hold the word, of which this one is said of the crane


def test_a_session_that_grows_is_found_by_what_is_new(run: Run, archived: Path, home: Path) -> None:
    before = db_of(home).execute("SELECT count(*) FROM segment").get
    talk(archived, "plain-07", "", "the pilot of the ferry has a parrot")
    run("memory", "archive", str(archived))
    assert db_of(home).execute("SELECT count(*) FROM segment").get == before
    hits = recalled(run, "parrot ferry noon")
    assert {hit["session"] for hit in hits[:2]} == {"plain-07"}


def test_forgotten_turns_leave_the_segments_until_restored(run: Run, archived: Path, home: Path) -> None:
    (hit,) = [hit for hit in recalled(run, "crane painted winter") if "painted" in hit["observation"]]
    count = "SELECT count(*) FROM segment_lexicon WHERE segment_lexicon MATCH 'painted'"
    assert db_of(home).execute(count).get == 1
    run("memory", "forget", hit["id"])
    assert db_of(home).execute(count).get == 0
    run("memory", "forget", "--undo", hit["id"])
    assert db_of(home).execute(count).get == 1
    run("memory", "forget", "--session", "crane")
    assert db_of(home).execute(count).get == 0
    assert db_of(home).execute("SELECT count(*) FROM segment WHERE session_id = 'crane'").get == 0


def test_a_store_of_an_older_version_gets_its_segments_with_the_next_archive(
    run: Run, archived: Path, home: Path
) -> None:
    db = apsw.Connection(str(home / "store.db"))
    db.execute("DROP TRIGGER segment_inserted; DROP TRIGGER segment_updated; DROP TRIGGER segment_deleted")
    db.execute("DROP TABLE segment; DROP TABLE segment_lexicon; DROP TABLE segment_due")
    db.execute(WITHOUT_COLUMNS)
    step = next(n for n, text in enumerate(sqlite.migrations()) if "segment_lexicon" in text)
    db.execute(f"PRAGMA user_version = {step}")
    db.close()
    assert recalled(run, "rust crane paint")  # not migrated: a recall only reads
    other = talk(archived, "other", "something else altogether is said here")
    run("memory", "archive", str(other))
    assert db_of(home).execute("SELECT count(DISTINCT session_id) FROM segment").get == 42
    assert db_of(home).execute("SELECT count(*) FROM segment_due").get == 0
    assert recalled(run, "rust crane paint")[0]["session"] == "crane"


def test_an_imported_session_has_segments(run: Run, archived: Path, tmp_path: Path) -> None:
    (tmp_path / "all.jsonl").write_text(run("memory", "export").out)
    elsewhere = tmp_path / "elsewhere"
    run("memory", "import", str(tmp_path / "all.jsonl"), env={"JOELCLAW_HOME": str(elsewhere)})
    assert db_of(elsewhere).execute("SELECT count(*) FROM segment WHERE session_id = 'crane'").get == 1
    assert recalled(run, "rust crane paint", env={"JOELCLAW_HOME": str(elsewhere)})[0]["session"] == "crane"
