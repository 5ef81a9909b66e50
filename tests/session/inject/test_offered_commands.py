"""Which commands an answer offers next, and how they are written; what lies beneath the commands is not run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cli import answer as answers
from cli.archived import read as archived
from cli.commands import every
from cli.knowledge import note, vault_listing
from cli.memory import curate, reports
from cli.otel import search as otel
from cli.recall import everywhere
from cli.recall import search as recall
from cli.session import lost
from cli.session_report import sessions as life
from cli.store import backup
from core.errors import Failure
from session.lost.report import Lost

LISTED: dict[str, Any] = {
    "tag": [], "category": None, "project": None, "verdict": None, "source": None, "days": None, "older_than": None,
    "all": False, "limit": 20, "page": 1,
}  # fmt: skip
FORGET: dict[str, Any] = {
    "purge": False, "project": "", "before": "", "match": "", "yes": False, "dry_run": False, "session": None,
    "ids": [], "undo": False,
}  # fmt: skip
SEARCH: dict[str, Any] = {
    "query": "lease", "source": "both", "machine": "", "limit": 8, "runtime": "", "extract": False,
}  # fmt: skip


def commands(answer: Any) -> list[str]:
    return [action["command"] for action in answer.next_actions]


def refused(call: Any, *given: Any) -> str:
    with pytest.raises(Failure) as caught:
        call(*given)
    return caught.value.message


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ""),
        ({"tag": ["a", "b c"], "category": "ops", "all": True}, "--tag a --tag 'b c' --category ops --all "),
        ({"days": 0.5, "older_than": 30.0, "project": "a/b"}, "--project 'a/b' --days 0.5 --older-than 30 "),
    ],
)
def test_the_next_page_has_the_same_filters(given: dict[str, Any], words: str) -> None:
    page = curate._next_page({**LISTED, **given, "page": 3})
    assert page == f"joelclaw memory list {words}--limit 20 --page 4"


@pytest.mark.parametrize(
    ("found", "shown", "offered"),
    [
        (0, 0, ["joelclaw memory stats"]),
        (40, 20, ["joelclaw memory show m1"]),
        (41, 20, ["joelclaw memory show m1", "joelclaw memory list --limit 20 --page 3"]),
        (41, 0, ["joelclaw memory list --limit 20 --page 3"]),
    ],
)
def test_a_page_of_memories(monkeypatch: pytest.MonkeyPatch, found: int, shown: int, offered: list[str]) -> None:
    monkeypatch.setattr(curate.sqlite, "open_reading", lambda: None)
    result = {"memories": [{"id": f"m{n}"} for n in range(1, shown + 1)], "found": found}
    monkeypatch.setattr(curate.curation, "listing", lambda *_, **__: result)
    assert commands(curate.list_({**LISTED, "page": 2})) == offered


@pytest.mark.parametrize(
    ("query", "found", "offered"),
    [
        ("", 20, []), ("", 21, ["joelclaw otel list --page <page>"]),
        ("lease", 21, ["joelclaw otel list <query> --page <page>"]),
    ],
)  # fmt: skip
def test_a_page_of_events(monkeypatch: pytest.MonkeyPatch, query: str, found: int, offered: list[str]) -> None:
    monkeypatch.setattr(otel.finding, "find", lambda *_, **__: {"found": found})
    asked: Any = None
    answer = otel._page("list", asked, {"limit": 10, "page": 2, "backend": "sqlite"}, query)
    assert commands(answer) == offered
    for action in answer.next_actions:
        params: Any = action["params"]
        assert params["page"] == {"description": "which page", "value": 3, "default": 1}
        assert ("query" in params) is bool(query)


@pytest.mark.parametrize(
    ("hits", "offered"),
    [
        ([], []),
        (["observations", "otel_events"], ["joelclaw memory show m0"]),
        (["otel_events", "episodes", "knowledge"], ["joelclaw memory show m1"]),
        (["otel_events"], ["joelclaw otel search 'the lease'"]),
    ],
)
def test_a_search_over_all(monkeypatch: pytest.MonkeyPatch, hits: list[str], offered: list[str]) -> None:
    rows = [{"collection": name, "id": f"m{n}"} for n, name in enumerate(hits)]
    monkeypatch.setattr(everywhere.search_everything, "search", lambda *_, **__: {"hits": rows})
    options = {"query": "the lease", "facet": None, "collection": None, "limit": 5, "filter": None, "semantic": True}
    answer = everywhere.run(options)
    assert commands(answer) == [*offered, "joelclaw recall 'the lease'"]
    assert answer.result == {"query": "the lease", "collection": None, "semantic": True, "hits": rows}
    assert refused(everywhere.run, {**options, "facet": "f" * 81}) == f"--facet {'f' * 80!r} is not known"


def found(**about: Any) -> Any:
    return {"hits": [], "droppedByTrustPass": 0, "query": "q" * 201, **about}


def test_a_search_of_memories_is_a_recall_with_the_automatic_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(recall, "run", asked.update)
    recall.search({"query": "q", "limit": 3})
    assert asked == {
        **next(one for one in every() if one.path == "recall").defaults(),
        "query": "q",
        "limit": 3,
        "budget": "auto",
    }


def test_a_recall_without_hits() -> None:
    (action,) = recall._next_actions(found(), "u" * 81)
    assert action["description"] == f"in all sessions: none is archived whose id begins with {'u' * 80}"
    assert action["params"]["query"] == {"description": "the same query", "value": "q" * 200, "required": True}
    (action,) = recall._next_actions(found(droppedByTrustPass=1), "u")
    assert action["command"].endswith("--include-hold --include-discard")
    (action,) = recall._next_actions(found(hits=[{"id": "m1"}], droppedByTrustPass=1), "u")
    assert action["params"]["id"] == {"description": "its id", "value": "m1", "required": True}


@pytest.mark.parametrize(("count", "told"), [(500, "bring its memories back"), (501, "bring the first 500 of its")])
def test_what_a_session_s_memories_come_back_by(monkeypatch: pytest.MonkeyPatch, count: int, told: str) -> None:
    names = [f"m{n}" for n in range(count)]
    monkeypatch.setattr(reports.sqlite, "open_writing", lambda **_: None)
    monkeypatch.setattr(reports.sqlite, "load_vectors", lambda _: False)
    monkeypatch.setattr("session.session_report.listing.meant", lambda _, session: session)
    monkeypatch.setattr("memory.forget.forget_session", lambda *_, **__: (names, 3))
    answer = reports.forget({**FORGET, "session": "s"})
    (action,) = answer.next_actions
    assert action["command"] == f"joelclaw memory forget --undo {' '.join(names[:500])}"
    assert action["description"].startswith(told)
    assert answer.result == {"ids": names, "forgotten": names, "unchanged": [], "undo": False, "toolCalls": 3}


def test_forgotten_and_brought_back_memories(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [{"id": f"m{n}", "forgotten_at": None if n < 2 else n} for n in range(6)]
    monkeypatch.setattr(reports.sqlite, "open_reading", lambda: None)
    monkeypatch.setattr(reports.sqlite, "open_writing", lambda **_: None)
    monkeypatch.setattr(reports.sqlite, "load_vectors", lambda _: False)
    monkeypatch.setattr("memory.forget.find", lambda *_: None)
    acts: list[str] = []
    for act in ("forget", "bring_back"):
        monkeypatch.setattr(f"memory.forget.{act}", lambda *_, act=act, **__: acts.append(act) or documents)
    names = [one["id"] for one in documents]
    forgotten = reports.forget({**FORGET, "ids": names})
    assert forgotten.result == {"ids": names, "forgotten": names[:2], "unchanged": names[2:], "undo": False}
    assert commands(forgotten) == ["joelclaw memory forget --undo m0 m1 m2 m3 m4"]
    back = reports.forget({**FORGET, "ids": names, "undo": True})
    assert back.result == {"ids": names, "restored": names[2:], "unchanged": names[:2], "undo": True}
    assert commands(back) == ["joelclaw memory forget m0 m1 m2 m3 m4"]
    assert acts == ["forget", "bring_back"]


@pytest.mark.parametrize(
    ("forgotten", "superseded", "offered"),
    [
        (False, "", ["joelclaw memory forget m1"]),
        (True, "", ["joelclaw memory forget --undo m1"]),
        (True, "m2", ["joelclaw memory forget --undo m1"]),
        (False, "m2", ["joelclaw memory forget m1", "joelclaw memory supersede m1 --undo"]),
    ],
)
def test_one_memory(monkeypatch: pytest.MonkeyPatch, forgotten: bool, superseded: str, offered: list[str]) -> None:
    view = {"id": "m1", "forgotten": forgotten, "supersededBy": superseded}
    monkeypatch.setattr(reports, "_reading", lambda _: view)
    answer = reports.show({"id": "m1", "verbatim": False})
    assert commands(answer) == offered


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a change of a memory comes to: the answer of `curate` where the store says this."""

    def change(act: Any, result: dict[str, Any], **options: Any) -> list[str]:
        monkeypatch.setattr(curate, "_writing", lambda *_: result)
        return commands(act({"id": "m1", "text": "new", "undo": False, "add": "", "remove": "", **options}))

    return change


