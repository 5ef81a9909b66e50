"""What a session did, item by item, as it is stored: numbers and outcomes of calls, plan, compactions, names."""

from __future__ import annotations

from typing import Any

import apsw

from core.store.sessions import call_rows, name_rows, session_rows
from memory.archive.call_draft import key_of
from memory.archive.session_work import SessionWork


def tool(call: str, command: str = "", *, target: str = "", given: str = "", **more: Any) -> Any:
    return {"call": call, "name": "Bash", "files": [], "command": command, "target": target, "given": given, **more}


def said(*tools: Any, at: int | None = 10) -> Any:
    return {"kind": "said", "id": "", "role": "assistant", "text": "", "tools": list(tools), "at": at}


def outcome(call: str, text: str = "fine", *, failed: bool = False, **more: Any) -> Any:
    return {"kind": "outcome", "call": call, "text": text, "failed": failed, **more}


def plan(*steps: tuple[str, str, str], whole: bool = False) -> Any:
    rows = [{"id": identifier, "text": text, "status": status} for identifier, text, status in steps]
    return {"kind": "plan", "whole": whole, "steps": rows}


def stored(db: apsw.Connection, *items: Any, carry: dict[str, str] | None = None, prompts: int = 0, **more: Any) -> int:
    """Add the items, each after as many prompts as stand before it, and store them."""
    work = SessionWork({} if carry is None else carry)
    before = 0
    for item in items:
        if item == "prompt":
            before += 1
        else:
            work.add(item, before)
    given: dict[str, Any] = {"client": "pi", "project": "p", "folder": "/w", "anew": False, "now": 99, **more}
    return work.store(db, "s", prompts=max(before, prompts), **given)


def about(db: apsw.Connection) -> Any:
    return session_rows.session(db, "s")


def told(db: apsw.Connection, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(call[name] for name in names) for call in call_rows.calls(db, "s")]  # type: ignore[literal-required]


def test_calls_are_numbered_and_each_knows_its_prompt_and_time(db: apsw.Connection) -> None:
    assert stored(db, "prompt", said(tool("a", "make a")), "prompt", said(tool("b", "make b"), tool("c"), at=20)) == 3
    assert told(db, "number", "key", "prompt", "at", "command") == [
        (1, key_of("a"), 1, 10, "make a"), (2, key_of("b"), 2, 20, "make b"), (3, key_of("c"), 2, 20, ""),
    ]  # fmt: skip
    assert about(db) == {
        "id": "s", "client": "pi", "project": "p", "folder": "/w", "updated_at": 20, "prompts": 2, "calls": 3,
        "plan": [],
    }  # fmt: skip
    assert stored(db, "prompt", said(tool("d"), at=15), said(tool("a", "make a"))) == 1
    assert told(db, "number", "prompt")[3:] == [(4, 3)]
    assert (about(db)["prompts"], about(db)["updated_at"], about(db)["calls"]) == (3, 20, 4)
    assert stored(db) == 0
    assert stored(db, prompts=2, project="", folder="") == 0
    assert (about(db)["prompts"], about(db)["project"], about(db)["folder"]) == (5, "p", "/w")
    stored(db, prompts=1, project="q", folder="/v", anew=True)
    assert (about(db)["prompts"], about(db)["project"], about(db)["folder"]) == (1, "q", "/v")


def test_without_any_time_it_is_that_of_the_archive(db: apsw.Connection) -> None:
    stored(db, said(tool("a"), at=None))
    assert about(db)["updated_at"] == 99


def test_an_outcome_counts_once_whenever_it_comes(db: apsw.Connection) -> None:
    stored(db, said(tool("a", "make"), tool("b")), outcome("a", "error: broken", failed=True), outcome("a", "fine"))
    assert told(db, "outcome", "error") == [("failed", "error: broken"), ("", "")]
    assert stored(db, outcome("b", "fine"), outcome("a", "fine"), outcome("unknown")) == 0
    assert told(db, "outcome", "error") == [("failed", "error: broken"), ("ok", "")]
    assert about(db)["calls"] == 2


def test_of_a_failed_call_any_line_that_may_speak_of_an_error_is_kept_and_of_a_command_the_clear_ones(
    db: apsw.Connection,
) -> None:
    text = "it had some error there\nerror: broken"
    stored(
        db, said(tool("a", "make"), tool("b"), tool("c")), outcome("a", text), outcome("b", text),
        outcome("c", text, failed=True),
    )  # fmt: skip
    assert told(db, "passage") == [("error: broken",), ("",), (text,)]


def test_what_a_process_in_the_background_came_to_is_told_of_the_call_that_began_it(db: apsw.Connection) -> None:
    stored(db, said(tool("a", "serve")), outcome("a", "started", process="p1"))
    assert told(db, "outcome") == [("",)]
    carry: dict[str, str] = {}
    stored(db, said(tool("b", "serve 2")), outcome("b", "started", process="p2"), carry=carry)
    ended = {"kind": "ended", "process": "p2", "text": "error: boom", "failed": True}
    stored(db, ended, {**ended, "failed": False}, carry=carry)
    assert told(db, "outcome", "error") == [("", ""), ("failed", "error: boom")]


