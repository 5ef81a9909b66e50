"""What a question to the events asks for, and what its answer counts."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import NOW_MS

from core.errors import Failure
from core.store import sqlite
from otel import log, search
from otel.event import new_event

ASKED: dict[str, Any] = {
    "words": [], "levels": [], "sources": [], "components": [], "session": "", "system": "", "success": None,
    "since": NOW_MS - 86_400_000,
}  # fmt: skip


def test_without_a_word_it_asks_for_the_last_day() -> None:
    assert search.query(now=NOW_MS) == ASKED
    assert search.query("*", now=NOW_MS) == ASKED
    asked = search.query(
        "a.b C", level=" Warning,error,,", source="x, y,x", component="c", session=" s ", system="h", success=False,
        hours=1.5, now=NOW_MS,
    )  # fmt: skip
    assert asked == {
        "words": ["a b", "c"], "levels": ["warn", "error"], "sources": ["x", "y"], "components": ["c"],
        "session": "s", "system": "h", "success": False, "since": NOW_MS - 5_400_000,
    }  # fmt: skip
    assert search.query(hours=1e9, now=NOW_MS)["since"] == 0
    assert search.query(hours=1, now=3_600_001)["since"] == 1


def test_names_are_taken_up_to_a_hundred() -> None:
    names = [f"n{number}" for number in range(101)]
    assert search.query(source=",".join([*names[:100], "n0"]), now=NOW_MS)["sources"] == names[:100]
    for more, message in (
        ({"source": ",".join(names)}, "--source has 101 names"),
        ({"component": ",".join(names)}, "--component has 101 names"),
        ({"level": "info,loud"}, "there is no level 'loud'"),
    ):  # fmt: skip
        with pytest.raises(Failure) as raised:
            search.query(now=NOW_MS, **more)  # type: ignore[arg-type]
        assert (raised.value.code, raised.value.message, raised.value.exit_code) == ("OTEL_INVALID_ARGS", message, 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []), (" * ", []), ("* a", ["a"]), ("a a b", ["a", "b"]), ("Foo.Bar_baz", ["foo bar baz"]),
        ("!!", ["!!"]),
        ("!! ??", ["!!"]), ("!! a", ["a"]),
        (" ".join(f"w{number}" for number in range(65)), [f"w{number}" for number in range(64)]),
    ],
)  # fmt: skip
def test_the_words_that_must_occur(text: str, words: list[str]) -> None:
    assert search.words(text) == words


@pytest.mark.parametrize(
    ("more", "filters"),
    [
        ({}, ""), ({"success": True}, " && success:=true"), ({"success": False}, " && success:=false"),
        ({"levels": ["info", "warn"]}, " && level:=[info,warn]"), ({"session": "a b"}, " && sessionId:=`a b`"),
        ({"sources": ["a-b_c.d"], "components": ["x:y", "p`q"]}, " && source:=[a-b_c.d] && component:=[`x:y`,`p'q`]"),
        ({"session": "s", "system": "-"}, " && sessionId:=s && systemId:=`-`"),
    ],
)  # fmt: skip
def test_the_filters_in_force(more: dict[str, Any], filters: str) -> None:
    assert search.filter_by({**ASKED, "since": 7, **more}) == f"timestamp:>=7{filters}"  # type: ignore[typeddict-item]


def test_the_rate_of_errors() -> None:
    def rates(total: int, **levels: int) -> dict[str, Any]:
        return search._rates({"found": total, "events": [], "counts": {"level": levels} if levels else {}})

    assert rates(0) == {"total": 0, "errors": 0, "errorRate": 0.0}
    assert rates(1, error=1) == {"total": 1, "errors": 1, "errorRate": 1.0}
    assert rates(7, error=1, fatal=2, warn=3, info=1) == {"total": 7, "errors": 3, "errorRate": 0.4286}


def test_the_most_frequent_values_of_a_facet_come_first() -> None:
    counts = {"source": {f"s{number:02}": 1 for number in range(21)} | {"zz": 2}, "level": {"warn": 1, "info": 3}}
    rows = {row["field_name"]: row["counts"] for row in search._facets({"found": 9, "events": [], "counts": counts})}
    assert list(rows) == ["level", "source", "component", "action"]
    assert rows["level"] == [{"value": "info", "count": 3}, {"value": "warn", "count": 1}]
    assert [row["value"] for row in rows["source"]] == ["zz", *(f"s{number:02}" for number in range(19))]
    assert rows["component"] == rows["action"] == []


def test_where_nothing_is_stored_nothing_is_found(monkeypatch: pytest.MonkeyPatch, home: Any) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    asked = search.query(now=NOW_MS)
    found = search.find(asked, limit=5, page=2)
    facets = [{"field_name": name, "counts": []} for name in search.FACETS]
    filters = f"timestamp:>={NOW_MS - 86_400_000}"
    assert found == {"found": 0, "page": 2, "limit": 5, "filterBy": filters, "events": [], "facets": facets}
    assert search.find(asked, limit=5, page=2, text="") == {"query": "", **found}
    rates = {"total": 0, "errors": 0, "errorRate": 0.0}
    for hours, shown in ((24.0, 24), (1.5, 1.5)):
        counted = search.stats(asked, hours=hours, now=NOW_MS)
        assert counted == {"windowHours": shown, "filterBy": filters, **rates, "recent15m": rates, "facets": facets}
        assert type(counted["windowHours"]) is type(shown)


def test_events_of_the_file_are_counted_by_facet_and_turned_in_pages(
    monkeypatch: pytest.MonkeyPatch, home: Any
) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    db = sqlite.open_writing(busy_ms=1000, durable=False)
    made = [
        new_event("a.b", id=f"e{number}", level=level, system="h", now=NOW_MS - number * 600_000)
        for number, level in enumerate(("info", "error", "info", "fatal"))
    ]
    log.append(db, made, debug_limit=9)
    db.close()
    asked = search.query(now=NOW_MS)
    first, second = (search.find(asked, limit=3, page=page) for page in (1, 2))
    assert [[event["id"] for event in page["events"]] for page in (first, second)] == [["e0", "e1", "e2"], ["e3"]]
    levels = [{"value": "info", "count": 2}, {"value": "error", "count": 1}, {"value": "fatal", "count": 1}]
    assert (first["found"], first["facets"][0]["counts"]) == (4, levels)
    assert first["facets"][3]["counts"] == [{"value": "a.b", "count": 4}]
    rates = search.stats(asked, hours=24, now=NOW_MS)
    assert (rates["total"], rates["errors"], rates["errorRate"]) == (4, 2, 0.5)
    assert rates["recent15m"] == {"total": 2, "errors": 1, "errorRate": 0.5}
    recent = search.find({**asked, "since": NOW_MS - 600_000}, limit=9, page=1)
    assert [event["id"] for event in recent["events"]] == ["e0", "e1"]
    assert recent["events"][1] == {
        "id": "e1", "ts": "2026-09-21T14:03:20.000Z", "sessionId": made[1]["sessionId"], "systemId": "h",
        "level": "error",
        "source": "cli", "component": "otel-cli", "action": "a.b", "success": True, "duration_ms": None, "error": None,
        "metadata_keys": [], "metadata": {},
    }  # fmt: skip
