"""What a purge finds in the store: what fits each of its criteria, and what quotes a word that only this has."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from core.store import documents, events, sqlite
from core.store.history import injections
from core.store.sessions import call_rows, forgotten, name_rows, observed, session_rows, transcripts
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
    injections.record(db, one)


def select(db: apsw.Connection, **criteria: Any) -> Selection:
    return purge.select(db, Criteria(**criteria))


@pytest.mark.parametrize(
    ("text", "read"),
    [("Plain \u00dc", "plain \u00fc"), (r"a\u00DCb", "a\\u00dcb\na\u00fcb"), (r"x\nY", "x\\ny\nx y"), ("", "")],
)  # fmt: skip
def test_a_text_is_read_in_lower_case_and_without_escapes(text: str, read: str) -> None:
    assert purge.readable(text) == read


def test_words_have_three_characters() -> None:
    assert purge.words_of("ab abc ABCD", None, "", r"x\u00fcber") == {"abc", "abcd", "u00fcber", "x\u00fcber"}


@pytest.mark.parametrize(
    ("match", "text", "holds"),
    [("", None, True), ("", "x", True), ("a B", "the A b", True), ("a b", "ab", False), ("a", None, False),
     ("\u00fc", r"\u00dc", True)],
)  # fmt: skip
def test_a_phrase_is_held_in_either_case(match: str, text: str | None, holds: bool) -> None:
    assert Criteria(match=match).holds(text) is holds


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


@pytest.mark.parametrize(
    ("criteria", "numbers"),
    [
        ({"session": "s"}, [1, 2, 3]), ({"before": 6}, [1, 3]), ({"before": 10}, [1, 2, 3]), ({"before": 5}, []),
        ({"match": "make"}, [1, 3]),
        ({"project": "p"}, [1, 2, 3]), ({"calls": frozenset([("s", 2), ("s", 9), ("t", 1)])}, [2]),
        ({"documents": frozenset("x")}, []),
    ],
)  # fmt: skip
def test_calls_go_by_their_own_time_or_that_of_their_session(
    db: apsw.Connection, criteria: dict[str, Any], numbers: list[int]
) -> None:
    keep(db, "s", "p", 9)
    call(db, "s", 1, "make one", 5)
    call(db, "s", 2, "run", None)
    call(db, "s", 3, "make two", 5)
    call(db, "s", 4, "make gone", 5)
    forgotten.forget_call(db, "s", 4)
    found = select(db, **criteria)
    assert found.calls == [("s", number) for number in numbers]
    assert found.touched == ({"s"} if numbers else set())


def test_a_session_goes_whole_unless_only_a_part_of_it_was_chosen(db: apsw.Connection) -> None:
    keep(db, "s", "p", plan=[["1", "mend"]])
    keep(db, "t", "q")
    keep(db, "u", "owner/p")
    forgotten.forget(db, "gone")
    assert select(db, session="s").sessions == ["s"] and select(db, session="unknown").sessions == ["unknown"]
    assert select(db, session="gone").sessions == ["gone"]
    assert sorted(select(db, project="p").sessions) == ["s", "u"]
    with_live = select(db, project="p", live=frozenset(["w", "v", "s"])).sessions
    assert sorted(with_live[:2]) == ["s", "u"] and with_live[2:] == ["v", "w"]
    assert select(db, project="p", session="u").sessions == ["u"]
    assert select(db, project="p", session="s", live=frozenset("suv")).sessions == ["s"]
    assert select(db, project="p", session="t").sessions == []
    assert select(db, session="s", before=9).sessions == [] == select(db, documents=frozenset("d")).sessions
    assert select(db, session="s", before=9).plans == ["s"] and select(db, session="s", before=5).plans == []
    assert select(db, session="s", match="mend").plans == ["s"] and select(db, session="t", before=9).plans == []
    db.execute("UPDATE session SET plan = ? WHERE id = 's'", (session_rows.PURGED_PLAN,))
    assert select(db, session="s", before=9).plans == []


def test_summaries_go_with_what_fits(db: apsw.Connection) -> None:
    keep(db, "s", "p")
    name_rows.save_compaction(db, "s", 1, 5, "we mended the queue")
    name_rows.save_compaction(db, "s", 2, 7, "")
    name_rows.save_compaction(db, "s", 3, 7, "another")
    for criteria, numbers in (
        ({"session": "s"}, [1, 3]), ({"before": 6}, [1]), ({"match": "Queue"}, [1]), ({"project": "p"}, [1, 3]),
        ({"documents": frozenset("d")}, []),
    ):  # fmt: skip
        found = select(db, **criteria)
        assert found.compactions == [("s", number) for number in numbers]
    db.execute("UPDATE compaction SET summary = ?", (name_rows.PURGED_SUMMARY,))
    assert select(db, session="s").compactions == []


def test_only_words_that_nothing_else_has_are_looked_for(db: apsw.Connection) -> None:
    remember(db, "a", "quagga okapi tapir numbat lynx")
    remember(db, "b", "okapi")
    call(db, "s", 1, "tapir")
    name_rows.save_compaction(db, "s", 1, 5, "numbat")
    assert select(db, documents=frozenset("a")).words == {"quagga", "lynx"}
    call(db, "s", 2, "lynx")
    assert select(db, documents=frozenset("a"), calls=frozenset([("s", 2)])).words == {"quagga", "lynx"}
    assert select(db, documents=frozenset("ab")).words == {"quagga", "okapi"}
    assert select(db, calls=frozenset([("s", 1)])).words == frozenset()
    assert select(db, before=9).words == {"quagga", "okapi", "tapir", "numbat", "lynx"}


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


def test_a_store_without_signatures_is_purged_too(db: apsw.Connection) -> None:
    remember(db, "a", "quagga")
    found = purge.erase(db, Criteria(match="quagga"), at=9, vectors=True, vector_of=lambda *_: b"")
    assert found.ids == ["a"] and found.words == {"quagga"}
    assert purge.erase(db, Criteria(match="quagga"), at=9, vectors=True, vector_of=lambda *_: b"").ids == []
