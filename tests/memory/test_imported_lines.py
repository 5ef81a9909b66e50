"""A line of an import becomes a whole memory or is refused."""

import json
from typing import Any

import pytest
from conftest import Run

from memory import transfer

NOW = 1_790_000_000_000
AT = {"JOELCLAW_NOW_MS": str(NOW)}


def read(line: Any) -> transfer.Incoming:
    return transfer.from_line(line, 7, [], now=NOW)


FULL: dict[str, Any] = {
    "id": "full", "collection": "observations", "text": "The gateway listens on port 8089", "context": "a turn before",
    "path": "docs/a  b.md", "category": "jc:projects", "tags": ["x", "y"], "verdict": "hold", "title": "A title",
    "source": "cli", "session": "s1", "project": "p1", "type": "segment_fact", "privacy": "private",
    "reason": "unsure", "gate_version": "v0", "category_source": "keyword", "superseded_by": "n1", "supersedes": "o1",
    "confidence": 0.25, "category_confidence": 0.75, "retrieval_priority": -0.5, "merged_count": 2, "recall_count": 3,
    "gate_fallback": True, "stale": True, "created_at": "2024-05-01T10:00:00.000Z",
    "updated_at": "2024-05-02T10:00:00.000Z", "last_used_at": "2024-05-03T10:00:00.000Z",
    "history": [{"text": "said before", "at": "2024-05-01T10:00:00.000Z", "source": "cli"}],
}  # fmt: skip


def test_an_exported_line_is_read_back_unchanged() -> None:
    incoming = read(FULL)
    assert transfer.to_line(incoming.document) == FULL
    assert incoming.line == 7
    assert len(incoming.given) == len(FULL) - 2  # neither the id nor the collection can change


def test_a_line_with_only_a_text_gets_verdict_category_and_id() -> None:
    text = "The gateway listens on port 8089"
    memory = read({"text": f" {text} "})
    document = memory.document
    assert memory.given == frozenset(["text"])
    assert (document["text"], document["write_verdict"], document["write_reason"]) == (text, "allow", "a statement")
    assert (document["category_id"], document["category_source"]) == ("jc:operations", "keyword")
    assert document["id"].startswith("im-") and read({"text": text}).document["id"] == document["id"]
    others = (
        {"session": "s"}, {"collection": "episodes"}, {"created_at": NOW}, {"text": "Another text of the gateway"},
    )  # fmt: skip
    assert len({read({"text": text, **more}).document["id"] for more in others}) == 4


def test_an_earlier_text_may_have_no_time() -> None:
    history = read({"text": "the gateway keeps leases", "history": [{"text": "before"}]}).document["history"]
    assert history == [{"text": "before", "at": 0, "source": ""}]


MOMENT = "must be an ISO 8601 time or ms since 1970"
BAD: list[tuple[Any, str]] = [
    ("not json", "not JSON"), ([1], "not a JSON object"), ({}, "text is missing"),
    ({"text": 5}, "text must be a string"),
    ({"text": "  "}, "no text was given"),
    ({"text": "t" * 20_001}, "the text has more than 20000 characters"),
    ({"text": "[gate=allow]"}, "no text was given"), ({"text": " ", "collection": "episodes"}, "text is empty"),
    ({"text": "x", "collection": "dreams"}, "collection must be observations, episodes or knowledge"),
    ({"text": "x", "verdict": "perhaps"}, "verdict must be allow, hold or discard"),
    ({"text": "x", "id": ""}, "id must be 1 to 200 characters"),
    ({"text": "x", "id": True}, "id must be 1 to 200 characters"),
    ({"text": "x", "tags": ["a", 1]}, "tags must be a list of strings"),
    ({"text": "x", "stale": 1}, "stale must be true or false"),
    ({"text": "x", "confidence": "1"}, "confidence must be a number from -1 to 1"),
    ({"text": "x", "merged_count": -1}, "merged_count must be a whole number from 0"),
    ({"text": "x", "history": [{"text": 5}]}, "history must be a list of {text, at, source}"),
    ({"text": "x", "created_at": -1}, f"created_at {MOMENT}"),
    ({"text": "x", "created_at": "yesterday"}, f"created_at {MOMENT}"),
    ({"text": "x", "history": [1]}, "history must be a list of {text, at, source}"),
]  # fmt: skip


def test_bad_lines_are_refused_with_the_reason_and_good_ones_stored(run: Run) -> None:
    lines = [line if isinstance(line, str) else json.dumps(line) for line, _ in BAD]
    done = run("memory", "import", "-", stdin='\n{"text": "The one good fact here"}\n' + "\n".join(lines), ok=False)
    assert (done.code, done.json["ok"], len(done.json["next_actions"])) == (1, False, 1)
    assert (done.result["added"], done.result["failed"], done.result["lines"]) == (1, len(BAD), len(BAD) + 1)
    errors = [(error["line"], error["reason"].partition(": invalid literal")[0]) for error in done.result["errors"]]
    assert errors == [(number, reason) for number, (_, reason) in enumerate(BAD, 3)]


TEXT = "The gateway listens on port 8089"


def taken(run: Run, *rows: Any, now: int = NOW) -> dict[str, Any]:
    """Import the rows, and see that a preview told the same."""
    lines, env = "".join(json.dumps(row) + "\n" for row in rows), {"JOELCLAW_NOW_MS": str(now)}
    result = run("memory", "import", "-", "--preview", stdin=lines, env=env).result
    report: dict[str, Any] = run("memory", "import", "-", stdin=lines, env=env, ok=not result["failed"]).result
    assert {**result, "preview": False} == report
    return report


def test_forgotten_memories_stay(run: Run) -> None:
    taken(run, {"id": "a", "text": TEXT})
    run("memory", "forget", "a")
    before = run("memory", "show", "a").result
    report = taken(run, {"id": "a", "text": "Another text of it"}, [1])
    assert (report["forgotten"], report["failed"], report["updated"], report["unchanged"]) == (1, 1, 0, 0)
    assert report["errors"] == [{"line": 2, "reason": "not a JSON object"}]
    assert run("memory", "show", "a").result == before


def test_a_memory_too_old_to_be_recalled_is_counted_until_it_is_confirmed(run: Run) -> None:
    old = {"id": "mem0-1", "text": TEXT, "created_at": "2019-02-01T08:00:00Z"}
    assert taken(run, old)["staleAge"] == 1 and not run("recall", "gateway port", env=AT).result["hits"]
    assert taken(run, {**old, "updated_at": NOW})["staleAge"] == 0
    assert [hit["id"] for hit in run("recall", "gateway port", env=AT).result["hits"]] == ["mem0-1"]


@pytest.mark.parametrize("session", ["", "s1"])
@pytest.mark.parametrize("text", [
    "Decision of the merlin group: closed on the fifth", "用户：缓存放在北楼", "user: which merlin: blue",
    "merlin has no colon",
])  # fmt: skip
def test_an_imported_episode_keeps_what_precedes_a_colon(run: Run, text: str, session: str) -> None:
    taken(run, {"text": text, "collection": "episodes", **({"session": session} if session else {})})
    hit = run("recall", "merlin" if text.isascii() else "缓存").result["hits"][0]
    assert text in hit["observation"]
    shown = json.dumps(run("recall", "show", hit["id"]).result, ensure_ascii=False)
    assert text.removeprefix("user: ") in shown