def test_a_changed_memory(written: Any) -> None:
    show = "joelclaw memory show m2"
    assert written(curate.edit, {"id": "m2"}) == [show, "joelclaw memory supersede m2 <text>"]
    assert written(curate.tag, {"id": "m2", "tags": ["a", "b", "c d"]}) == [show, "joelclaw memory list --tag 'c d'"]
    assert written(curate.tag, {"id": "m2", "tags": []}) == [show]
    pinned = "joelclaw memory list --tag pinned"
    assert written(curate.pin, {"id": "m2"}) == ["joelclaw memory pin m2 --undo", pinned]
    assert written(curate.pin, {"id": "m2"}, undo=True) == ["joelclaw memory pin m2", pinned]
    after = {"id": "m2", "superseded": {"id": "m1"}}
    assert written(curate.supersede, after) == [show, "joelclaw memory supersede m1 --undo"]
    assert written(curate.supersede, {"id": "m1"}, undo=True, text=None) == ["joelclaw memory show m1"]
    nothing = {"id": "m1", "undo": False, "text": None}
    assert refused(curate.supersede, nothing) == "there is no text that says what holds now"
    assert refused(curate.supersede, {**nothing, "undo": True, "text": ""}) == "--undo takes no text"


def test_an_unknown_memory_makes_no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(curate.sqlite, "open_reading", lambda: None)
    monkeypatch.setattr(curate.sqlite, "open_writing", lambda **given: asked.append(given))
    monkeypatch.setattr(curate, "find", lambda *_: None)
    assert curate._writing("m1", curate.config.load(), lambda _: {"id": "m1"}) == {"id": "m1"}
    assert asked[0]["durable"] is True
    monkeypatch.setattr(curate, "find", lambda *_: (_ for _ in ()).throw(Failure("MEMORY_NOT_FOUND", "none", "")))
    assert refused(curate._writing, "m1", curate.config.load(), lambda _: {}) == "none"
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "no memory is named"),
        ({"ids": ["call:s:1"], "undo": True},
         "a tool call that was forgotten cannot be brought back: its text was deleted"),
        ({"ids": ["call:s:1", "m1"]},
         "tool calls are forgotten for good, memories can be brought back: not both at once"),
        ({"session": "s", "undo": True}, "--session cannot be undone as a whole: its tool calls were deleted"),
        ({"session": "s", "ids": ["m1"]}, "--session and ids do not go together"),
        ({"yes": True, "ids": ["m1"]}, "--yes and --dry-run goes with --purge"),
    ],
)  # fmt: skip
def test_what_is_not_forgotten(given: dict[str, Any], message: str) -> None:
    assert refused(reports.forget, {**FORGET, **given}) == message


