"""How large a context is, when it is compacted, where the cut falls and what a left branch is made of, by entries."""

from __future__ import annotations

from typing import Any

import pytest

from clients.entry import Compaction, Entry, Transcript
from session.compaction import context, preparation


def entry(identifier: str, role: Any = "user", tokens: int = 100, **more: Any) -> Entry:
    about = {"kind": "message", "can_cut": role != "tool_result", "starts_turn": role == "user", **more}
    return Entry(identifier, about.pop("parent", ""), about.pop("kind"), 1, 0, 0, role, tokens, **about)


def answer(identifier: str, tokens: int = 100, used: int = 0, **more: Any) -> Entry:
    return entry(identifier, "assistant", tokens, used=used or 0, **more)


def compacted(identifier: str, first_kept: str = "", tokens: int = 10, summary: str = "so far") -> Entry:
    return entry(
        identifier, "compaction_summary", tokens, kind="compaction", can_cut=False,
        compaction=Compaction(summary, first_kept),
    )  # fmt: skip


def other(identifier: str, **more: Any) -> Entry:
    return entry(identifier, None, 0, kind="other", can_cut=False, **more)


def transcript(*entries: Entry, client: str = "pi", **more: Any) -> Transcript:
    return Transcript(client, "/s.jsonl", entries, {one.id: one for one in entries}, **more)


@pytest.mark.parametrize(
    ("entries", "size"),
    [
        ((entry("a"), answer("b", 7)), (107, 0, 107, None)),
        ((entry("a"), answer("b", used=1000), entry("c", tokens=5)), (1005, 1000, 5, None)),
        ((entry("a"), answer("b", used=900), compacted("c", "b")), (110, 0, 110, 900)),
        ((answer("b", used=900), compacted("c", "b"), entry("d", tokens=3)), (113, 0, 113, 900)),
        ((answer("b", used=900), compacted("c", "b"), answer("d", used=50)), (50, 50, 0, None)),
        # of lines of one answer: the results between them were not counted by its usage
        ((answer("a", group="g"), entry("r", "tool_result", 40), answer("b", used=500, group="g"),
          entry("c", tokens=2)),
         (542, 500, 42, None)),
    ],
)  # fmt: skip
def test_how_large_a_context_is(entries: tuple[Entry, ...], size: tuple[Any, ...]) -> None:
    found = context.size(transcript(*entries))
    assert (found.total, found.from_usage, found.estimated, found.stale) == size


TURNS = (
    entry("u1"), answer("a1", calls=("c1",)), entry("r1", "tool_result", answers=("c1",)), answer("a2"),
    entry("u2"), answer("a3", calls=("c2",)), entry("r2", "tool_result", answers=("c2",)), answer("a4"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("keep", "start", "first", "turn"),
    [
        (101, 0, "a4", "u2"),  # a result is never the first
        (200, 0, "a4", "u2"),
        (300, 0, "a3", "u2"),
        (301, 0, "u2", ""),
        (401, 0, "a2", "u1"),
        (9_999, 0, "u1", ""),
        (9_999, 3, "a2", ""),
        (301, 5, "a3", ""),  # its turn began before what may be summarised
    ],
)
def test_where_the_cut_falls(keep: int, start: int, first: str, turn: str) -> None:
    cut = preparation.find_cut(transcript(*TURNS), start, keep)
    assert TURNS[cut.first_kept].id == first
    assert turn == (TURNS[cut.turn_start].id if cut.turn_start >= 0 else "")


def test_a_call_whose_result_is_kept_is_kept_with_all_lines_of_its_answer() -> None:
    entries = (
        entry("u1"), answer("a1", group="g"), answer("a2", group="g", calls=("c1",)), answer("a3", calls=("c2",)),
        entry("r1", "tool_result", answers=("c1",)), answer("a4"),
    )  # fmt: skip
    assert entries[preparation.find_cut(transcript(*entries), 0, 200).first_kept].id == "a4"
    assert entries[preparation.find_cut(transcript(*entries), 0, 201).first_kept].id == "a1"
    again = (*entries, answer("a5", calls=("c1",)), entry("r2", "tool_result", answers=("c1",)))
    assert again[preparation.find_cut(transcript(*again), 0, 150).first_kept].id == "a5", "the latest call of an id"


def test_extensions_are_not_counted_and_bookkeeping_goes_with_what_follows_it() -> None:
    note = entry("n", "custom", 900, kind="custom_message")
    entries = (entry("u1"), other("x"), entry("u2"), note, answer("a2"))
    for client, first in (("pi", "x"), ("codex", "u2")):
        assert entries[preparation.find_cut(transcript(*entries, client=client), 0, 200).first_kept].id == first


def test_where_results_alone_fill_the_budget_the_rule_is_the_clients() -> None:
    entries = (entry("u1"), answer("a1", calls=("c1",)), entry("r1", "tool_result", answers=("c1",)))
    for client, first in (("pi", "u1"), ("codex", "a1")):
        assert entries[preparation.find_cut(transcript(*entries, client=client), 0, 50).first_kept].id == first