def test_of_what_is_carried_the_oldest_goes_and_never_the_last_call(db: apsw.Connection) -> None:
    carry: dict[str, str] = {}
    items: list[Any] = []
    for number in range(61):
        items += [said(tool(f"c{number}", "serve")), outcome(f"c{number}", "up", process=f"p{number}")]
    stored(db, *items, carry=carry)
    assert len(carry) == 60 and carry["last"] == key_of("c60")
    assert [f"runs {key_of(f'p{number}')}" in carry for number in (0, 1, 2, 60)] == [False, False, True, True]


def test_a_compaction_stands_behind_the_last_call_before_it(db: apsw.Connection) -> None:
    carry: dict[str, str] = {}
    stored(db, said(tool("a"), tool("b")), {"kind": "compaction", "tokens": None, "at": 30}, carry=carry)
    stored(db, said(tool("c")), outcome("a"), {"kind": "summary", "text": "what was", "at": 50}, carry=carry)
    stored(db, {"kind": "compaction", "tokens": None, "at": None}, said(tool("d")), carry=carry)
    stored(db, {"kind": "summary", "text": "and then", "at": None}, carry={})
    assert name_rows.compactions(db, "s") == [
        {"call": 0, "at": 0, "summary": "and then"},
        {"call": 2, "at": 30, "summary": ""}, {"call": 3, "at": 50, "summary": "what was"},
    ]  # fmt: skip


def test_a_plan_is_replaced_or_changed_step_by_step(db: apsw.Connection) -> None:
    stored(db, plan(("", "one", "pending"), ("", "two", "pending")))
    assert about(db)["plan"] == [["1", "one", "pending"], ["2", "two", "pending"]]
    stored(db, plan(("1", "", "completed"), ("2", "two again", ""), ("9", "x", "y"), ("", "three", "pending")))
    assert about(db)["plan"] == [["1", "one", "completed"], ["2", "two again", "pending"], ["3", "three", "pending"]]
    stored(db, plan(("2", "", "deleted")))
    assert [row[0] for row in about(db)["plan"]] == ["1", "3"]
    stored(db, plan(("a", "  spread\n out ", "pending"), ("b", "x" * 201, ""), whole=True))
    assert about(db)["plan"] == [["a", "spread out", "pending"], ["b", "x" * 200, ""]]
    stored(db, plan(("", "next", "pending")))
    assert about(db)["plan"][2] == ["1", "next", "pending"]
    stored(db, plan(("", "other", "pending")), anew=True)
    assert about(db)["plan"] == [["1", "other", "pending"]]


def test_where_a_plan_was_touched_last_is_known(db: apsw.Connection) -> None:
    carry: dict[str, str] = {}
    stored(db, "prompt", said(tool("a")), plan(("", "one", "pending")), "prompt", said(tool("b")), carry=carry)
    assert about(db)["plan_at"] == [1, 1]
    stored(db, "prompt", plan(("1", "", "pending")), said(tool("c")), carry=carry)
    assert about(db)["plan_at"] == [2, 3]
    stored(db, "prompt", said(tool("a")), plan(("", "one", "pending")), said(tool("b"), tool("c")), anew=True)
    assert (about(db)["plan_at"], about(db)["calls"]) == ([1, 1], 3), "read once more from its start"
    stored(db, "prompt", anew=True)
    assert "plan_at" not in about(db)


def test_names_are_counted_by_call_and_what_was_used_long_ago_fades(db: apsw.Connection) -> None:
    stored(db, said(tool("a", "make", given="leaseTable leaseTable")), outcome("a", "leaseTable is 4711 here"))
    stored(db, said(tool("b", "pytest", given="leaseTable")), said(tool("c", "make", given="otherName")))
    found = {one["name"]: one for one in name_rows.names(db, "s", every=True)}
    lease = found["leaseTable"]
    assert (lease["first"], lease["last"], lease["calls"], lease["place"]) == (1, 2, 2, "pytest")
    once = name_rows.INPUT_WEIGHT
    assert lease["weight"] > once and found["otherName"]["weight"] == once
    assert (found["otherName"]["first"], found["otherName"]["calls"]) == (3, 1)
    number = found.get("4711")
    assert number is None or (number["weight"], number["place"], number["calls"]) == (0.0, "", 1)


def test_what_the_agent_itself_wrote_is_told_apart(db: apsw.Connection) -> None:
    stored(db, said(tool("a", given="askedFor and more")), outcome("a", "wasShown askedFor"))
    stored(db, said(tool("b", given="more")), outcome("b", "wasShown askedFor laterWritten"))
    stored(db, said(tool("c", given="laterWritten")))
    assert {one["name"]: one["written"] for one in name_rows.names(db, "s")} == {
        "askedFor": 1, "wasShown": 0, "laterWritten": 3,
    }  # fmt: skip
    known = name_rows.known_names(db, "s", ["laterWritten", "wasShown"])
    assert [known[name]["written"] for name in ("laterWritten", "wasShown")] == [3, 0]
    assert name_rows.most_used_names(db, "s", 1)[0]["written"] == 3


def test_the_names_of_the_folder_count_where_they_stand_elsewhere_too(db: apsw.Connection) -> None:
    folder = "/w/harbour_gauge/sub"
    stored(db, said(tool("a", "make", given=f"{folder}/one_file.py")), folder=folder)
    assert "harbour_gauge" not in {one["name"] for one in name_rows.names(db, "s", every=True)}
    stored(db, said(tool("b", "make", given=f"{folder}/one_file.py harbour_gauge")), folder=folder)
    assert "harbour_gauge" in {one["name"] for one in name_rows.names(db, "s", every=True)}