def dropped(**kinds: int) -> Lost:
    entries: Any = {
        kind: [SimpleNamespace(get=f"get {kind} {n}") for n in range(count)] for kind, count in kinds.items()
    }
    return Lost("s 1", "pi", "", "", 0, 1, 2, 3, 4, 0, entries)


@pytest.mark.parametrize(
    ("kinds", "limit", "offered"),
    [
        ({"files": 8, "words": 6}, None, ["get words 0"]),
        ({"files": 9, "names": 40}, None, ["get names 0", "joelclaw lost 's 1' --limit 9"]),
        ({"files": 9, "errors": 7}, 7, ["joelclaw lost 's 1' --limit 9"]),
        ({"files": 9}, 9, []),
        ({"errors": 5, "commands": 6}, None, []),
        ({"errors": 6}, None, ["joelclaw lost 's 1' --limit 6"]),
        ({"files": 1001}, None, ["joelclaw lost 's 1' --limit 1000"]),
        ({"files": 1001}, 1000, []),
        ({"names": 0, "words": 0}, None, []),
    ],
)
def test_what_a_compaction_dropped(kinds: dict[str, int], limit: int | None, offered: list[str]) -> None:
    assert [action["command"] for action in lost._next_actions(dropped(**kinds), limit)] == offered


def test_whether_the_summary_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost, "_entry", lambda one: one.get)
    result = lost._result(dropped(files=9, errors=2), None)
    assert result["compaction"] == {
        "number": 1, "at": "unknown", "callsBefore": 2, "callsSince": 3, "promptsBefore": 4, "summaryKnown": False,
        "summaryChars": 0,
    }  # fmt: skip
    assert result["lost"]["files"] == {"count": 9, "entries": [f"get files {n}" for n in range(8)]}
    assert len(lost._result(dropped(files=9), 9)["lost"]["files"]["entries"]) == 9
    known = lost._result(Lost("s", "pi", "", "", 1, 1, 2, 3, 4, 1, {}), None)["compaction"]
    assert (known["summaryKnown"], known["at"]) == (True, "1970-01-01T00:00:00.001Z")


