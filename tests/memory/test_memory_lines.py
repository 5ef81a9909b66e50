"""A line of an import as a memory: what each key takes, its bounds, what is filled in, and what a bad one says."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import NOW_MS

from memory import json_form
from memory.json_form import BadLineError, from_line, to_line, to_view

TEXT = "the staging queue drains at 14:00 UTC; deploys wait for it"


def read(**line: Any) -> Any:
    return from_line({"text": TEXT, "verdict": "allow", **line}, now=NOW_MS, longest=100).document


def bad(**line: Any) -> str:
    with pytest.raises(BadLineError) as raised:
        read(**line)
    return str(raised.value)


def test_what_is_filled_in() -> None:
    found = from_line({"text": f" {TEXT} ", "verdict": "hold"}, now=NOW_MS, longest=100, number=7)
    document = found.document
    assert (document["text"], document["collection"], document["write_verdict"]) == (TEXT, "observations", "hold")
    assert (document["created_at"], document["updated_at"]) == (NOW_MS, NOW_MS)
    assert (document["write_reason"], document["write_confidence"]) == ("imported with this verdict", 1.0)
    assert document["write_gate_version"] and document["observation_type"] == "observation_text"
    assert document["category_id"] and document["fingerprint"] and found.number == 7
    assert found.given == {"text", "write_verdict"} and found.redacted == []


def test_a_line_without_a_verdict_is_judged() -> None:
    judged = from_line({"text": TEXT}, now=NOW_MS, longest=100).document
    assert judged["write_reason"] != "imported with this verdict" and judged["write_gate_version"]
    for collection in ("episodes", "knowledge"):
        kept = from_line({"text": "ok", "collection": collection}, now=NOW_MS, longest=1).document
        assert (kept["write_verdict"], kept["write_confidence"], kept["write_reason"]) == ("allow", 1.0, "archived")
        assert kept["observation_type"] == ""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"text": None}, "text is missing"), ({"text": 7}, "text must be a string"), ({"text": " \n"}, "text is empty"),
        ({"text": "x" * 101}, "text has 101 characters, at most 100 are taken"),
        ({"collection": "x"}, "collection must be one of observations, episodes, knowledge"),
        ({"verdict": "maybe"}, "verdict must be one of allow, hold, discard"),
        ({"source": 7}, "source must be a string"),
        ({"confidence": 1.01}, "confidence must be a number from 0 to 1"),
        ({"confidence": True}, "confidence must be a number from 0 to 1"),
        ({"retrieval_priority": -1.01}, "retrieval_priority must be a number from -1 to 1"),
        ({"recall_count": -1}, "recall_count must be a number from 0 to 1e+15"),
        ({"stale": 1}, "stale must be true or false"), ({"tags": 7}, "tags must be a list of strings"),
        ({"tags": ["a", 1]}, "tags must be a list of strings"),
        ({"context": 7}, "context must be a string or a list of strings"),
        ({"context": ["a", 1]}, "context must be a string or a list of strings"),
        ({"created_at": "soon"}, "created_at must be an ISO 8601 time or ms since 1970"),
        ({"created_at": -1}, "created_at must be an ISO 8601 time or ms since 1970"),
        ({"created_at": True}, "created_at must be an ISO 8601 time or ms since 1970"),
        ({"created_at": 253_402_300_800_000}, "created_at must be an ISO 8601 time or ms since 1970"),
        ({"history": {}}, "history must be a list of {text, at, source}"),
        ({"history": [{"at": 1}]}, "history must be a list of {text, at, source}"),
        ({"history": [{"text": "a", "at": "x"}]}, "history.at must be an ISO 8601 time or ms since 1970"),
        ({"id": ""}, "id must be 1 to 200 characters"), ({"id": "i" * 201}, "id must be 1 to 200 characters"),
        ({"id": True}, "id must be 1 to 200 characters"), ({"id": 1.5}, "id must be 1 to 200 characters"),
    ],
)  # fmt: skip
def test_what_a_bad_line_says(line: dict[str, Any], message: str) -> None:
    assert bad(**line) == message


def test_a_line_is_an_object() -> None:
    odd: Any
    for odd in ([], "x", None):
        with pytest.raises(BadLineError, match="not a JSON object"):
            from_line(odd, now=NOW_MS, longest=100)


def test_values_at_their_bounds() -> None:
    assert read(text="x" * 100)["text"] == "x" * 100
    found = read(
        confidence=1, retrieval_priority=-1, recall_count=1e15, merged_count=2.9, stale=False, gate_fallback=True
    )
    assert (found["write_confidence"], found["retrieval_priority"]) == (1.0, -1.0)
    assert (found["recall_count"], found["merged_count"]) == (10**15, 2)
    assert (found["stale"], found["write_gate_fallback"]) == (False, True)
    assert read(confidence=0)["write_confidence"] == 0.0, "what the line says, not what is filled in"
    assert read(id="i" * 200)["id"] == "i" * 200 and read(id=7)["id"] == "7"
    last = 253_402_300_799_999
    for given, at in ((0, 0), (last, last), ("7", 7), (7.9, 7), ("2026-09-21T14:13:20Z", NOW_MS)):
        found = read(created_at=given)
        assert found["created_at"] == found["updated_at"] == at
    assert read(created_at=5, updated_at=9)["updated_at"] == 9 and read(last_used_at=0)["last_used_at"] == 0
    path = "p/" * 2048
    assert read(path=path)["path"] == path and read(path=path + "x")["path"] == path


def test_texts_tags_and_history() -> None:
    found = read(tags="b, a", context=["one", " two "], title="T", session="s", project="p", type="t", reason="r")
    assert sorted(found["tags"]) == ["a", "b"] and found["context"] == "one\n two"
    assert (found["title"], found["session_id"], found["project"]) == ("T", "s", "p")
    assert (found["observation_type"], found["write_reason"]) == ("t", "r")
    history = read(history=[{"text": "a"}, {"text": "b", "at": 7, "source": "s"}])["history"]
    assert history == [{"text": "a", "at": 0, "source": ""}, {"text": "b", "at": 7, "source": "s"}]
    assert read(text="a\0b", context="c\0d")["text"] == "a\ufffdb"


def test_secrets_are_counted_where_they_stand() -> None:
    secret = "AKIA" + "Z7Q2X9W3L5K8P4M6"
    line = {"text": f"{secret} it is", "tags": [secret], "title": secret, "context": secret, "path": secret}
    found = from_line({**line, "history": [{"text": secret}], "id": secret}, now=NOW_MS, longest=100)
    assert found.redacted == ["aws-access-key"] * 6 and secret not in str(found.document)
    assert found.document["id"].startswith("im-")


def test_the_id_of_a_line_is_made_of_what_it_says() -> None:
    name = read()["id"]
    assert (
        name.startswith("im-")
        and name == from_line({"text": TEXT, "verdict": "allow"}, now=NOW_MS + 5, longest=100).document["id"]
    ), "the same line is the same memory, whenever it is imported"
    others = {
        read(text="other")["id"],
        read(session="s")["id"],
        read(created_at=5)["id"],
        read(collection="episodes")["id"],
    }
    assert len(others - {name}) == 4
    assert read(source="x")["id"] == name


def test_the_category_of_a_line() -> None:
    given = read(category="prefs")
    assert given["category_id"] == "jc:preferences" and given["category_source"] != ""
    told = read(category="prefs", category_source="s", category_confidence=0.25)
    assert (told["category_source"], told["category_confidence"]) == ("s", 0.25)
    assert read()["category_source"] != told["category_source"]


def test_what_is_exported_is_read_again_as_it_was() -> None:
    line: dict[str, Any] = {
        "id": "m1", "collection": "observations", "text": TEXT, "context": "c", "path": "p",
        "category": "jc:operations", "tags": ["a"], "verdict": "hold", "title": "T", "source": "s", "session": "s1",
        "project": "p1", "type": "t",
        "privacy": "x", "reason": "r", "gate_version": "g", "category_source": "cs", "superseded_by": "n",
        "supersedes": "o", "confidence": 0.5, "category_confidence": 0.25, "retrieval_priority": -0.5,
        "merged_count": 2, "recall_count": 3,
        "gate_fallback": True, "stale": True, "created_at": "2026-09-21T14:13:20.000Z",
        "updated_at": "2026-09-21T14:13:21.000Z", "last_used_at": "2026-09-21T14:13:22.000Z",
        "history": [{"text": "before", "at": "1970-01-01T00:00:00.007Z", "source": "h"}],
    }  # fmt: skip
    document = from_line(line, now=0, longest=100).document
    assert to_line(document) == line
    bare = to_line(read(id="m2", created_at=NOW_MS, collection="episodes"))
    assert "context" not in bare and "stale" not in bare and "last_used_at" not in bare
    view = to_view(document)
    assert (view["observation"], view["category"], view["session"], view["type"]) == (TEXT, "operations", "s1", "t")
    assert (view["last_used_at"], view["forgotten"], view["forgotten_at"]) == ("2026-09-21T14:13:22.000Z", False, None)
    gone = to_view({**document, "forgotten_at": 7, "last_used_at": None})
    assert (gone["forgotten"], gone["forgotten_at"], gone["last_used_at"]) == (True, "1970-01-01T00:00:00.007Z", None)
    assert json_form.LONGEST == 1_000_000
