"""What a person changes of a memory, in the store and in the answer: listed, edited, tagged, pinned, superseded."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import apsw
import pytest

from core.errors import Failure
from core.store import curation as store
from core.store import documents
from memory import curation, forget
from memory.write import write

CONFIG: Any = SimpleNamespace(get_int=lambda name: {"memory.max_chars": 250}[name])
DAY = 86_400_000
NOW = 1_790_000_000_000
TEXT = "The harbour importer listens on port 8089"
NEWER = "The harbour importer listens on port 9090"


def kept(db: apsw.Connection, text: str = TEXT, **more: Any) -> str:
    given: dict[str, Any] = {"tags": ("a", "b"), "session": "s1", "project": "p1", "now": NOW, **more}
    return write(db, text, vectors=False, config=CONFIG, **given)["id"]


def stored(db: apsw.Connection, identifier: str) -> Any:
    document = documents.by_id(db, identifier)
    assert document is not None
    return document


def edit(db: apsw.Connection, identifier: str, text: str) -> Any:
    return curation.edit(db, identifier, text, now=NOW + 5, vectors=False, config=CONFIG)


def supersede(db: apsw.Connection, identifier: str, text: str = NEWER) -> Any:
    return curation.supersede(db, identifier, text, now=NOW + 5, vectors=False, config=CONFIG)


def bring_back(db: apsw.Connection, identifier: str) -> Any:
    return curation.bring_back(db, identifier, now=NOW + 9, vectors=False)


def test_an_edited_memory_is_judged_anew_and_the_rest_of_it_stays(db: apsw.Connection) -> None:
    one = kept(db, category="prefs")
    before = stored(db, one)
    answer = edit(db, one, "[gate=hold reason=unsure confidence=.5] The importer may listen on 9090")
    after = stored(db, one)
    assert after == {
        **before, "text": "The importer may listen on 9090", "fingerprint": after["fingerprint"],
        "updated_at": NOW + 5, "write_verdict": "hold", "write_confidence": 0.5, "write_reason": "unsure",
        "write_gate_fallback": False, "history": [{"text": TEXT, "at": NOW, "source": "cli"}],
    }  # fmt: skip
    assert after["fingerprint"] != before["fingerprint"]
    assert answer == {
        "id": one, "at": "2026-09-21T14:13:20.000Z", "updated_at": "2026-09-21T14:13:20.005Z",
        "observation": after["text"], "category": "preferences", "tags": ["a", "b"], "project": "p1", "session": "s1",
        "source": "cli", "verdict": "hold", "recallCount": 0, "retrievalPriority": 0.0, "pinned": False,
        "stale": False, "supersededBy": "", "supersedes": "", "forgotten": False, "categoryId": "jc:preferences",
        "changed": True, "before": TEXT, "reason": "unsure", "redacted": [],
    }  # fmt: skip
    assert "not remembered" in edit(db, one, "[gate=discard] The importer may listen on 9091")["hint"]


def test_an_edit_that_changes_nothing_leaves_the_memory_as_it_was(db: apsw.Connection) -> None:
    one = kept(db)
    before = stored(db, one)
    assert edit(db, one, f" {TEXT} ")["changed"] is False
    assert stored(db, one) == before


@pytest.mark.parametrize(
    ("category", "text", "after"),
    [
        ("", "Ana prefers tea and likes it", ("jc:preferences", "keyword")),
        ("rules", "Ana prefers tea and likes it", ("jc:rules-conventions", "flag")),
        ("rules", "[gate=allow category=people] Ana prefers tea", ("jc:people-relationships", "annotation")),
    ],
)
def test_a_category_that_was_chosen_outlives_an_edit(
    db: apsw.Connection, category: str, text: str, after: tuple[str, str]
) -> None:
    one = kept(db, category=category)
    edit(db, one, text)
    document = stored(db, one)
    assert (document["category_id"], document["category_source"]) == after
    assert document["category_confidence"] == {"keyword": 0.91, "flag": 1.0, "annotation": 0.9}[after[1]]


@pytest.mark.parametrize(
    ("text", "project", "refused"),
    [(NEWER, "p1", True), (NEWER, "p2", False), (f"[gate=hold] {NEWER}", "p1", False)],
)
def test_an_edit_may_not_say_what_another_memory_of_the_project_says(
    db: apsw.Connection, text: str, project: str, refused: bool
) -> None:
    one = kept(db)
    other = kept(db, text, project=project)
    if refused:
        with pytest.raises(Failure) as told:
            edit(db, one, NEWER)
        assert (told.value.code, stored(db, one)["text"]) == ("MEMORY_DUPLICATE", TEXT)
        assert other in told.value.message and one in told.value.fix
    else:
        assert edit(db, one, NEWER)["observation"] == NEWER


def test_the_wording_of_a_memory_may_change_where_its_words_do_not(db: apsw.Connection) -> None:
    one = kept(db)
    answer = edit(db, one, TEXT.lower() + ".")
    assert (answer["changed"], answer["before"]) == (True, TEXT)


def test_tags_are_taken_away_then_added_each_once(db: apsw.Connection) -> None:
    one = kept(db)
    answer = curation.tag(db, one, add=["c", "a", " "], remove=["b", "x"])
    assert (answer["tags"], answer["added"], answer["removed"]) == (["a", "c"], ["c"], ["b"])
    assert (answer["changed"], answer["redacted"]) == (True, [])
    assert (stored(db, one)["tags"], stored(db, one)["updated_at"]) == (["a", "c"], NOW)
    assert curation.tag(db, one, add=["a"], remove=[])["changed"] is False
    assert curation.tag(db, one, add=["c"], remove=["c"])["tags"] == ["a", "c"]
    with pytest.raises(Failure) as told:
        curation.tag(db, one, add=[" "], remove=[])
    assert told.value.code == "MEMORY_INVALID_ARGS"


@pytest.mark.parametrize(("more", "allowed"), [(62, True), (63, False)])
def test_a_memory_has_sixty_four_tags_at_most(db: apsw.Connection, more: int, allowed: bool) -> None:
    one = kept(db)
    names = [f"t{number}" for number in range(more)]
    if allowed:
        assert len(curation.tag(db, one, add=names, remove=[])["tags"]) == 64
        return
    with pytest.raises(Failure) as told:
        curation.tag(db, one, add=names, remove=[])
    assert (told.value.message, stored(db, one)["tags"]) == ("a memory has 64 tags at most", ["a", "b"])


@pytest.mark.parametrize(
    ("tags", "stale", "undo", "after", "changed"),
    [
        (["a"], False, False, (["a", "pinned"], False), True),
        (["pinned", "a"], False, False, (["pinned", "a"], False), False),
        (["a", "stale"], True, False, (["a", "pinned"], False), True),
        (["a", "stale", "pinned"], False, False, (["a", "pinned"], False), True),
        (["a", "pinned"], True, False, (["a", "pinned"], False), True),
        (["a", "pinned", "stale"], True, True, (["a", "stale"], True), True),
        (["a", "stale"], True, True, (["a", "stale"], True), False),
        (["a"], False, True, (["a"], False), False),
    ],
)
def test_pinning_and_its_undoing(
    db: apsw.Connection, tags: list[str], stale: bool, undo: bool, after: tuple[list[str], bool], changed: bool
) -> None:
    one = kept(db)
    store.set_tags(db, stored(db, one)["rowid"], tags, stale=stale)
    answer = curation.pin(db, one, undo=undo)
    document = stored(db, one)
    assert (document["tags"], document["stale"], answer["changed"]) == (*after, changed)
    assert (answer["tags"], answer["undo"], answer["pinned"]) == (after[0], undo, "pinned" in after[0])
    assert answer["stale"] is (after[1] or "stale" in after[0])


@pytest.mark.parametrize(
    ("category", "text", "source"),
    [("", NEWER, "keyword"), ("prefs", NEWER, "flag"), ("prefs", f"[gate=allow category=rules] {NEWER}", "annotation")],
)
def test_what_takes_the_place_of_a_memory_has_what_was_chosen_for_it(
    db: apsw.Connection, category: str, text: str, source: str
) -> None:
    one = kept(db, category=category, tags=("a", "stale"))
    answer = supersede(db, one, text)
    older, newer = stored(db, one), stored(db, answer["id"])
    assert (newer["tags"], newer["project"], newer["session_id"]) == (["a"], "p1", "s1")
    category_id = {"flag": "jc:preferences", "annotation": "jc:rules-conventions"}.get(source, "jc:operations")
    assert (newer["category_id"], newer["category_source"]) == (category_id, source)
    assert newer["category_confidence"] == {"flag": 1.0, "annotation": 0.9, "keyword": 0.67}[source]
    assert (older["superseded_by"], newer["supersedes"], newer["created_at"]) == (newer["id"], one, NOW + 5)
    assert (answer["changed"], answer["merged"], answer["supersedes"]) == (True, False, one)
    assert answer["superseded"] == {"id": one, "observation": TEXT}


@pytest.mark.parametrize(
    ("text", "code"),
    [("[gate=hold] " + NEWER, "MEMORY_NOT_ALLOWED"), (TEXT.upper() + "!", "MEMORY_DUPLICATE"), (" ", "EMPTY_TEXT"),
     ("x" * 251, "TEXT_TOO_LONG")],
)  # fmt: skip
def test_what_cannot_take_the_place_leaves_the_old_one(db: apsw.Connection, text: str, code: str) -> None:
    one = kept(db)
    before = stored(db, one)
    with pytest.raises(Failure) as told:
        supersede(db, one, text)
    assert (told.value.code, stored(db, one)) == (code, before)


def test_undone_the_old_one_holds_and_the_new_one_is_forgotten(db: apsw.Connection) -> None:
    one = kept(db)
    newer = supersede(db, one)["id"]
    answer = bring_back(db, one)
    assert (answer["id"], answer["supersededBy"], answer["changed"], answer["undo"]) == (one, "", True, True)
    assert answer["takenOut"] == [newer]
    assert (stored(db, one)["superseded_by"], stored(db, newer)["forgotten_at"]) == ("", NOW + 9)
    with pytest.raises(Failure) as told:
        bring_back(db, one)
    assert told.value.code == "MEMORY_NOT_SUPERSEDED"


@pytest.mark.parametrize("made", ["merged", "edited", "pinned", "superseded", "forgotten", "there before"])
def test_what_became_more_than_the_place_of_another_stays(db: apsw.Connection, made: str) -> None:
    one = kept(db)
    before = kept(db, NEWER) if made == "there before" else ""
    answer = supersede(db, one)
    newer = answer["id"]
    assert answer["merged"] is bool(before)
    if made == "merged":
        assert kept(db, NEWER) == newer
    elif made == "edited":
        edit(db, newer, NEWER + " again")
    elif made == "pinned":
        curation.pin(db, newer)
    elif made == "superseded":
        supersede(db, newer, "The harbour importer listens on port 7070")
    elif made == "forgotten":
        forget.forget(db, [newer], now=NOW + 6, vectors=False)
    forgotten = stored(db, newer)["forgotten_at"]
    assert bring_back(db, one)["takenOut"] == []
    assert stored(db, newer)["forgotten_at"] == forgotten
    assert not before or before == newer


def test_a_pin_that_the_old_one_had_keeps_nothing(db: apsw.Connection) -> None:
    one = kept(db, tags=("pinned",))
    newer = supersede(db, one)["id"]
    assert stored(db, newer)["tags"] == ["pinned"]
    assert bring_back(db, one)["takenOut"] == [newer]


def test_what_was_forgotten_superseded_or_is_no_observation_is_not_changed(db: apsw.Connection) -> None:
    one, other = kept(db), kept(db, "The pier is closed in winter because of ice")
    newer = supersede(db, one)["id"]
    forget.forget(db, [other], now=NOW, vectors=False)
    for collection, what in (("knowledge", "a file says"), ("episodes", "said in a session")):
        documents.insert(db, documents.blank(collection, collection, "x", 1), b"", signatures=False)
        with pytest.raises(Failure) as told:
            edit(db, collection, NEWER)
        assert told.value.code == "MEMORY_NOT_EDITABLE" and what in told.value.message
    for identifier, code in ((one, "MEMORY_SUPERSEDED"), (other, "MEMORY_FORGOTTEN"), ("unknown", "MEMORY_NOT_FOUND")):
        for call in (lambda which: edit(db, which, TEXT), lambda which: curation.pin(db, which)):
            with pytest.raises(Failure) as told:
                call(identifier)
            assert told.value.code == code
    with pytest.raises(Failure) as told:
        edit(db, one, TEXT)
    assert newer in told.value.fix
    assert curation.tag(db, one, add=["x"], remove=[])["changed"] is True
    assert curation.pin(db, one, undo=True)["changed"] is False
