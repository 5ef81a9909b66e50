"""What a person reads on a terminal of what a compaction dropped: every text, and the colours that mean something."""

from __future__ import annotations

from typing import Any

from terminal import drawn, styles

from cli.session import lost_view

GET = "joelclaw recall x --session s --limit 3"
BEFORE: dict[str, Any] = {"promptsBefore": 2, "callsBefore": 5, "again": False, "get": GET}
ABOUT: dict[str, Any] = {
    "number": 2, "at": "2026-09-21T12:13:20.000Z", "callsBefore": 1200, "callsSince": 3, "promptsBefore": 9,
    "summaryKnown": True, "summaryChars": 4500,
}  # fmt: skip


def result(about: dict[str, Any] | None = None, **kinds: list[dict[str, Any]]) -> dict[str, Any]:
    parts = {kind: {"count": len(entries), "entries": entries} for kind, entries in kinds.items()}
    return {
        "session": "s-1", "client": "claude", "project": "gateway", "folder": "/w",
        "compaction": {**ABOUT, **(about or {})}, "lost": parts,
    }  # fmt: skip


def section(kind: str, *entries: dict[str, Any]) -> list[str]:
    """The lines of a section below its heading, without those that say how to get it back."""
    lines = drawn(lost_view.lost, result(None, **{kind: list(entries)}))
    return [line for line in lines[4:] if line and not line.startswith("  → ")]


def test_the_heading() -> None:
    assert drawn(lost_view.lost, result(files=[]))[:2] == [
        "Lost in compaction 2 of s-1 (claude, gateway, 2026-09-21 12:13)",
        "9 prompts and 1,200 calls before it, 3 since; summary of 4,500 characters",
    ]
    bare = {
        **result({"at": "unknown", "callsSince": 0, "summaryKnown": False, "summaryChars": 0}, files=[]),
        "project": "",
    }
    lines = drawn(lost_view.lost, bare)
    assert lines[:2] == [
        "Lost in compaction 2 of s-1 (claude)",
        "9 prompts and 1,200 calls before it; summary of 0 characters",
    ]
    assert lines[3:5] == [
        "Nothing is missing of: files.",
        "The client's summary is not known: all that was before the compaction is listed.",
    ]


def test_a_section_and_how_to_get_it_back() -> None:
    file = {"file": "src/a.py", "reads": 1, "edits": 2, **BEFORE}
    shown = result(files=[file, {**file, "file": "b.py", "edits": 0}], words=[])
    shown["lost"]["files"]["count"] = 7
    assert drawn(lost_view.lost, shown)[2:] == [
        "",
        "files  2 of 7, worked on",
        "  src/a.py  edited 2×, read 1×  2 prompts before",
        "  b.py      read 1×             2 prompts before",
        f"  → {GET}  and so on",
        "",
        "Nothing is missing of: words.",
    ]
    assert drawn(lost_view.lost, result(files=[file]))[3:6] == [
        "files  worked on",
        "  src/a.py  edited 2×, read 1×  2 prompts before",
        f"  → {GET}",
    ]


def test_a_long_command_stays_in_one_line() -> None:
    get = f"joelclaw recall {'x' * 80} --session {'s' * 36} --limit 3"
    lines = drawn(lost_view.lost, result(files=[{"file": "a.py", "reads": 1, "edits": 0, **BEFORE, "get": get}]))
    assert f"  → {get}" in lines


def test_how_long_before() -> None:
    for about, when in [
        ({"promptsBefore": 2}, "2 prompts before"),
        ({"promptsBefore": 1}, "1 prompt before"),
        ({"promptsBefore": 0, "callsBefore": 5}, "5 calls before"),
        ({"promptsBefore": 0, "callsBefore": 2}, "2 calls before"),
        ({"promptsBefore": 0, "callsBefore": 1}, "just before"),
        ({"promptsBefore": 0, "callsBefore": 0}, "just before"),
        ({"promptsBefore": 0, "callsBefore": None}, "last prompt"),
        ({"promptsBefore": 3, "again": True}, "3 prompts before, back since"),
    ]:
        assert section("files", {"file": "a.py", "reads": 1, "edits": 0, **BEFORE, **about}) == [
            f"  a.py  read 1×  {when}"
        ]


def test_names_by_their_place() -> None:
    places = {"leaseTable": "a.py", "expire": "", "renew": "a.py", "far": "deep/" * 12 + "b.py"}
    assert section("names", *({"name": name, "place": place, **BEFORE} for name, place in places.items())) == [
        "  a.py                                          leaseTable, renew",
        "  –                                             expire",
        "  …eep/deep/deep/deep/deep/deep/deep/deep/b.py  far",
    ]


def test_commands_with_their_outcome() -> None:
    command = {"command": "make\n  test", "outcome": "failed", "error": "E: it broke", "runs": 2, **BEFORE}
    assert section("commands", command) == ["  make test    failed, 2×  2 prompts before", "  E: it broke"]
    for outcome, word in (("ok", "ok"), ("", "no outcome"), ("failed", "failed")):
        shown = section("commands", {**command, "outcome": outcome, "error": "", "runs": 1})
        assert shown == [f"  make test  {word}  2 prompts before"]
    assert section("commands", {**command, "outcome": "ok", "runs": 1}) == ["  make test  ok  2 prompts before"]
    assert styles(lost_view.lost, result(commands=[command]))["failed, 2×"] == "red"
    assert styles(lost_view.lost, result(commands=[{**command, "outcome": "ok"}]))["ok, 2×"] == "green"


def test_errors_open_and_answered() -> None:
    error = {"error": "E: it broke", "doing": "make test " + "x" * 200, "answered": False, **BEFORE}
    assert section("errors", {**error, "doing": "make test"}) == [
        "  E: it broke  open  2 prompts before",
        "  make test",
    ]
    assert section("errors", {**error, "doing": "make test", "answered": True})[0].split()[3] == "answered"
    assert styles(lost_view.lost, result(errors=[error]))["open"] == "red"


def test_words_each_with_the_way_back() -> None:
    word = {
        "text": "never raise the lease",
        "by": "user",
        "id": "m1",
        "promptsBefore": 0,
        "get": "joelclaw memory show m1",
    }
    lines = drawn(lost_view.lost, result(None, words=[word]))
    assert [line.split("  ")[1] for line in lines[4:6]] == ["never raise the lease", "→ joelclaw memory show m1"]
    assert lines[4].endswith("  last prompt")
