"""What is known of synced files, and which of their sections are written, counted, or taken out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from memory.knowledge.section_store import SectionStore, Synced, stored_path

from core.store import documents, knowledge, migrate
from memory.knowledge import folder_state, section_store
from memory.knowledge.folder_state import Entry, SyncedFiles

BODY = "Sessions write a checkpoint every turn, so that a compaction cannot take what the agent was doing with it."


@pytest.mark.parametrize(
    ("modified", "changed", "stamp"),
    [(8_000, 1_000, "5:8000000000:1000000000"), (8_001, 1_000, ""), (1_000, 8_000, "5:1000000000:8000000000"),
     (1_000, 8_001, "")],
)  # fmt: skip
def test_a_file_that_changed_in_the_last_two_seconds_has_no_stamp(modified: int, changed: int, stamp: str) -> None:
    status: Any = SimpleNamespace(st_mtime_ns=modified * 1_000_000, st_ctime_ns=changed * 1_000_000, st_size=5)
    assert folder_state.stamp(status, 10_000) == stamp


@pytest.mark.parametrize(
    ("name", "owner"),
    [("/a/b/c.md", "/a/b"), ("/a/c.md", "/a"), ("/a/bc/d.md", "/a"), ("/x.md", ""), ("/a/b", "/a/b")],
)
def test_a_file_belongs_to_the_innermost_folder(name: str, owner: str) -> None:
    assert folder_state.owner(name, ["/a", "/a/b"]) == owner
    assert folder_state.owner(name, ["/a/b", "/a"]) == owner


def test_the_state_is_read_as_it_was_written_and_a_damaged_one_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(tmp_path))
    state = SyncedFiles(["/a"], {"/a/b.md": Entry("stamp", "hash", 3, "cut")})
    assert folder_state.load() == SyncedFiles()
    folder_state.save(state)
    assert folder_state.load() == state
    kept = Path(folder_state.path())
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "version": 2}))
    assert folder_state.load() == SyncedFiles(["/a"], {})
    for text in ("{", "[]", '{"folders": ["/a"]}', '{"version": 1, "folders": [], "files": {"x": [1]}}'):
        kept.write_text(text)
        assert folder_state.load() == SyncedFiles(), text
        assert not kept.exists(), text


def test_a_path_is_stored_without_secrets_and_apart_from_others() -> None:
    assert stored_path("/a/b.md") == "/a/b.md"
    secret = "/a/ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8" + "/b.md"
    assert secret not in stored_path(secret) and stored_path(secret).rpartition("#")[2].isalnum()
    assert stored_path("/a/\udcff.md") != stored_path("/a/\udcfe.md")


def test_of_the_files_that_are_skipped_fifty_are_listed() -> None:
    report = Synced()
    for number in range(51):
        report.skip(f"/{number}", "why")
    assert (report.skipped_count, len(report.skipped), report.skipped[-1]) == (51, 50, {"path": "/49", "reason": "why"})


class Shelf:
    """A store in memory, with the sections of one file."""

    def __init__(self) -> None:
        self.db = migrate.in_memory()
        self.now = 10_000

    def sync(self, text: str) -> tuple[int, Synced]:
        """Store the sections of the file; how many are in recall, and what was counted."""
        report = Synced()
        store = SectionStore(self.db, self.now, False, report)
        status: Any = SimpleNamespace(st_mtime_ns=7_000_000_000)
        made = store.documents_of(text, "/v/adr/1.md", "/v/adr/1.md", status)
        rows = knowledge.rows_by_file(self.db).get("/v/adr/1.md", [])
        return store.store(made, rows), report

    def stored(self) -> list[Any]:
        return sorted(documents.every(self.db, collection="knowledge"), key=lambda one: one["title"])


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    made = Shelf()
    yield made
    made.db.close()


def counts(report: Synced) -> tuple[int, int, int, int]:
    return report.added, report.updated, report.removed, report.unchanged


def test_a_section_as_it_is_stored(shelf: Shelf) -> None:
    text = f"---\ntags: [x, y]\ncategory: rules\nstatus: superseded\n---\n# One\n\n{BODY}\n\n## Two\n\n{BODY} 2\n"
    live, report = shelf.sync(text)
    assert (live, counts(report)) == (2, (2, 0, 0, 0))
    one, two = shelf.stored()
    assert one == {
        **documents.blank("knowledge", one["id"], BODY, 7_000), "rowid": one["rowid"], "title": "One",
        "path": "/v/adr/1.md", "source": one["source"], "observation_type": "adr", "tags": ["x", "y"], "stale": True,
        "fingerprint": one["fingerprint"], "write_confidence": 1.0, "write_reason": "archived",
        "write_gate_version": "v1", "category_id": "jc:rules-conventions", "category_confidence": 1.0,
        "category_source": "flag", "updated_at": shelf.now,
    }  # fmt: skip
    assert (two["title"], two["text"]) == ("One › Two", f"{BODY} 2")
    assert one["id"] != two["id"]


def test_what_differs_is_written_what_is_gone_taken_out_and_the_rest_counted(shelf: Shelf) -> None:
    shelf.sync(f"# One\n\n{BODY}\n\n## Two\n\n{BODY} 2\n\n## Three\n\n{BODY} 3\n")
    before = {one["title"]: one for one in shelf.stored()}
    shelf.now = 20_000
    live, report = shelf.sync(f"# One\n\n{BODY}\n\n## Two\n\n{BODY} two\n\n## Four\n\n{BODY} 4\n")
    assert (live, counts(report)) == (3, (1, 1, 1, 1))
    after = {one["title"]: one for one in shelf.stored()}
    assert set(after) == {"One", "One › Two", "One › Four"}
    assert after["One"] == before["One"]
    two = after["One › Two"]
    assert (two["rowid"], two["text"], two["updated_at"]) == (before["One › Two"]["rowid"], f"{BODY} two", 20_000)
    assert shelf.sync(f"# One\n\n{BODY}\n\n## Two\n\n{BODY} two\n\n## Four\n\n{BODY} 4\n")[0] == 3


def test_what_was_forgotten_is_neither_written_nor_counted(shelf: Shelf) -> None:
    text = f"# One\n\n{BODY}\n\n## Two\n\n{BODY} 2\n"
    shelf.sync(text)
    two = shelf.stored()[1]
    documents.forget(shelf.db, two["rowid"], 9, signatures=False)
    live, report = shelf.sync(text.replace("2\n", "two\n"))
    assert (live, counts(report)) == (1, (0, 0, 0, 1))
    kept = documents.by_id(shelf.db, two["id"])
    assert kept is not None and kept["text"] == f"{BODY} 2"


@pytest.mark.parametrize(("sections", "commits"), [(2, 1), (3, 2), (4, 2), (5, 3)])
def test_many_sections_are_stored_by_several_transactions(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, sections: int, commits: int
) -> None:
    monkeypatch.setattr(section_store, "TOGETHER", 2)
    counted: list[int] = []
    shelf.db.set_commit_hook(lambda: bool(counted.append(1)))
    live, report = shelf.sync("".join(f"# H{number}\n\n{BODY} {number}\n\n" for number in range(sections)))
    assert (live, report.added, len(counted)) == (sections, sections, commits)
    shelf.sync(f"# H0\n\n{BODY} 0\n")
    assert len(shelf.stored()) == 1
