"""What a purge finds in the store: what fits each of its criteria, and what quotes a word that only this has."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from core.store import documents, events, sqlite
from core.store.sessions import call_rows, name_rows, observed, session_rows, transcripts
from core.store.upkeep import purge, store_file
from core.store.upkeep.purge import Criteria, Selection


def remember(db: apsw.Connection, identifier: str, text: str, at: int = 5, **more: Any) -> int:
    one: Any = {**documents.blank(more.pop("collection", "observations"), identifier, text, at), **more}
    return documents.insert(db, one, b"", signatures=False)


def keep(db: apsw.Connection, identifier: str, project: str = "", at: int = 5, plan: Any = ()) -> None:
    session_rows.save_session(db, {
        "id": identifier, "client": "claude", "project": project, "folder": "", "updated_at": at, "prompts": 0,
        "calls": 0, "plan": list(plan),
    })  # fmt: skip


def call(db: apsw.Connection, session: str, number: int, text: str, at: int | None = 5) -> None:
    call_rows.save(db, {
        "session": session, "number": number, "key": f"k{number}", "prompt": 1, "at": at, "tool": "", "file": "",
        "command": text, "outcome": "ok", "error": "", "passage": "",
    })  # fmt: skip


def event(db: apsw.Connection, identifier: str, at: int = 5, session: str = "", **more: Any) -> None:
    one: Any = {
        "id": identifier, "timestamp": at, "sessionId": session, "systemId": "", "level": "info", "source": "",
        "component": "", "action": "hook.completed", "success": True, "metadata": {}, **more,
    }  # fmt: skip
    assert events.insert(db, one, "")
    events.record_hook(db, one)
    events.record_injection(db, one)


def select(db: apsw.Connection, **criteria: Any) -> Selection:
    return purge.select(db, Criteria(**criteria))


@pytest.mark.parametrize(
    ("text", "read"),
    [("Plain \u00dc", "plain \u00fc"), (r"a\u00DCb", "a\\u00dcb\na\u00fcb"), (r"x\nY", "x\\ny\nx y"), ("", "")],
)  # fmt: skip
def test_a_text_is_read_in_lower_case_and_without_escapes(text: str, read: str) -> None:
    assert purge.readable(text) == read


@pytest.mark.parametrize(
    ("criteria", "by_id", "whole"),
    [
        ({"session": "s"}, False, True), ({"documents": frozenset("d")}, True, False),
        ({"calls": frozenset([("s", 1)])}, True, False), ({"before": 0}, False, False), ({"match": "x"}, False, False),
        ({"project": "p"}, False, True),
    ],
)  # fmt: skip
def test_sessions_go_whole_where_nothing_narrows_them(criteria: dict[str, Any], by_id: bool, whole: bool) -> None:
    given = Criteria(**criteria)
    assert (given.by_id, given.is_whole) == (by_id, whole)


@pytest.mark.parametrize(
    ("criteria", "ids"),
    [
        ({"session": "s"}, "ab"), ({"before": 5}, "ac"), ({"before": 6}, "abcd"), ({"session": "s", "before": 5}, "a"),
        ({"match": "QUEUE"}, "bd"), ({"project": "p"}, "abc"), ({"project": "p", "match": "queue"}, "b"),
        ({"documents": frozenset("bd")}, "bd"), ({"documents": frozenset("b"), "session": "t"}, "b"),
        ({"match": "tagged"}, "d"),
        ({}, ""), ({"before": 0}, ""), ({"match": "around"}, ""),
    ],
)  # fmt: skip
def test_memories_go_that_fit_all_that_is_said(db: apsw.Connection, criteria: dict[str, Any], ids: str) -> None:
    keep(db, "s", "owner/p")
    remember(db, "a", "drains", 4, session_id="s")
    remember(db, "b", "the queue", session_id="s")
    remember(db, "c", "other", 4, project="p", session_id="t")
    remember(db, "d", "a queue", tags=["tagged"], context="around it")
    remember(db, "gone", "", 1, session_id="s", write_reason=purge.PURGED, project="p")
    found = select(db, **criteria)
    assert "".join(sorted(found.ids)) == ids and len(found.documents) == len(ids)
    assert found.touched == {"s" if one in "ab" else "t" for one in ids if one != "d"}


def test_what_quotes_such_a_word_goes_too(db: apsw.Connection) -> None:
    remember(db, "a", "quagga of it")
    around = remember(db, "b", "other", context="said near a quagga")
    remember(db, "c", "third", context="plain")
    keep(db, "s", plan=[["1", "mend the quagga"]])
    keep(db, "t", plan=[["1", "plain"]])
    for number, error in enumerate(("a quagga", "plain", "")):
        event(db, f"e{number}", session="s", error=error, metadata={"n": "x" if number else "quagga"})
    event(db, "made", metadata={"memoryIds": ["a"]}, injected={"kind": "k", "text": "plain"})
    event(db, "quotes", injected={"kind": "k", "text": "Quagga"})
    event(db, "neither", injected={"kind": "k", "text": "plain"}, metadata={"memoryIds": ["b"]})
    name_rows.save_names(db, "s", [
        {"name": named, "first": 1, "last": 1, "calls": 1, "weight": 1.0, "place": place, "written": 0}
        for named, place in (("quagga", ""), ("shard", "run quagga"), ("plain", "x"))
    ])  # fmt: skip
    for source, carry in (("x", "the quagga"), ("y", "plain"), ("z", "")):
        transcripts.advance(db, source, 1, "", carry, 1)
    for identifier, refusal in (("a", "no quagga here"), ("b", "plain")):
        db.execute("INSERT INTO outbox (id, collection, queued_at, refusal) VALUES (?, 1, 1, ?)", (identifier, refusal))
    found = select(db, documents=frozenset("a"))
    assert found.contexts == [around] and found.plans == ["s"] and found.carries == ["x"] and found.refusals == ["a"]
    assert found.names == [("s", "quagga"), ("s", "shard")] and found.hook_calls == [("s", "e0")]
    assert found.events == [1] and found.injections == ["made", "quotes"]
    by_phrase = select(db, match="said near")
    assert by_phrase.contexts == [around] and by_phrase.documents == [] and by_phrase.words == frozenset()


def test_events_and_history_go_by_session_time_and_phrase(db: apsw.Connection) -> None:
    event(db, "a", 5, "s", error="the queue", injected={"kind": "k", "text": "a queue"})
    event(db, "b", 6, "s", injected={"kind": "k", "text": "plain"})
    event(db, "c", 6, "t", injected={"kind": "k", "text": "plain"})
    for criteria, ids in (
        ({"session": "s"}, "ab"), ({"before": 6}, "a"), ({"match": "QUEUE"}, "a"), ({"session": "t"}, "c"),
        ({"before": 5}, ""),
    ):  # fmt: skip
        found = select(db, **criteria)
        assert "".join(found.injections) == ids and found.events == ["abc".index(one) + 1 for one in ids]
        assert [one for _, one in found.hook_calls] == list(ids)
    transcripts.advance(db, "/x/t.jsonl", 1, "", "half a turn", 1)
    assert select(db, session="t").carries == ["/x/t.jsonl"] and select(db, session="t", before=9).carries == []


def test_what_was_found_is_emptied_and_stays_known(db: apsw.Connection) -> None:
    assert sqlite.load_vectors(db)
    documents.ensure_signatures(db)
    keep(db, "s", "p")
    row = remember(db, "a", "quagga", session_id="s", project="p", title="T", tags=["x"], collection="episodes")
    near = remember(db, "b", "stays", context="near quagga", title="U")
    call(db, "s", 1, "quagga")
    call(db, "s", 2, "stays")
    event(db, "e", error="quagga")
    observed.add_evidence(db, "a", observed.add_range(db, "s", ["x"], 1))
    made: list[tuple[str, str, str]] = []

    def vector_of(*texts: str) -> bytes:
        made.append(texts)  # type: ignore[arg-type]
        return bytes(256)

    found = purge.erase(db, Criteria(match="quagga"), at=9, vectors=True, vector_of=vector_of)
    assert (found.documents, found.contexts, found.calls) == ([row], [near], [("s", 1)])
    emptied = documents.by_id(db, "a")
    assert emptied == {
        **documents.blank("episodes", "a", "", 5), "rowid": row, "updated_at": 9, "forgotten_at": 9,
        "write_reason": purge.PURGED,
    }  # fmt: skip
    beside = documents.by_id(db, "b")
    assert beside == {**documents.blank("observations", "b", "stays", 5), "rowid": near, "title": "U"}
    assert made == [("stays", "", "U")] and db.execute("SELECT count(*) FROM signature").get == 1
    assert [one["outcome"] for one in call_rows.calls(db, "s")] == [call_rows.FORGOTTEN_CALL, "ok"]
    assert session_rows.session(db, "s") is not None and events.count(db) == 0 and observed.evidence(db, "a") == []
    assert store_file.is_owed(db)
    again = purge.erase(db, Criteria(session="s"), at=9, vectors=False, vector_of=vector_of)
    assert again.sessions == ["s"] and session_rows.is_forgotten(db, "s") and call_rows.calls(db, "s") == []
