"""What is made of the hits of a recall: sessions with their snippets, files with at most so many sections."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import apsw
import pytest

from core.store import documents, sqlite
from core.store.sessions import calls
from memory.knowledge import search as knowledge
from memory.sessions import search as sessions

CONFIG: Any = SimpleNamespace()


class Recall:
    """Gives these hits, and keeps what it was asked."""

    def __init__(self, *hits: dict[str, Any]) -> None:
        blank = {"score": 0.5, "source": "claude", "collection": "episodes", "project": "p", "path": "", "type": ""}
        self.hits = [{**blank, **hit} for hit in hits]
        self.asked: dict[str, Any] = {}

    def __call__(self, db: Any, query: str, **asked: Any) -> Any:
        self.asked = asked
        return {"hits": self.hits, "found": 77}


def found(db: apsw.Connection | None, recall: Recall, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Any:
    monkeypatch.setattr(sessions.engine, "recall", recall)
    given: dict[str, Any] = {"limit": 5, "client": "", "machine": "m", "now": 1, "vectors": False, **more}
    return sessions.search(db, "lease", config=CONFIG, **given)


def test_a_session_has_the_score_of_its_best_hit_and_three_snippets(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls.save_session(db, {
        "id": "s1", "client": "pi", "project": "q", "folder": "/w/app", "updated_at": 1, "prompts": 1, "calls": 3,
        "plan": [],
    })  # fmt: skip
    one = documents.blank("episodes", "e1", "user: lease", 1_000)
    one["session_id"] = "s1"
    documents.insert(db, one, b"", signatures=False)
    recall = Recall(
        {"session": "s1", "observation": "user: lease a", "score": 0.9}, {"session": "", "observation": "lease"},
        {"session": "s2", "observation": "Bash lease", "collection": "calls"},
        *({"session": "s1", "observation": f"user: lease {name}"} for name in "abcd"),
    )  # fmt: skip
    answer = found(db, recall, monkeypatch)
    assert (answer["found"], answer["searched"]) == (2, 1)
    assert answer["hits"][0] == {
        "source": "local", "id": "s1", "runId": "s1", "sessionId": "s1", "machineId": "m",
        "startedAt": "1970-01-01T00:00:01.000Z", "role": "user", "cwdKey": "--w-app--", "folder": "/w/app",
        "client": "pi", "project": "q", "score": 0.9,
        "snippets": ["user: lease a", "user: lease b", "user: lease c"],
    }  # fmt: skip
    other = answer["hits"][1]
    assert (other["role"], other["client"], other["project"], other["cwdKey"]) == ("tool", "claude", "p", "")
    assert [one["id"] for one in found(db, recall, monkeypatch, limit=1)["hits"]] == ["s1"]
    assert found(None, recall, monkeypatch) == {"found": 2, "searched": 0, "hits": []}


@pytest.mark.parametrize(
    ("client", "kept"),
    [("", ["s1", "s2"]), ("all", ["s1", "s2"]), ("claude", ["s1"]), ("claude-code", ["s1"]), ("pi", ["s2"]), ("x", [])],
)
def test_only_sessions_of_a_client(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch, client: str, kept: list[str]
) -> None:
    recall = Recall({"session": "s1", "observation": "a"}, {"session": "s2", "observation": "b", "source": "pi"})
    assert [one["id"] for one in found(db, recall, monkeypatch, client=client)["hits"]] == kept


@pytest.mark.parametrize(("limit", "asked"), [(1, 6), (16, 96), (17, 100)])
def test_how_many_hits_are_asked_for(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch, limit: int, asked: int
) -> None:
    recall = Recall()
    found(db, recall, monkeypatch, limit=limit)
    assert (recall.asked["limit"], recall.asked["by_name"]) == (asked, True)
    assert recall.asked["collections"] == ("episodes", "calls")


HITS = [
    {"id": f"{path}{number}", "path": path, "type": kind, "title": "T", "observation": "text"}
    for path, kind, number in (
        ("/v/a.md", "adr", 1), ("/v/a.md", "adr", 2), ("/v/a.md", "adr", 3), ("/v/sub/b.md", "note", 1),
        ("/vault/c.md", "adr", 1), ("", "turn_note", 1), ("", "turn_note", 2), ("", "turn_note", 3),
    )
]  # fmt: skip


@pytest.mark.parametrize(
    ("more", "kept", "count"),
    [
        ({}, ["/v/a.md1", "/v/a.md2", "/v/sub/b.md1", "/vault/c.md1", "1", "2", "3"], 77),
        ({"per_file": 1}, ["/v/a.md1", "/v/sub/b.md1", "/vault/c.md1", "1", "2", "3"], 77),
        ({"limit": 3}, ["/v/a.md1", "/v/a.md2", "/v/sub/b.md1"], 77),
        ({"types": ("note",)}, ["/v/sub/b.md1"], 1), ({"types": ("adr",)}, ["/v/a.md1", "/v/a.md2", "/vault/c.md1"], 4),
        ({"below": "/v"}, ["/v/a.md1", "/v/a.md2", "/v/sub/b.md1"], 4), ({"below": "/v/sub/"}, ["/v/sub/b.md1"], 1),
        ({"below": "/v", "types": ("adr",), "limit": 1}, ["/v/a.md1"], 3),
    ],
)  # fmt: skip
def test_which_sections_are_hits(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], kept: list[str], count: int
) -> None:
    monkeypatch.setattr(knowledge.engine, "recall", Recall(*HITS))
    monkeypatch.setattr(sqlite, "open_reading", lambda: None)
    result, db = knowledge.search("lease", now=1, config=CONFIG, **more)
    assert ([hit["id"] for hit in result["hits"]], result["found"], result["query"], db) == (kept, count, "lease", None)


@pytest.mark.parametrize(
    ("more", "asked"),
    [
        ({}, 40), ({"limit": 3}, 12), ({"types": ("adr",)}, 200), ({"below": "/v"}, 500),
        ({"limit": 51, "types": ("adr",)}, 204), ({"limit": 126, "below": "/v", "types": ("adr",)}, 504),
    ],
)  # fmt: skip
def test_how_deep_a_search_looks(monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], asked: int) -> None:
    recall = Recall()
    monkeypatch.setattr(knowledge.engine, "recall", recall)
    monkeypatch.setattr(sqlite, "open_reading", lambda: None)
    knowledge.search("lease", now=1, min_score=0.25, config=CONFIG, **more)
    assert (recall.asked["limit"], recall.asked["min_score"], recall.asked["vectors"]) == (asked, 0.25, False)
