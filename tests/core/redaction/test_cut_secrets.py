"""Wherever the archive cuts a text, no half of a secret is left at the cut."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from secret_samples import POSITIVE, Sample

from clients import content
from core.records import Session
from core.store import sessions, sqlite
from memory.archive import plain_text, session_archive, session_work, stuck

CUTS = {
    "tool": session_work.TOOL_CHARS,
    "file": session_work.FILE_CHARS,
    "command": session_work.COMMAND_CHARS,
    "raw command": session_work.COMMAND_CHARS * 4,
    "input": session_work.READ_CHARS // 2,
    "output": session_work.READ_CHARS // 2,
    "error": session_work.READ_CHARS // 2,
    "summary": sessions.SUMMARY_CHARS,
    "plan": session_work.STEP_CHARS * 8,
    "message": session_archive.BODY_CHARS,
}
ABOUT: Session = {
    "id": "s", "client": "claude", "project": "p", "folder": "/w", "updated_at": 0, "prompts": 0, "calls": 0,
    "plan": [],
}  # fmt: skip
WORDS = "some plain words of the work and its surroundings "


def kept(place: str, text: str) -> str:
    """Everything that is stored of a session in which a text stands at a place."""
    db = sqlite.open_in_memory()
    work = session_work.SessionWork({}, "/w")
    path = text if place == "file" else "/w/a.py"
    tools = [content.tool(
        "c1", text if place == "tool" else "Bash", ["a.py"], text if "command" in place else "",
        {"file_path": path, "text": text if place == "input" else ""},
    )]  # fmt: skip
    work.add({"kind": "said", "id": "", "role": "assistant", "text": "", "tools": tools, "at": 1}, 0)
    work.add(content.outcome("c1", text if place in ("output", "error") else "fine", place == "error", ""), 0)
    [plan] = content.plan("c", [{"content": text if place == "plan" else "x", "status": "pending"}], "content")
    work.add(plan, 0)
    work.add({"kind": "summary", "text": text if place == "summary" else "none", "at": 1}, 0)
    work.store(db, {**ABOUT, "plan": []}, prompts=0, anew=True, now=1)
    rows = [list(db.execute(f"SELECT * FROM {table}")) for table in ("session", "call", "name", "compaction")]
    return repr(rows) + (session_archive.bounded(text) if place == "message" else "")


def halves(secret: str) -> list[str]:
    """What must not be there: each line of a secret, its start and its end, so far as they are long enough to tell."""
    parts = [line for line in secret.split() if len(line) >= 16]
    return [part for line in parts for part in (line[:12], line[-12:])]


@given(sample=st.sampled_from(POSITIVE), place=st.sampled_from(sorted(CUTS)), share=st.floats(0.2, 0.9))
@settings(max_examples=15, deadline=None)
def test_no_half_of_a_secret_is_left(sample: Sample, place: str, share: float) -> None:
    at = sample.text.find(sample.secret) + int(len(sample.secret) * share)  # so much of the text stands before the cut
    size = CUTS[place]
    filler = WORDS * (size // len(WORDS) + 1)
    head = filler[: max(0, size - at - 1)] + " "
    text = head + sample.text + " " + WORDS * 600 + filler + "\n"
    stored = kept(place, text)
    behind = max(0, size - len(sample.text) + at - 1)
    ended = kept(place, filler + WORDS * 600 + sample.text + " " + filler[:behind])
    for part in halves(sample.secret):
        assert part not in stored
        assert part not in ended


@given(sample=st.sampled_from(POSITIVE), most=st.integers(10, 4000), share=st.floats(0, 1), many=st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_a_text_full_of_secrets_is_cut_no_worse(sample: Sample, most: int, share: float, many: int) -> None:
    """Redaction shortens a text: what stood far behind the cut comes to stand before it."""
    size = most + plain_text.MARGIN
    text = (sample.text + "\n") * (size // (len(sample.text) + 1) * many + 2)
    shift = "x " * int(share * len(sample.text) / 2)
    for cut in (
        plain_text.start(shift + text, most),
        stuck.tail(text + shift, plain_text.plain, most, plain_text.MARGIN),
    ):
        assert len(cut) <= most
        for part in halves(sample.secret):
            assert part not in cut


def test_what_holds_no_secret_is_cut_where_it_was() -> None:
    text = WORDS * 3000
    assert plain_text.start(text, 1000) == text[:1000]
    assert stuck.tail(text, plain_text.plain, 1000, plain_text.MARGIN) == text[-1000:]
    assert plain_text.start("short", 1000) == "short"