def test_a_note_is_found_by_its_first_eight_words() -> None:
    events = "joelclaw otel search knowledge.turn_write --hours 1"
    said = [action["command"] for action in note._next("a b c d e f g\n h i", ["m1"])]
    assert said == ["joelclaw knowledge search 'a b c d e f g h' --type turn_note", events]
    for summary, kept in ((None, ["m1"]), ("a", []), ("", ["m1"])):
        assert [action["command"] for action in note._next(summary, kept)] == [events]


def test_archived_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    def search(count: int, **options: Any) -> Any:
        hits = [{"sessionId": f"s {n}"} for n in range(count)]
        monkeypatch.setattr(archived.finding, "search", lambda *_, **__: {"hits": hits, "found": 7, "searched": 9})
        return archived.search({**SEARCH, **options})

    monkeypatch.setattr(archived.sqlite, "open_reading", lambda: None)
    monkeypatch.setattr(archived, "host", lambda: "here")
    assert commands(search(0)) == ["joelclaw memory archive --all"]
    assert commands(search(2)) == [
        "joelclaw sessions extract 's 0' --query lease", "joelclaw recall lease --session 's 0'",
    ]  # fmt: skip
    local = {"found": 7, "rawReturned": 2, "emittedHits": 2, "searchedSessions": 9}
    plain = search(2).result
    assert (plain["local"], plain["machine"], plain["found"]) == (local, "here", 7)
    asked = {
        source: search(1, source=source).result.get("fallback", {}).get("from")
        for source in ("typesense", "ssh", "local", "both")
    }
    assert asked == {"typesense": "typesense", "ssh": "ssh", "local": None, "both": None}
    machines = {name: search(1, machine=name).result.get("fallback", {}).get("from") for name in ("all", "here", "far")}
    assert machines == {"all": None, "here": None, "far": "far"}
    assert search(1, source="ssh", machine="far").result["fallback"]["from"] == "ssh"
    monkeypatch.setattr(archived.transcript, "read", lambda *_, **__: None)
    monkeypatch.setattr(archived.extraction, "extract", lambda *_: {"made": 1})
    assert search(2, extract=True).result["extractions"] == [{"made": 1}] * 2
    assert "extractions" not in plain


def test_an_extraction_and_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    made = {"made": 1}
    monkeypatch.setattr(archived, "_read", lambda _: SimpleNamespace(session="s 1"))
    monkeypatch.setattr(archived.extraction, "extract", lambda *_: made)
    monkeypatch.setattr(archived.extraction, "markdown", lambda _: "# M")
    monkeypatch.setattr(archived.extraction, "inspect", lambda *given: asked.extend(given[1:]) or {})
    plain = archived.extract({"session": "s", "query": "q", "format": "json"})
    assert plain.result == {"format": "json", "extraction": made}
    regex = {"regex": {"description": "what to look for", "required": True}}
    assert [(one["command"], one["params"]) for one in plain.next_actions] == [
        ("joelclaw sessions inspect 's 1' --around <regex>", regex)
    ]
    marked = archived.extract({"session": "s", "query": "q", "format": "markdown"})
    assert marked.result == {"format": "markdown", "extraction": made, "markdown": "# M"}
    lines = archived.inspect({"session": "s", "around": "Lease|x", "before": 1, "after": 2})
    assert commands(lines) == ["joelclaw sessions extract 's 1' --query 'Lease|x'"]
    assert asked[0].search("the lease") and asked[1:] == [1, 2], "upper and lower case are alike"


def test_a_pattern_that_is_none() -> None:
    given = {"session": "s", "around": "", "before": 1, "after": 1}
    assert refused(archived.inspect, given) == "--around is not given"
    assert refused(archived.inspect, {**given, "around": "("}).startswith("--around is no regular expression: ")


def test_a_life_and_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life.sqlite, "open_reading", lambda: None)
    monkeypatch.setattr(life.listing, "meant", lambda _, session: session)
    monkeypatch.setattr(life.listing, "is_known", lambda _, session: session == "known")
    monkeypatch.setattr(life.listing, "newest", lambda *_: ("newest", "project"))
    options = {"id": "s 1", "html": False, "to": None, "full": 0}
    for count, lost_too in ((0, []), (1, ["joelclaw lost 's 1'"])):
        monkeypatch.setattr(life.one_session, "of_session", lambda *_, n=count: {"compactions": n})
        answer: Any = life.show(options)
        assert commands(answer) == ["joelclaw session show 's 1' --html", *lost_too]
        assert answer.result == {"compactions": count, "chosen": "given", "full": False}
    for around, chosen in (("known", "environment"), ("other", "project")):
        monkeypatch.setenv("JOELCLAW_SESSION_ID", around)
        shown: Any = life.show({**options, "id": None})
        assert shown.result["chosen"] == chosen


@pytest.mark.parametrize(
    ("errors", "offered"),
    [
        (0, ["joelclaw report --hours 1.5 --html"]),
        (1, ["joelclaw report --hours 1.5 --html", "joelclaw otel list --level error,fatal --hours 1.5"]),
    ],
)
def test_a_report(monkeypatch: pytest.MonkeyPatch, errors: int, offered: list[str]) -> None:
    found = {"hours": 1.5, "errors": {"total": errors}}
    monkeypatch.setattr(life.sqlite, "open_reading", lambda: None)
    monkeypatch.setattr("session.session_report.report.of_all", lambda *_, **__: found)
    answer: Any = life.report({"hours": 1.5, "html": False, "to": None})
    assert (answer.result, commands(answer)) == (found, offered)


@pytest.mark.parametrize(
    ("items", "offered"),
    [([], []), (["docs"], []), ([{"path": "a b.md"}, {"path": "c"}], ["joelclaw vault read 'a b.md'"])],
)
def test_the_entries_of_a_vault(monkeypatch: pytest.MonkeyPatch, items: list[Any], offered: list[str]) -> None:
    monkeypatch.setattr(vault_listing.reference, "root", lambda: "/v")
    monkeypatch.setattr(vault_listing.listing, "entries", lambda *_: items)
    answer = vault_listing.ls({"section": " Projects "})
    assert answer.result == {"vault_root": "/v", "section": "projects", "count": len(items), "items": items}
    assert commands(answer) == offered
    assert refused(vault_listing.ls, {"section": "x" * 81}) == f"there is no section {'x' * 80!r}"


def test_a_restored_backup(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(tmp_path))
    said = [one["command"] for one in backup._next({"restored": False}, "a b")]
    assert said == ["joelclaw restore 'a b'"]
    here = backup._next({"restored": True, "home": str(tmp_path.resolve())}, "x")
    assert [one["command"] for one in here] == ["joelclaw status", "joelclaw install --all"]
    there = backup._next({"restored": True, "home": "/o h"}, "x")
    assert [one["command"] for one in there] == ["JOELCLAW_HOME='/o h' joelclaw status"]


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("a-b_c.d9", "a-b_c.d9"), ("-a", "'-a'"), ("", "''"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("ä", "'ä'"),
        ("...", "'...'"),
    ],
)  # fmt: skip
def test_words_as_a_shell_takes_them(word: str, shown: str) -> None:
    assert answers.quoted(word) == shown


def test_a_template_has_parameters_only_where_there_are_any() -> None:
    assert answers.step("c", "d") == {"command": "c", "description": "d"}
    params = {"id": {"description": "its id"}}
    assert answers.step("c", "d", params) == {"command": "c", "description": "d", "params": params}
